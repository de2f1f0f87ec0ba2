"""``TokenTransform``, the base class of transforms that apply format-preserving encryption to strings."""

from collections.abc import Iterator
from typing import Annotated

from dagster_smt.authoring.key_options import KEY_RING, Keys, domain_of
from dagster_smt.authoring.options import Int, Text, option
from dagster_smt.authoring.validate import one_of
from dagster_smt.effects.text_transform import TextTransform
from dagster_smt.model.paths.connect import FieldPath
from dagster_smt.values.privacy.ff1 import least_length
from dagster_smt.values.privacy.tokens import ALPHABETS, CHECKSUMS, MOST, Token


class TokenTransform(Keys, TextTransform):
    """The base class of ``Tokenize`` and ``Detokenize``. It contains the options and the rule that both classes
    share.
    """

    references = (KEY_RING,)
    key_use = "aes"
    alphabet: Annotated[Text, one_of(*ALPHABETS)] = option(
        "The characters that change: `digits`, `hex` (0 to f), `lowercase`, `uppercase`, `any_case` (both), "
        "`uppercase_alphanumeric` (with digits) or `alphanumeric` (digits and letters of both cases).",
        "digits",
    )
    keep: Annotated[Text, one_of("punctuation", "all")] = option(
        "The characters outside `alphabet` that a string may contain: `punctuation` (spaces and ASCII punctuation), or "
        "`all`. They stay in their positions.",
        "punctuation",
    )
    minimum_length: Int = option(
        "A string must have at least this number of characters that change. 0 means the number that allows a million "
        "different strings (6 for `digits`).",
        0,
    )
    checksum: Annotated[Text, one_of(*CHECKSUMS)] = option(
        "The check digits that are valid also in the token: `none`; `luhn`: the last digit, as on cards; `iban`: the "
        "two digits after the country. Only with `alphabet=digits`. Letters of an IBAN stay.",
        "none",
    )
    domain: Text = option(
        "Separates fields into groups. In one group, equal values have equal tokens, so tables can be joined. If "
        "empty, all fields with the same key form one group. `field`: each path is a group of its own. Any other "
        "string: all fields with the same key and this string form one group.",
        "",
    )
    on_unfit: Annotated[Text, one_of("fail", "mask")] = option(
        "The treatment of a string that is too short or too long, has other characters, or has wrong check digits: "
        "`fail` rejects the record, `mask` writes `*` for each character except spaces and punctuation.",
        "fail",
    )

    def check(self) -> Iterator[tuple[str, str, str]]:
        yield from TextTransform.check(self)
        yield from self.check_ring()
        if self.checksum != "none" and self.alphabet != "digits":
            yield "checksum", f"{self.checksum} needs alphabet=digits", "remove alphabet, or set checksum=none"
        least = least_length(len(ALPHABETS[self.alphabet]))
        if self.minimum_length and not least <= self.minimum_length <= MOST:
            statement = f"must be {least} to {MOST}: {self.alphabet} needs {least} characters for a million texts"
            yield "minimum.length", statement, "NIST SP 800-38G allows no shorter texts"

    def rule(self, path: FieldPath) -> Token:
        least = self.minimum_length or least_length(len(ALPHABETS[self.alphabet]))
        return Token(
            self.ring.writer,
            domain_of(self.domain, path),
            self.alphabet,
            least,
            self.checksum,
            self.keep == "all",
            self.on_unfit == "mask",
            self.opens,
        )
