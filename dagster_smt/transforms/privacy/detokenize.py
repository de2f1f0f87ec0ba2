"""Detokenize: turn tokens of Tokenize back into texts."""

from dagster_smt.authoring.transform import Example
from dagster_smt.effects.token_transform import TokenTransform


class Detokenize(TokenTransform):
    """Turn tokens of `Tokenize` back into texts.

    All options must be those of `Tokenize`. A token does not name its key, so another key, `domain` or `alphabet` gives
    another text and no error: `key.id` names the key if the ring has several. A token that `on.unfit=mask` masked
    stays masked. A null stays null, and a value of another type is refused. This class needs the extra `privacy`.
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
