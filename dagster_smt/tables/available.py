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
"""A pair of an offset and a leader epoch, such as ``(120, 3)``. It describes one topic-partition.

Runs have read the offsets below 120. At that time, the leader epoch of the partition was 3.
"""


@dataclass(frozen=True)
class Waiting:
    """The records of a topic-partition that an open transaction hides from consumers with ``read_committed``.

    Attributes:
        offset: The first offset of the transaction.
        offsets: The number of hidden offsets.
        since: The timestamp of the transaction's first record, in milliseconds. None if the timestamp is not known.
    """

    topic: str
    partition: int
    offset: int
    offsets: int
    since: int | None = None


@dataclass(frozen=True)
class TopicEnds:
    """The offsets that topics hold at one point in time, such as ``orders-0 [10, 20)``.

    Attributes:
        ranges: The earliest offset and the end of each topic-partition, sorted.
        epochs: Maps a topic-partition to its leader epoch. Empty for sources without leaders, such as folders.
        waiting: The records that open transactions hide from consumers.
    """

    ranges: Sequence[Range]
    epochs: Mapping[TopicPartition, int] = field(default_factory=dict)
    waiting: Sequence[Waiting] = ()

    def and_(self, other: "TopicEnds") -> "TopicEnds":
        """Merges this object with ``other``. The result has the ranges, epochs and waiting records of both objects."""
        ranges = sorted((*self.ranges, *other.ranges))
        return TopicEnds(ranges, {**self.epochs, **other.epochs}, (*self.waiting, *other.waiting))


def waiting_problem(waiting: Waiting) -> Problem:
    """Returns a warning: an open transaction hides records from readers. ``waiting`` describes the transaction."""
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
    # after the year 9999: ValueError; outside of the range of the platform's gmtime(): one of the other two
    except (ValueError, OverflowError, OSError):
        return str(millis)
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")


def nothing_cut(positions: Mapping[TopicPartition, Position]) -> Mapping[TopicPartition, int]:
    """Returns an empty mapping: no partition has lost records that runs have already read.

    A source uses this function as ``Available.cut_back`` if its topics cannot lose their last records.
    """
    return {}


@dataclass(frozen=True)
class Available:
    """The offsets that topics hold when a run begins, and functions that answer questions about these topics.

    Attributes:
        ranges: The earliest offset and the end of each topic-partition.
        identities: Maps a topic to its identity. A topic that is deleted and created again gets a different identity.
        offsets_at: Returns the first offset of each topic-partition at or after a time; see ``Source.offsets_at``.
        late: Finds the late records of a time window; see ``run.late_records.late_offsets``.
        offsets_at_each: Returns the results of ``offsets_at`` for several points in time at once. If None, the run
            calls ``offsets_at`` for each point in time.
        committed: Returns the offsets that a consumer group has committed; see ``Source.committed``.
        epochs: Maps a topic-partition to its leader epoch; see ``TopicEnds``.
        cut_back: Finds partitions that have lost records after a run read them; see ``Source.cut_back``.
        same_topic: Returns True if two identities belong to the same topic; see ``Source.same_topic``.
        present: Returns the offsets at which the source has a record; see ``Source.present``. None for a source in
            which an offset without a record never gets a record later.
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
        """Returns one mapping for each point in time in ``moments``: from each topic-partition to its first offset at
        or after this time.

        For example, if the first such offset of ``orders-0`` is 120, the mapping is ``{("orders", 0): 120}``. See
        ``Source.offsets_at``.
        """
        if self.offsets_at_each is not None:
            return self.offsets_at_each(topics, moments)
        return [self.offsets_at(topics, millis) for millis in moments]
