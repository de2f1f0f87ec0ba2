"""Masks a string except for one part, which stays visible: the last characters, the first characters, the domain of an
e-mail address, or the groups of a pattern.

A string of an unexpected form is masked as a whole, so that nothing is shown by mistake.
"""

import string
from dataclasses import dataclass
from typing import Any

from dagster_smt.values.java.regex import compile_java, too_long
from dagster_smt.values.privacy.text_rule import TextRule

SHOWN = ("last", "first", "domain", "groups")
_LETTERS_AND_DIGITS = frozenset(string.ascii_letters + string.digits)
_ASCII = 0x80


@dataclass(frozen=True, slots=True)
class PartMask(TextRule):
    """A rule that masks a string except for one part.

    Attributes:
        shows: The part that stays. ``last`` or ``first``: the last or first characters. ``domain``: everything from the
            last ``@`` on, and the first ``count`` characters. ``groups``: the groups of the pattern.
        count: The number of characters that stay.
        pattern: A Java regular expression, for ``groups``.
        character: The mask character.
        length: The number of mask characters for each masked piece; 0 for one per character.
        keeps_punctuation: True if spaces and punctuation stay and are not counted. Characters beyond ASCII are masked.
    """

    shows: str
    count: int
    pattern: str
    character: str
    length: int
    keeps_punctuation: bool

    def of_text(self, text: str) -> str:
        if self.shows == "groups":
            return self._groups(text)
        if self.shows == "domain":
            at = text.rfind("@")
            if at < 0:
                return self._masked(text)
            return self._first(text[:at]) + text[at:]
        if self.shows == "first":
            return self._first(text)
        shown = self._shown(text[::-1])
        return self._masked(text[: len(text) - shown]) + text[len(text) - shown :]

    def _first(self, text: str) -> str:
        shown = self._shown(text)
        return text[:shown] + self._masked(text[shown:])

    def _shown(self, text: str) -> int:
        """Returns how many characters at the beginning of ``text`` stay visible. If ``count`` is 2 and punctuation is
        not counted, the result for ``a-bc`` is 3: the characters ``a-b`` stay.

        Returns 0 if ``text`` has at most ``count`` counted characters, because otherwise the whole text would stay
        visible.
        """
        if sum(map(self._counts, text)) <= self.count or not self.count:
            return 0
        shown = counted = 0
        while counted < self.count:
            counted += self._counts(text[shown])
            shown += 1
        return shown

    def _counts(self, character: str) -> bool:
        """Returns True if ``character`` is counted, and may therefore be masked. With ``keeps_punctuation``, ASCII
        spaces and punctuation are not counted.
        """
        return not self.keeps_punctuation or character in _LETTERS_AND_DIGITS or ord(character) >= _ASCII

    def _masked(self, text: str) -> str:
        if self.length:
            return self.character * self.length if text else ""
        return "".join(self.character if self._counts(character) else character for character in text)

    def _groups(self, text: str) -> str:
        match = compile_java(self.pattern).fullmatch(text)
        if match is None:
            return self._masked(text)
        pieces, at = [], 0
        spans = [match.span(number) for number in range(1, match.re.groups + 1)]
        # the outer group before the groups inside it; a group that has not matched has the span (-1, -1)
        for start, end in sorted(spans, key=lambda span: (span[0], -span[1])):
            if start >= at:
                pieces += [self._masked(text[at:start]), text[start:end]]
                at = end
        return "".join([*pieces, self._masked(text[at:])])

    def other_failures(self) -> tuple[Any, ...]:
        if self.pattern:
            return (too_long(),)
        return ()

    def program(self) -> dict[str, Any] | None:
        if self.pattern:
            return None  # Java has no time limit for a pattern
        return {
            "name": "part mask",
            "shows": self.shows,
            "count": self.count,
            "character": self.character,
            "length": self.length,
            "punctuation": self.keeps_punctuation,
        }
