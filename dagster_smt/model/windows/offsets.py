"""Offsets that a table holds: sets of ranges per topic-partition, and what is missing between them."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from dagster_smt.model.windows.window import Range, Window

Interval = tuple[int, int]
Intervals = tuple[Interval, ...]
TopicPartition = tuple[str, int]


def union(one: Iterable[Interval], other: Iterable[Interval]) -> Intervals:
    """All offsets of both, as sorted intervals that do not touch."""
    merged: list[Interval] = []
    for start, end in sorted((*one, *other)):
        if start >= end:
            continue
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return tuple(merged)


def minus(one: Iterable[Interval], other: Iterable[Interval]) -> Intervals:
    """The offsets of the first that the second does not have."""
    left = list(union(one, ()))
    for start, end in union(other, ()):
        left = [part for a, b in left for part in ((a, min(b, start)), (max(a, end), b)) if part[0] < part[1]]
    return tuple(left)


def common(one: Iterable[Interval], other: Iterable[Interval]) -> Intervals:
    """The offsets that both have."""
    one = tuple(one)
    return minus(one, minus(one, other))


@dataclass(frozen=True, slots=True)
class OffsetSet:
    """Offsets of any number of topic-partitions. Keeps sorted intervals that do not touch; never an empty one."""

    parts: Mapping[TopicPartition, Intervals] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.parts)

    def of(self, topic: str, partition: int) -> Intervals:
        """The offsets of one topic-partition."""
        return self.parts.get((topic, partition), ())

    def __or__(self, other: "OffsetSet") -> "OffsetSet":
        keys = {**self.parts, **other.parts}
        return _offsets((k, union(self.of(*k), other.of(*k))) for k in keys)

    def __sub__(self, other: "OffsetSet") -> "OffsetSet":
        return _offsets((k, minus(v, other.of(*k))) for k, v in self.parts.items())

    def __and__(self, other: "OffsetSet") -> "OffsetSet":
        return _offsets((k, common(v, other.of(*k))) for k, v in self.parts.items())

    def without(self, topics: Iterable[str]) -> "OffsetSet":
        """All but those of some topics."""
        gone = set(topics)
        return OffsetSet({k: v for k, v in self.parts.items() if k[0] not in gone})

    def ranges(self) -> Iterator[Range]:
        """Every interval as a range, sorted."""
        for (topic, partition), intervals in sorted(self.parts.items()):
            for start, end in intervals:
                yield Range(topic, partition, start, end)

    def coarse(self, most: int) -> "OffsetSet":
        """At most so many intervals, and one per topic-partition: the smallest holes between them are filled."""
        holes = sorted((b[0] - a[1], k, n) for k, v in self.parts.items() for n, (a, b) in enumerate(pairwise(v)))
        over = sum(map(len, self.parts.values())) - most
        filled = {(k, n) for _, k, n in holes[: max(0, over)]}
        holes_to_fill: dict[tuple[str, int], list[tuple[int, int]]] = {}
        for place, intervals in self.parts.items():
            holes_to_fill[place] = []
            for number, (left, right) in enumerate(pairwise(intervals)):
                if (place, number) in filled:
                    holes_to_fill[place].append((left[1], right[0]))
        return self | _offsets((place, tuple(intervals)) for place, intervals in holes_to_fill.items())

    @property
    def records(self) -> int:
        """How many offsets."""
        return sum(end - start for intervals in self.parts.values() for start, end in intervals)

    def to_json(self) -> dict[str, dict[str, list[list[int]]]]:
        """``{topic: {partition: [[start, end], …]}}``"""
        found: dict[str, dict[str, list[list[int]]]] = {}
        for r in self.ranges():
            found.setdefault(r.topic, {}).setdefault(str(r.partition), []).append([r.start, r.end])
        return found

    @classmethod
    def from_json(cls, data: Mapping[str, Mapping[str, list[list[int]]]]) -> "OffsetSet":
        """Read what ``to_json`` wrote."""
        parts = []
        for topic, partitions in data.items():
            for partition, intervals in partitions.items():
                pairs = [(first, end) for first, end in intervals]
                parts.append(((topic, int(partition)), union(pairs, ())))
        return _offsets(parts)


def _offsets(items: Iterable[tuple[TopicPartition, Intervals]]) -> OffsetSet:
    return OffsetSet({key: intervals for key, intervals in items if intervals})


def offsets_of(window: Window | Iterable[Range]) -> OffsetSet:
    """The offsets of a window."""
    found: dict[TopicPartition, list[Interval]] = {}
    for r in window.ranges if isinstance(window, Window) else window:
        found.setdefault((r.topic, r.partition), []).append((r.start, r.end))
    return _offsets((place, union(parts, ())) for place, parts in found.items())


def by_topic(numbers: Mapping[TopicPartition, int]) -> dict[str, dict[str, int]]:
    """Numbers of topic-partitions as ``{topic: {partition: number}}``, sorted."""
    found: dict[str, dict[str, int]] = {}
    for (topic, partition), number in sorted(numbers.items()):
        found.setdefault(topic, {})[str(partition)] = number
    return found


def from_topics(data: Mapping[str, Mapping[str, int]]) -> dict[TopicPartition, int]:
    """Read what ``by_topic`` wrote."""
    results = {}
    for topic, parts in data.items():
        for partition, number in parts.items():
            results[(topic, int(partition))] = number
    return results
