"""Counts which kinds of values occur in each field of a sample of JSON values. For example: in ``amount``, 90 values
are whole numbers and 10 are null. The values themselves are not stored.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from dagster_smt.model.schema_size import MAX_LEVELS
from dagster_smt.values.times.moment_texts import days_of, millis_of, names_zone

GROUPS: Mapping[str, str] = {
    "boolean": "truth values",
    "integer": "numbers",
    "large": "numbers",
    "fraction": "numbers",
    "day": "texts",
    "moment": "texts",
    "fine moment": "texts",
    "decimal": "texts",
    "number": "texts",
    "text": "texts",
    "object": "objects",
    "array": "arrays",
}
"""Maps each kind of value, such as ``integer``, to its group, such as ``numbers``. A table column can read the values
of one group only. As an exception, a column of numbers can also read numbers that are written as strings.
"""
_MOST_DIGITS = 38
# a BIGINT holds numbers from -2**63 to 2**63 - 1
_LONG = 2**63
_DECIMAL_TEXT = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?", re.ASCII)
_MICROS = re.compile(r"([.,]\d{3})\d+")


@dataclass
class Observation:
    """The counts of the values in one field, for a sample of JSON values.

    Attributes:
        kinds: The number of values of each kind, such as ``integer`` or ``null``.
        fields: For objects: the counts for each of their fields.
        items: For arrays: the counts for all their elements together.
        digits: Maps ``fraction`` and ``decimal`` (a string such as ``"1.50"``) to counts: the number of values with 1
            decimal place, with 2, and so on.
        millis: The number of whole numbers that may be timestamps of our time in milliseconds.
        zoned: The number of timestamps with a time zone.
    """

    kinds: Counter[str] = field(default_factory=Counter)
    fields: "dict[str, Observation]" = field(default_factory=dict)
    items: "Observation | None" = None
    digits: dict[str, Counter[int]] = field(default_factory=dict)
    millis: int = 0
    zoned: int = 0

    @property
    def total(self) -> int:
        """The number of values, including nulls."""
        return self.kinds.total()

    @property
    def groups(self) -> Counter[str]:
        """The number of values in each of ``GROUPS``, such as ``texts`` or ``objects``. Nulls are not counted."""
        groups: Counter[str] = Counter()
        for kind, count in self.kinds.items():
            if kind != "null":
                groups[GROUPS[kind]] += count
        return groups

    def add(self, value: Any) -> None:
        """Adds ``value`` to the counts."""
        kind = _kind(value)
        self.kinds[kind] += 1
        if kind == "object":
            for name, inside in value.items():
                self.fields.setdefault(name, Observation()).add(inside)
        elif kind == "array":
            self.items = self.items or Observation()
            for inside in value:
                self.items.add(inside)
        elif kind in ("fraction", "decimal"):
            exponent = Decimal(value).as_tuple().exponent
            places = -exponent if isinstance(exponent, int) else 0
            self.digits.setdefault(kind, Counter())[max(0, places)] += 1
        elif kind == "integer":
            # in milliseconds, these are the years 2001 to 2096
            self.millis += 10**12 <= value < 4 * 10**12
        elif kind == "moment":
            self.zoned += names_zone(value)

    def take(self, other: "Observation") -> None:
        """Adds the counts of ``other``, another observation, to this observation."""
        self.kinds += other.kinds
        self.millis += other.millis
        self.zoned += other.zoned
        for name, inside in other.fields.items():
            self.fields.setdefault(name, Observation()).take(inside)
        for kind, counts in other.digits.items():
            self.digits.setdefault(kind, Counter()).update(counts)
        if other.items is not None:
            self.items = self.items or Observation()
            self.items.take(other.items)


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    # before ``int``, because Python's booleans are integers
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        if -_LONG <= value < _LONG:
            return "integer"
        return "large"
    if isinstance(value, Decimal):
        return "fraction"
    if isinstance(value, str):
        return _kind_of_text(value)
    if isinstance(value, dict):
        return "object"
    return "array"


def _kind_of_text(text: str) -> str:
    if days_of(text) is not None:
        return "day"
    if millis_of(text) is not None:
        return "moment"
    # the same text with three digits after the point, for microseconds and nanoseconds
    if millis_of(_MICROS.sub(r"\1", text)) is not None:
        return "fine moment"
    # such as -12.50, but not 007, 1e3 or .5
    number = _DECIMAL_TEXT.fullmatch(text)
    if number is None or len(text) > _MOST_DIGITS:
        return "text"
    if number[2]:
        return "decimal"
    return "number"


@dataclass
class Values:
    """The counts of the values in a sample of records from one topic.

    Attributes:
        whole: The counts of all values that are JSON.
        absent: The number of nulls (tombstones).
        broken: The number of values that are not JSON.
    """

    whole: Observation = field(default_factory=Observation)
    absent: int = 0
    broken: int = 0

    @property
    def total(self) -> int:
        """The number of values."""
        return self.whole.total + self.absent + self.broken


def observed(values: Iterable[bytes | None]) -> Values:
    """Returns the counts of ``values``: for each field, the number of values of each kind."""
    counts = Values()
    for value in values:
        if value is None:
            counts.absent += 1
            continue
        data = parsed(value)
        if data is BROKEN:
            counts.broken += 1
        else:
            counts.whole.add(data)
    return counts


BROKEN = object()
"""A marker that ``parsed`` returns for bytes that are not JSON."""


def parsed(value: bytes) -> Any:
    """Returns ``value`` as parsed JSON with exact numbers, or ``BROKEN`` if it is not JSON.

    A value with more than ``MAX_LEVELS`` levels also results in ``BROKEN``, because no column can contain it.
    """
    try:
        # Python's parser would accept NaN and Infinity, which are not JSON
        data = json.loads(value, parse_float=Decimal, parse_constant=_no_json)
        return BROKEN if _is_deeper(data, MAX_LEVELS) else data
    except (ValueError, RecursionError, ArithmeticError):
        return BROKEN


def _is_deeper(data: Any, levels: int) -> bool:
    """Returns True if ``data``, a parsed value, has more than ``levels`` nested levels."""
    if not isinstance(data, dict | list):
        return False
    inside = data.values() if isinstance(data, dict) else data
    return levels == 0 or any(_is_deeper(child, levels - 1) for child in inside)


def _no_json(text: str) -> None:
    raise ValueError(text)
