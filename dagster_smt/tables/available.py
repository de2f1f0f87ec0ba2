"""Describes the offsets that topics hold when a run begins."""

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone

from dagster_smt.errors import Problem
from dagster_smt.model.windows.offsets import OffsetSet, TopicPartition
from dagster_smt.model.windows.window import Range

OffsetsAt = Callable[[Iterable[str], int], Mapping[TopicPartition, int]]
OffsetsAtEach = Callable[[Iterable[str], Sequence[int]], Sequence[Mapping[TopicPartition, int]]]
LateOffsets = Callable[[Sequence[Range], Sequence[int]], Mapping[int, OffsetSet]]
Position = tuple[int, int]
"""The end of the offsets that runs have read in a partition, and the leader epoch of the partition at that time."""


@dataclass(frozen=True)
class Waiting:
    """Records after the beginning of an open transaction. Readers of committed records cannot see these records yet.

    Attributes:
        offset: The first offset of the transaction.
        offsets: The number of waiting offsets.
        since: The timestamp of the transaction's first record, in milliseconds. None if the timestamp is not known.
    """

    topic: str
    partition: int
    offset: int
    offsets: int
    since: int | None = None


@dataclass(frozen=True)
class TopicEnds:
    """The ranges of topics, with their leader epochs and the records that are not yet visible.

    Attributes:
        ranges: The earliest offset and the end of each topic-partition, sorted.
        epochs: The leader epoch of each topic-partition, for sources whose partitions have leaders.
        waiting: The records that open transactions hold back.
    """

    ranges: Sequence[Range]
    epochs: Mapping[TopicPartition, int] = field(default_factory=dict)
    waiting: Sequence[Waiting] = ()

    def and_(self, other: "TopicEnds") -> "TopicEnds":
        """Returns the ranges, epochs and waiting records of both this object and ``other``."""
        ranges = sorted((*self.ranges, *other.ranges))
        return TopicEnds(ranges, {**self.epochs, **other.epochs}, (*self.waiting, *other.waiting))


def waiting_problem(waiting: Waiting) -> Problem:
    """Returns a warning about ``waiting``: an open transaction holds records back."""
    if waiting.since is None:
        since = ""
    else:
        since = f" since {moment_of(waiting.since)}"
    statement = f"{waiting.offsets} offsets from {waiting.offset} on wait behind an open transaction{since}"
    hint = "runs read them when it ends; kafka-transactions.sh find-hanging and abort end a hanging transaction"
    return Problem("SMT594", f"{waiting.topic}-{waiting.partition}", statement, hint)


def moment_of(millis: int) -> str:
    """Formats ``millis``, the milliseconds since 1970, as a date and time. If the calendar has no such date, returns
    the number as text.
    """
    try:
        moment = datetime.fromtimestamp(millis / 1000, timezone.utc)
    except (ValueError, OverflowError, OSError):
        return str(millis)
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")


def nothing_cut(positions: Mapping[TopicPartition, Position]) -> Mapping[TopicPartition, int]:
    """Returns an empty mapping for any ``positions``. Sources use this function if their topics never lose records at
    the end.
    """
    return {}


@dataclass(frozen=True)
class Available:
    """The current content of the topics.

    Attributes:
        ranges: The earliest offset and the end of each topic-partition.
        identities: The identity of each topic.
        offsets_at: See ``Source.offsets_at``.
        late: Finds the late records of a time window, as ``run.late_records.late_offsets`` describes.
        offsets_at_each: See ``Source.offsets_at_each``. If None, the run calls ``offsets_at`` for each time.
        committed: See ``Source.committed``.
        epochs: See ``TopicEnds``.
        cut_back: See ``Source.cut_back``.
        same_topic: See ``Source.same_topic``.
        present: See ``Source.present``. None for a source whose missing offsets never appear later.
    """

    ranges: Sequence[Range]
    identities: Mapping[str, str] = field(default_factory=dict)
    offsets_at: OffsetsAt = lambda topics, millis: {}
    committed: Callable[[str], Mapping[TopicPartition, int]] = lambda group: {}
    epochs: Mapping[TopicPartition, int] = field(default_factory=dict)
    cut_back: Callable[[Mapping[TopicPartition, Position]], Mapping[TopicPartition, int]] = nothing_cut
    same_topic: Callable[[str, str], bool] = operator.eq
    present: Callable[[OffsetSet], OffsetSet] | None = None
    offsets_at_each: OffsetsAtEach | None = None
    late: LateOffsets = lambda after, moments: {}

    def firsts(self, topics: Sequence[str], moments: Sequence[int]) -> Sequence[Mapping[TopicPartition, int]]:
        """Returns a mapping for each time in ``moments``. The mapping contains the first offset of each topic-partition
        at that time: see ``Source.offsets_at``.
        """
        if self.offsets_at_each is not None:
            return self.offsets_at_each(topics, moments)
        return [self.offsets_at(topics, millis) for millis in moments]
