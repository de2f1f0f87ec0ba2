"""MaskPart: mask a string, but leave a part of it visible."""

from collections.abc import Iterator
from typing import Annotated

from dagster_smt.authoring.options import Flag, Int, Text, option
from dagster_smt.authoring.transform import Example
from dagster_smt.authoring.validate import Regex, one_of
from dagster_smt.effects.text_transform import TextTransform
from dagster_smt.model.paths.connect import FieldPath
from dagster_smt.values.privacy.part_masks import SHOWN, PartMask
from dagster_smt.values.privacy.text_rule import INTEGER_KINDS

_LONGEST = 64


class MaskPart(TextTransform):
    """Mask a string except for its last or first characters, its e-mail domain, or the groups of a pattern.

    The whole string is masked in three cases: the string has at most `count` characters; `show=domain` is set and the
    string has no `@`; or `pattern` does not match the string. A whole number is masked as its decimal digits, and the
    result is a string without a default. A null stays null, and a value of a different type is rejected.
    """

    connect_class = "dagster_smt.privacy.MaskPart"
    purpose = "mask parts of fields"
    kinds = ("string", *INTEGER_KINDS)
    verb = "masked"
    form = "part"
    show: Annotated[Text, one_of(*SHOWN)] = option(
        "The part that stays: the `last` or `first` characters, the `domain` of an address, or the `groups` of "
        "`pattern`.",
        "last",
    )
    count: Int = option(
        "The number of characters that stay: by default 4 for `last`, 1 for `first`, and 0 before a `domain`.", -1
    )
    pattern: Regex = option("A regular expression (Java syntax) with groups. It must match the whole string.", "")
    mask_character: Text = option("The mask character.", "*")
    mask_length: Int = option(
        "The number of mask characters for each masked piece, which hides the length of the piece. 0 means one for "
        "each character.",
        0,
    )
    keep_punctuation: Flag = option(
        "If `true`, spaces and ASCII punctuation stay and are not counted. With `mask.length` they are masked as well.",
        True,
    )
    examples = (
        Example(
            "the last four", {"fields": "card"}, '{"card":"4111-1111-1111-1111"}', '{"card":"****-****-****-1111"}'
        ),
        Example(
            "the domain of an address",
            {"fields": "mail", "show": "domain", "count": 1, "mask.length": 3},
            '{"mail":"ada.lovelace@example.org"}',
            '{"mail":"a***@example.org"}',
        ),
        Example(
            "the groups of a pattern",
            {"fields": "plate", "show": "groups", "pattern": "([A-Z]+)-.*([0-9]{2})"},
            '{"plate":"OSL-AB 1234"}',
            '{"plate":"OSL-** **34"}',
        ),
    )

    def check(self) -> Iterator[tuple[str, str, str]]:
        yield from TextTransform.check(self)
        if (self.show == "groups") != bool(self.pattern):
            yield "pattern", "belongs to show=groups", "set both, or none of them"
        if self.count < -1:
            yield "count", "is negative", "set a number of characters"
        if not 0 <= self.mask_length <= _LONGEST:
            yield "mask.length", f"must be 0 to {_LONGEST}", "0 masks each character"
        if len(self.mask_character) != 1:
            yield "mask.character", "must be one character", "set one such as *"

    def rule(self, path: FieldPath) -> PartMask:
        count = self.count
        if count < 0:
            count = {"last": 4, "first": 1}.get(self.show, 0)
        return PartMask(self.show, count, self.pattern, self.mask_character, self.mask_length, self.keep_punctuation)
