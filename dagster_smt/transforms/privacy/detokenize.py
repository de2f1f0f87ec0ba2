"""Detokenize: turn tokens of Tokenize back into the original strings."""

from dagster_smt.authoring.transform import Example
from dagster_smt.effects.token_transform import TokenTransform


class Detokenize(TokenTransform):
    """Turn tokens of `Tokenize` back into the original strings.

    All options must be the same as for `Tokenize`. A token does not name its key. With a different key, `domain` or
    `alphabet`, the result is a wrong string, without an error. If the key ring has several keys, `key.id` must name the
    right one. A token that was masked because of `on.unfit=mask` stays masked. A null stays null, and a value of a
    different type is rejected. This class needs the extra `privacy`.
    """

    connect_class = "dagster_smt.privacy.Detokenize"
    purpose = "detokenize fields"
    action = "changed"
    verb = "detokenized"
    form = "detokenized"
    opens = True
    examples = (
        Example(
            "a telephone number",
            {"fields": "phone", "key.ring": "k1=${env:EXAMPLE_KEY}"},
            '{"phone":"+99 56 77 41 06"}',
            '{"phone":"+47 22 12 34 56"}',
        ),
    )
