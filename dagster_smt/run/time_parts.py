"""Counts records by time partition, for a window that serves several time partitions at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from dagster_smt.model.reports.run_report import Part, TopicCounts, Unread
from dagster_smt.model.windows.division import Division
from dagster_smt.model.windows.window import Window
from dagster_smt.run.unread import unread_in, with_unread
from dagster_smt.tables.sources import Source

PART = "smt_part"
_STARTS, _PARTS = "smt_starts", "smt_parts"
_SCHEMA = f"__topic STRING, __partition INT, {_STARTS} ARRAY<BIGINT>, {_PARTS} ARRAY<INT>"
Counts = Mapping[str, TopicCounts]


def with_part(frame: DataFrame, division: Division) -> tuple[DataFrame, Column]:
    """Returns a frame, and a column that computes the number of the part to which a row of this frame belongs. The
    window is divided into parts by offset. The returned frame is ``frame``, joined with the offsets at which the parts
    begin.
    """
    if division.parts == 1:
        return frame, F.lit(0)
    rows = []
    for (topic, partition), begins in division.begins.items():
        rows.append((topic, partition, [start for start, _ in begins], [0, *(part for _, part in begins)]))
    bounds = frame.sparkSession.createDataFrame(rows, _SCHEMA)
    most = max((len(row[2]) for row in rows), default=0)
    return frame.join(F.broadcast(bounds), ["__topic", "__partition"], "left"), F.expr(_part_sql(most))


def _part_sql(most: int) -> str:
    """Returns an SQL expression for the number of the part to which an offset belongs.

    If the parts 1 and 2 start at the offsets 100 and 200, the offset 150 belongs to part 1. ``most`` is the largest
    number of such starts in a topic-partition. The SQL uses a binary search, because a window may have a part for each
    day of a year.
    """
    bits = []
    for bit in reversed(range(most.bit_length())):
        bits.append(str(1 << bit))
    steps = ", ".join(bits)
    # beyond the last start the comparison is null, which is treated as false
    reached = f"get({_STARTS}, at + step - 1) <= __offset"
    passed = f"aggregate(array({steps}), 0, (at, step) -> IF({reached}, at + step, at))"
    if most:
        return f"coalesce(get({_PARTS}, {passed}), 0)"
    return "0"


@dataclass(frozen=True)
class Parts:
    """Assigns the counts of a window to the parts of the window.

    Attributes:
        division: The division of the window.
        unread: The offsets of the window that were not read.
        source: The source of the window.
        sizes: The number of stages, and the number of ledger entries.
    """

    division: Division
    unread: Sequence[Unread]
    source: Source
    sizes: tuple[int, int]

    def of(self, window: Window, counts: Sequence[Counts]) -> tuple[Part, ...]:
        """Returns the parts of the committed ``window``. Each part gets its item of ``counts``. If the window is not
        divided, there are no parts.
        """
        if self.division.parts == 1:
            return ()
        parts = []
        for own, of in zip(self.division.of(window), counts, strict=True):
            parts.append(self._part(own, of))
        return tuple(parts)

    def _part(self, window: Window, counts: Counts) -> Part:
        unread = unread_in(window, self.unread, self.source)
        of_topics = {}
        for topic, topic_counts in counts.items():
            if topic in window.topics:
                of_topics[topic] = topic_counts
        return Part(window, with_unread(of_topics, unread, *self.sizes), unread)
