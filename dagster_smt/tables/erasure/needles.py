"""The values of erased people, such as their ids, and patterns that match these values in files. The residue scan
searches all files for these values after an erasure. A file may contain a value in several spellings, for example with
JSON escapes. The values stay in the driver's memory.
"""

import json
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from typing import Any
from urllib.parse import quote
from uuid import UUID

_LEAST = 6
"""The smallest length of a string that is searched for everywhere in a file. A shorter string, such as ``anna``, may be
in a file by chance. For a string of digits, the smallest length is ``_DIGITS``.
"""
_DIGITS = 9
# The lookahead consumes no character, so the closing quote of one string may also open the next. The quotes of JSON
# inside JSON have backslashes before them.
_QUOTED = re.compile(rb'"(?=((?:[^"\\]|\\u[0-9a-f]{4})*)\\*")')
_AT_ONCE = 200
_BOUNDS = (16, 32)
"""The numbers of characters to which Iceberg (16) and Delta (32) truncate strings in the statistics of a column."""


def is_short(text: str) -> bool:
    """Returns True if ``text``, such as ``42``, is so short that a file may contain it by chance, without referring to
    the person.
    """
    return len(text) < (_DIGITS if text.isdecimal() else _LEAST)


@dataclass(frozen=True)
class Needles:
    """The values that identify erased people, and patterns to search for these values in files.

    Attributes:
        ids: The ids of the people.
        names: The names of the columns and fields that contain ids. For the path ``customer.id``, the name is ``id``.
        values: Other values that only these people have, such as e-mail addresses.
    """

    ids: frozenset[str]
    names: frozenset[str]
    values: frozenset[str] = frozenset()

    @property
    def short(self) -> frozenset[str]:
        """The short ids, such as ``42``. The scan searches for them only in columns and at paths that contain ids of
        people, because elsewhere they may occur by chance.
        """
        return frozenset(filter(is_short, self.ids))

    @cached_property
    def floats(self) -> frozenset[float]:
        """The ids that are numbers, as floats. A column of doubles contains the id ``42`` as 42.0."""
        numbers = set()
        for text in self.ids:
            with suppress(ValueError):
                numbers.add(float(text))
        # Python also reads ids such as nan and inf as numbers
        return frozenset(filter(isfinite, numbers))

    @cached_property
    def uuids(self) -> frozenset[bytes]:
        """The searched strings that are UUIDs, as 16 bytes. A column of UUIDs contains them in this form."""
        uuids = set()
        for text in self.ids | self.values:
            with suppress(ValueError):
                uuids.add(UUID(text).bytes)
        return frozenset(uuids)

    @cached_property
    def anywhere(self) -> frozenset[str]:
        """The strings that are searched for in all columns: the ids and values that are too long to occur by chance."""
        long_values = set()
        for value in self.values:
            if not is_short(value):
                long_values.add(value)
        return (self.ids - self.short) | long_values

    @cached_property
    def _anywhere(self) -> "re.Pattern[bytes] | None":
        texts = set[bytes]()
        for text in self.anywhere:
            texts.update(_forms(text))
        # only whole words: the id anna.b is no part of joanna.b
        return _pattern(rb"(?<![\w])(?:%s)(?![\w])", texts)

    @cached_property
    def _behind_names(self) -> "re.Pattern[bytes] | None":
        # Matches "user_id": 42, "user_id": ["42" and, inside a JSON string, \"user_id\":42. The id 42 must not match
        # 421 or 42.5.
        return self._ids_after(rb'\\*"(?:%n)\\*"\s*:\s*(?:\[\s*)?\\*"?(?:%s)(?![\w.])')

    @cached_property
    def _in_paths(self) -> "re.Pattern[bytes] | None":
        # the folder of a partition, such as user_id=42
        return self._ids_after(rb"(?<![\w])(?:%n)=(?:%s)(?![\w.])")

    def _ids_after(self, form: bytes) -> "re.Pattern[bytes] | None":
        """Returns the pattern ``form`` with the names in place of ``%n``, and the ids in place of ``%s``. Returns None
        if there are no names or no ids.
        """
        if not self.names:
            return None
        escaped = []
        for name in sorted(self.names):
            escaped.append(re.escape(name.encode()))
        before, _, after = form.partition(b"%n")
        texts = set[bytes]()
        for text in self.ids:
            texts.update(_forms(text))
        return _pattern(before + b"|".join(escaped) + after, texts)

    @cached_property
    def cuts(self) -> frozenset[str]:
        """The beginnings of long values, in the forms in which the statistics of a column may contain them. Table
        formats truncate a long value in statistics to its first 16 or 32 characters. They may then replace the last
        character with a greater one, or add a character.
        """
        cuts = set[str]()
        for text in self.ids | self.anywhere:
            for length in _BOUNDS:
                if len(text) > length:
                    start = text[:length]
                    # for a column's greatest value, Iceberg increments the last character, and Delta appends U+10FFFF
                    # or U+007F
                    cuts |= {start, _next_greater(start), start + "\U0010ffff", start + "\x7f"}
        cuts.discard("")
        return frozenset(cuts)

    @cached_property
    def _cuts_in_bytes(self) -> frozenset[bytes]:
        forms: list[bytes] = []
        for text in self.cuts:
            forms.extend((text.encode(errors="surrogatepass"), _escaped(text)))
        return frozenset(forms)

    @cached_property
    def cut_candidates(self) -> tuple[str, ...]:
        """RE2 patterns that match a quotation mark, followed by the beginning of a long value. The scan uses the
        patterns to preselect strings which may contain a truncated value.
        """
        beginnings = set()
        for text in self.cuts:
            for length in _BOUNDS:
                if len(text) >= length:
                    beginnings.add(re.escape(text[: length - 1]))
        starts = sorted(beginnings)
        patterns = []
        for n in range(0, len(starts), _AT_ONCE):
            patterns.append('"(?:' + "|".join(starts[n : n + _AT_ONCE]) + ")")
        return tuple(patterns)

    @cached_property
    def candidates(self) -> tuple[str, ...]:
        """RE2 patterns that preselect strings which may contain a value. They match every string with a value, and a
        few strings without one. Each pattern has a limited size, so there may be several.
        """
        texts = set()
        for text in self.anywhere:
            for form in _forms(text):
                texts.add(_text(form))
        forms = sorted(texts)
        patterns = []
        for start in range(0, len(forms), _AT_ONCE):
            patterns.append("|".join(forms[start : start + _AT_ONCE]))
        names = "|".join(map(re.escape, sorted(self.names)))
        short_forms = set[str]()
        for text in self.short if names else ():
            short_forms.update(map(_text, _forms(text)))
        short = sorted(short_forms)
        for start in range(0, len(short), _AT_ONCE):
            ids = "|".join(short[start : start + _AT_ONCE])
            patterns.append(rf'(?:{names})(?:=|[\\"]*\s*:\s*(?:\[\s*)?[\\"]*)(?:{ids})')
        return tuple(patterns)

    def in_bytes(self, data: bytes) -> int:
        """Returns the number of places in ``data`` at which a value of an erased person occurs. ``data`` may be any
        text, such as ``{"user_id": "anna"}``. A short id, such as ``anna``, is counted only after one of the column
        names in ``names``, such as ``user_id``.
        """
        places = set[int]()
        for pattern in (self._anywhere, self._behind_names, self._in_paths):
            if pattern is not None:
                for match in pattern.finditer(data):
                    places.add(match.end())
        return len(places)

    def is_value(self, value: Any, *, names_person: bool) -> bool:
        """Returns True if ``value`` is one of the searched strings: the ids and the other values, such as e-mail
        addresses, of erased people. Also returns True if ``value`` is a longer string that contains a searched string.

        Args:
            value: The value.
            names_person: True if the column of ``value`` contains ids of people. Then short ids, such as ``42``, also
                match.
        """
        if value is None or isinstance(value, bool):
            return False
        text = _text(value)
        if text in self.anywhere or (names_person and text in self.ids):
            return True
        return isinstance(value, str | bytes) and self.in_bytes(text.encode(errors="surrogatepass")) > 0

    def is_bound(self, value: Any, *, names_person: bool) -> bool:
        """Searches ``value``, the least or the greatest value of a column, for the ids and the other values of erased
        people. Returns True if ``is_value`` does. Also returns True if ``value`` is the truncated beginning of a
        searched string, because table formats truncate long strings in statistics.

        Args:
            value: The value.
            names_person: True if the column of ``value`` contains ids of people. Then short ids, such as ``42``, also
                match.
        """
        if self.is_value(value, names_person=names_person):
            return True
        return isinstance(value, str) and value in self.cuts

    def cut_in_bytes(self, data: bytes) -> int:
        """Returns the number of quoted strings in ``data`` that are the beginning of a person's value."""
        return sum(match[1] in self._cuts_in_bytes for match in _QUOTED.finditer(data))


def _next_greater(text: str) -> str:
    """Returns the string that Iceberg stores in place of ``text``, the beginning of a column's greatest value: ``text``
    with its last character incremented. If ``text`` ends with U+10FFFF, which has no next character, Iceberg drops this
    character, and increments the one before. If no character can be incremented, the result is empty.
    """
    text = text.rstrip("\U0010ffff")
    if not text:
        return ""
    # U+D800 to U+DFFF are halves of surrogate pairs, which are no characters
    after = "\ue000" if text[-1] == "\ud7ff" else chr(ord(text[-1]) + 1)
    return text[:-1] + after


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return str(value)


def _forms(text: str) -> Iterable[bytes]:
    """Yields patterns for the spellings of ``text`` in JSON and in URLs. For ``Zoë``, they match ``Zoë``, ``Zo\\u00eb``
    and ``Zo%C3%AB``.
    """
    yield re.escape(text.encode(errors="surrogatepass"))
    yield re.escape(_escaped(text))
    yield re.escape(quote(text, safe="", errors="surrogatepass").encode())
    if '"' in text or "\\" in text:
        yield re.escape(text.replace("\\", "\\\\").replace('"', '\\"').encode())


def _escaped(text: str) -> bytes:
    """Returns ``text`` with JSON escapes in place of all characters outside ASCII."""
    return json.dumps(text)[1:-1].encode()


def _pattern(form: bytes, texts: Iterable[bytes]) -> "re.Pattern[bytes] | None":
    listed = sorted(texts, key=len, reverse=True)
    if not listed:
        return None
    return re.compile(form.replace(b"%s", b"|".join(listed)))
