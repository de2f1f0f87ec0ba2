"""Contains the base class of sources. Its defaults suit topics without leaders and transactions, in which no missing
offset inside a range can appear later (see ``Source.lacks_offsets``).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from dagster_smt.errors import Problem
from dagster_smt.model.windows.offsets import OffsetSet, TopicPartition
from dagster_smt.model.windows.window import Range, Window
from dagster_smt.spark.outcome_columns import LEADER_EPOCH
from dagster_smt.tables.available import Position, TopicEnds

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class BaseSource:
    """A base class with defaults for the methods of ``Source``."""

    lacks_offsets = False

    def ranges(self, topics: Iterable[str]) -> list[Range]:
        """Returns the earliest offset and the end of each partition of ``topics``, as ``Source`` describes."""
        raise NotImplementedError

    def measure(self, topics: Sequence[str]) -> TopicEnds:
        """Returns the ranges of ``topics``, as ``Source`` describes. The result contains only ranges."""
        return TopicEnds(self.ranges(topics))

    def same_topic(self, before: str, now: str) -> bool:
        """Returns True if the identities ``before`` and ``now`` are those of one topic, as ``Source`` describes."""
        return before == now

    def cut_back(self, positions: Mapping[TopicPartition, Position]) -> Mapping[TopicPartition, int]:
        """Returns an empty mapping for any ``positions``, because no partition of this source loses records. See
        ``Source``.
        """
        return {}

    def present(self, offsets: OffsetSet) -> OffsetSet:
        """Returns all ``offsets``, because all of them are present. See ``Source``."""
        return offsets

    def ahead(self) -> list[Problem]:
        """Returns an empty list, because timestamps are not checked. See ``Source``."""
        return []

    def offsets_at(self, topics: Iterable[str], millis: int) -> dict[TopicPartition, int]:
        """Returns the first offsets of ``topics`` at the time ``millis``, as ``Source`` describes."""
        raise NotImplementedError

    def offsets_at_each(self, topics: Iterable[str], moments: Sequence[int]) -> list[dict[TopicPartition, int]]:
        """Returns the result of ``offsets_at`` for each of ``moments``, as ``Source`` describes. Calls ``offsets_at``
        once for each of them.
        """
        topics = list(topics)
        return [self.offsets_at(topics, millis) for millis in moments]

    def read(self, window: Window, beat: Callable[[], None] = lambda: None) -> "DataFrame":
        """Returns the records of ``window``, as ``Source`` describes."""
        raise NotImplementedError

    def read_with_epochs(self, window: Window, beat: Callable[[], None] = lambda: None) -> "DataFrame":
        """Returns the records of ``window`` with the leader epoch, as ``Source`` describes. The epoch is always
        null.
        """
        from pyspark.sql import functions as F

        return self.read(window, beat).withColumn(LEADER_EPOCH, F.lit(None).cast("int"))

    def changed(self, window: Window) -> list[Problem]:
        """Returns an empty list for any ``window``, because the topics of this source do not change. See ``Source``."""
        return []
