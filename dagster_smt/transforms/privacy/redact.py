"""Redact: replace personal values inside free text."""

from collections.abc import Iterator
from typing import Annotated

from pydantic import AfterValidator

from dagster_smt.authoring.options import Names, Text, option
from dagster_smt.authoring.transform import Example
from dagster_smt.effects.text_transform import TextTransform
from dagster_smt.model.paths.connect import FieldPath
from dagster_smt.values.privacy.personal_values import KINDS, Redaction


def _kinds(names: tuple[str, ...]) -> tuple[str, ...]:
    if not names or set(names) - set(KINDS):
        raise ValueError(f"must be a list of: {', '.join(KINDS)}")
    return names


class Redact(TextTransform):
    """Replace e-mail addresses, telephone numbers, payment cards and bank accounts inside free text.

    Cards have 12 to 19 digits, which may be separated by single spaces or hyphens, and a Luhn check digit. By chance,
    one in ten other numbers of that length also has a valid check digit. Bank accounts are IBANs with valid check
    digits and the length that their country prescribes. Telephone numbers are international (`+` or `00`), begin with
    `0`, or have the North American form. Names and postal addresses are not found. A string without such values stays
    as it is; a value that is not a string is rejected. A null stays null.
    """

    connect_class = "dagster_smt.privacy.Redact"
    purpose = "redact texts"
    verb = "searched for personal values"
    form = "redacted"
    patterns: Annotated[Names, AfterValidator(_kinds)] = option(
        "The kinds to replace: a list of `email`, `phone`, `card` and `iban`.", KINDS
    )
    replacement: Text = option(
        "The replacement of a personal value. `<kind>` in it stands for the kind of the value.", "[<kind>]"
    )
    examples = (
        Example(
            "a note",
            {"fields": "note"},
            '{"note":"Call +47 22 12 34 56 or write to ada@example.org, card 4111 1111 1111 1111."}',
            '{"note":"Call [phone] or write to [email], card [card]."}',
        ),
        Example(
            "accounts only",
            {"fields": "note", "patterns": "iban", "replacement": "***"},
            '{"note":"Pay to GB82 WEST 1234 5698 7654 32, ref 12"}',
            '{"note":"Pay to ***, ref 12"}',
        ),
    )

    def check(self) -> Iterator[tuple[str, str, str]]:
        yield from TextTransform.check(self)
        if any(character.isdigit() or character == "@" for character in self.replacement):
            statement = "has a digit or @, which a later pattern could take for a part of a value"
            yield "replacement", statement, "use letters and punctuation"

    def rule(self, path: FieldPath) -> Redaction:
        # in the order of the search, which is the order of `KINDS`, not of the option
        return Redaction(tuple(kind for kind in KINDS if kind in self.patterns), self.replacement)
