"""Tokenize: replace strings with strings of the same form, which a holder of the key can turn back."""

from dagster_smt.authoring.transform import Example
from dagster_smt.effects.token_transform import TokenTransform
from dagster_smt.values.privacy.text_rule import INTEGER_KINDS


class Tokenize(TokenTransform):
    """Replace strings and whole numbers with tokens of the same form, by format-preserving encryption (FF1 of NIST).

    Characters of `alphabet` become other characters of `alphabet`, and separators stay: `+47 22 12 34 56` becomes
    another number with a plus and four spaces. Equal values have equal tokens, so tables can still be joined. With the
    key, `Detokenize` turns tokens back into the original strings. A token does not name its key. Only fields with the
    same `domain` can be joined; the UTF-8 bytes of `domain` are the tweak of FF1.

    A whole number is treated as the string of its decimal digits, and the result is a string without a default. A null
    stays null, and a value of a different type is rejected. Keys have 16, 24 or 32 bytes. This class needs the extra
    `privacy`.
    """

    connect_class = "dagster_smt.privacy.Tokenize"
    purpose = "tokenize fields"
    kinds = ("string", *INTEGER_KINDS)
    verb = "tokenized"
    form = "token"
    examples = (
        Example(
            "a telephone number",
            {"fields": "phone", "key.ring": "k1=${env:EXAMPLE_KEY}"},
            '{"phone":"+47 22 12 34 56"}',
            '{"phone":"+99 56 77 41 06"}',
        ),
        Example(
            "a card",
            {"fields": "card", "key.ring": "k1=${env:EXAMPLE_KEY}", "checksum": "luhn"},
            '{"card":"4111-1111-1111-1111"}',
            '{"card":"8047-6194-1852-1428"}',
        ),
        Example(
            "an account",
            {"fields": "iban", "key.ring": "k1=${env:EXAMPLE_KEY}", "checksum": "iban"},
            '{"iban":"GB82 WEST 1234 5698 7654 32"}',
            '{"iban":"GB04 WEST 8657 8449 7678 54"}',
        ),
    )
