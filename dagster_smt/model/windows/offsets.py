"""Sets of offsets, stored as sorted ranges for each topic-partition. They support union, difference and
intersection.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from dagster_smt.model.windows.window import Range, Window

Interval = tuple[int, int]
Intervals = tuple[Interval, ...]
TopicPartition = tuple[str, int]


def topics_in(places: Iterable[TopicPartition]) -> set[str]:
    """Returns the topics in ``places``, which are topic-partitions."""
    return {topic for topic, _ in places}


def union(one: Iterable[Interval], other: Iterable[Interval]) -> Intervals:
    """Returns the offsets of two lists of intervals together. The result is sorted, and neighbouring intervals are
    joined: ``[(0, 5)]`` and ``[(5, 9)]`` give ``((0, 9),)``.
    """
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
    """Returns the offsets of the first list of intervals that are not in the second: ``[(0, 9)]`` and ``[(5, 7)]`` give
    ``((0, 5), (7, 9))``.
    """
    # the union with nothing sorts and joins the intervals
    left = list(union(one, ()))
    for start, end in union(other, ()):
        left = [part for a, b in left for part in ((a, min(b, start)), (max(a, end), b)) if part[0] < part[1]]
    return tuple(left)


def common(one: Iterable[Interval], other: Iterable[Interval]) -> Intervals:
    """Returns the offsets that are in both lists of intervals: ``[(0, 5)]`` and ``[(3, 9)]`` give ``((3, 5),)``."""
    one = tuple(one)
    return minus(one, minus(one, other))


@dataclass(frozen=True, slots=True)
class OffsetSet:
    """A set of offsets of any number of topic-partitions, stored as intervals. The intervals of a topic-partition are
    sorted, not empty, and do not touch: ``((0, 10), (20, 30))``.
    """

    parts: Mapping[TopicPartition, Intervals] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.parts)

    def of(self, topic: str, partition: int) -> Intervals:
        """Returns the offsets of the topic-partition as sorted intervals, such as ``((0, 10), (20, 30))``."""
        return self.parts.get((topic, partition), ())

    def __or__(self, other: "OffsetSet") -> "OffsetSet":
        keys = {**self.parts, **other.parts}
        return _offsets((k, union(self.of(*k), other.of(*k))) for k in keys)

    def __sub__(self, other: "OffsetSet") -> "OffsetSet":
        return _offsets((k, minus(v, other.of(*k))) for k, v in self.parts.items())

    def __and__(self, other: "OffsetSet") -> "OffsetSet":
        return _offsets((k, common(v, other.of(*k))) for k, v in self.parts.items())

    def without(self, topics: Iterable[str]) -> "OffsetSet":
        """Returns the set without the offsets of ``topics``."""
        gone = set(topics)
        others = {}
        for k, v in self.parts.items():
            if k[0] not in gone:
                others[k] = v
        return OffsetSet(others)

    def ranges(self) -> Iterator[Range]:
        """Yields each interval as a range, in order."""
        for (topic, partition), intervals in sorted(self.parts.items()):
            for start, end in intervals:
                yield Range(topic, partition, start, end)

    def coarse(self, most: int) -> "OffsetSet":
        """Returns the set with at most ``most`` intervals, but at least one for each topic-partition. To join
        intervals, the smallest gaps between them are filled: ``[0, 10)`` and ``[11, 20)`` become ``[0, 20)``.
        """
        holes = []
        for place, intervals in self.parts.items():
            for left, right in pairwise(intervals):
                holes.append(Range(*place, left[1], right[0]))
        # holes of equal size are ordered by their place, so that the result does not depend on the order of ``parts``
        holes.sort(key=lambda hole: (hole.records, hole))
        excess = sum(map(len, self.parts.values())) - most
        return self | offsets_of(holes[: max(0, excess)])

    @property
    def records(self) -> int:
        """The number of offsets in the set."""
        records = 0
        for intervals in self.parts.values():
            for start, end in intervals:
                records += end - start
        return records

    def to_json(self) -> dict[str, dict[str, list[list[int]]]]:
        """Returns the offsets as ``{topic: {partition: [[start, end], …]}}``."""
        data: dict[str, dict[str, list[list[int]]]] = {}
        for r in self.ranges():
            data.setdefault(r.topic, {}).setdefault(str(r.partition), []).append([r.start, r.end])
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Mapping[str, list[list[int]]]]) -> "OffsetSet":
        """Returns the set that ``to_json`` has converted into ``data``."""
        parts = []
        for topic, partitions in data.items():
            for partition, intervals in partitions.items():
                pairs = [(first, end) for first, end in intervals]
                parts.append(((topic, int(partition)), union(pairs, ())))
        return _offsets(parts)


def _offsets(items: Iterable[tuple[TopicPartition, Intervals]]) -> OffsetSet:
    parts = {}
    for key, intervals in items:
        if intervals:
            parts[key] = intervals
    return OffsetSet(parts)


def offsets_of(window: Window | Iterable[Range]) -> OffsetSet:
    """Returns the set of the offsets in ``window``, which is a window or an iterable of ranges."""
    intervals: dict[TopicPartition, list[Interval]] = {}
    for r in window.ranges if isinstance(window, Window) else window:
        intervals.setdefault((r.topic, r.partition), []).append((r.start, r.end))
    return _offsets((place, union(parts, ())) for place, parts in intervals.items())


def by_topic(numbers: Mapping[TopicPartition, int]) -> dict[str, dict[str, int]]:
    """Returns ``numbers`` as nested dicts, sorted: ``{("orders", 0): 5}`` becomes ``{"orders": {"0": 5}}``."""
    topics: dict[str, dict[str, int]] = {}
    for (topic, partition), number in sorted(numbers.items()):
        topics.setdefault(topic, {})[str(partition)] = number
    return topics


def from_topics(data: Mapping[str, Mapping[str, int]]) -> dict[TopicPartition, int]:
    """Returns the numbers in ``data`` by topic-partition: ``{"orders": {"0": 5}}`` becomes ``{("orders", 0): 5}``. This
    is the inverse of ``by_topic``.
    """
    results = {}
    for topic, parts in data.items():
        for partition, number in parts.items():
            results[(topic, int(partition))] = number
    return results
