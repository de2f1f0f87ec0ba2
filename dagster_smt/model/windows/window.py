"""Defines windows, which are bounded ranges of offsets. The window of a run is fixed before the run reads anything."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, order=True)
class Range:
    """The offsets from ``start`` (included) to ``end`` (excluded) of one topic-partition."""

    topic: str
    partition: int
    start: int
    end: int

    @property
    def records(self) -> int:
        return self.end - self.start

    @property
    def place(self) -> tuple[str, int]:
        """The topic and the partition."""
        return self.topic, self.partition

    @property
    def text(self) -> str:
        """Returns the range as text, such as ``orders-0 [0, 50)``."""
        return f"{self.topic}-{self.partition} [{self.start}, {self.end})"


class _OfTopic(Protocol):
    @property
    def topic(self) -> str: ...


def topics_of(items: Iterable[_OfTopic]) -> set[str]:
    """Returns the topics of ``items``, which are ranges, records or samples."""
    return {item.topic for item in items}


def ends_of(ranges: Iterable[Range]) -> dict[tuple[str, int], int]:
    """Returns a dict from topic-partition to the end of its range, such as ``{("orders", 0): 50}``. ``ranges`` contains
    one range for each topic-partition.
    """
    return {r.place: r.end for r in ranges}


def number_of_records(ranges: Iterable[Range]) -> int:
    """Returns the number of offsets in ``ranges``."""
    return sum(r.records for r in ranges)


def not_empty(ranges: Iterable[Range]) -> list[Range]:
    """Returns the ranges in ``ranges`` that contain at least one offset."""
    return [r for r in ranges if r.records]


def range_texts(ranges: Iterable[Range]) -> list[str]:
    """Returns ``ranges`` as strings, such as ``["orders-0 [0, 50)", "orders-1 [0, 48)"]``."""
    return [r.text for r in ranges]


@dataclass(frozen=True, slots=True)
class Window:
    """The ranges of offsets that a run reads, such as ``orders-0 [10, 20)``. A topic-partition may have one or several
    ranges.

    Two windows with the same ranges have the same id, even if their runs use different chains.
    """

    ranges: tuple[Range, ...] = ()

    @property
    def records(self) -> int:
        """Number of offsets in the window."""
        return number_of_records(self.ranges)

    @property
    def records_by_topic(self) -> dict[str, int]:
        """Number of offsets of each topic in the window."""
        records = dict.fromkeys(self.topics, 0)
        for r in self.ranges:
            records[r.topic] += r.records
        return records

    @property
    def topics(self) -> tuple[str, ...]:
        return tuple(sorted(topics_of(self.ranges)))

    @property
    def id(self) -> str:
        """Sixteen hex digits that identify the window."""
        text = json.dumps(self.to_json(), separators=(",", ":"), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def to_json(self) -> dict[str, dict[str, list[int]]]:
        """Returns the window as ``{topic: {partition: [start, end]}}``. If a partition has two ranges, the list is
        ``[start, end, start, end]``.
        """
        data: dict[str, dict[str, list[int]]] = {}
        for r in sorted(self.ranges):
            data.setdefault(r.topic, {}).setdefault(str(r.partition), []).extend((r.start, r.end))
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Mapping[str, list[int]]]) -> "Window":
        """Returns the window that ``to_json`` has converted into ``data``."""
        bounds = ((t, int(p), pairs) for t, parts in data.items() for p, pairs in parts.items())
        ranges = (Range(t, p, a, b) for t, p, pairs in bounds for a, b in zip(pairs[::2], pairs[1::2], strict=True))
        return cls(tuple(sorted(ranges)))
