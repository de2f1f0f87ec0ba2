"""The base class of most sources. Such sources have no leaders and no transactions, and no offsets appear later."""

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
        """See ``Source``."""
        raise NotImplementedError

    def measure(self, topics: Sequence[str]) -> TopicEnds:
        """See ``Source``. The result contains only ranges."""
        return TopicEnds(self.ranges(topics))

    def same_topic(self, before: str, now: str) -> bool:
        """See ``Source``."""
        return before == now

    def cut_back(self, positions: Mapping[TopicPartition, Position]) -> Mapping[TopicPartition, int]:
        """See ``Source``. No partition loses records."""
        return {}

    def present(self, offsets: OffsetSet) -> OffsetSet:
        """See ``Source``. All offsets are present."""
        return offsets

    def ahead(self) -> list[Problem]:
        """See ``Source``. Timestamps are not checked."""
        return []

    def offsets_at(self, topics: Iterable[str], millis: int) -> dict[TopicPartition, int]:
        """See ``Source``."""
        raise NotImplementedError

    def offsets_at_each(self, topics: Iterable[str], moments: Sequence[int]) -> list[dict[TopicPartition, int]]:
        """See ``Source``. Sends one request for each time."""
        topics = list(topics)
        return [self.offsets_at(topics, millis) for millis in moments]

    def read(self, window: Window, beat: Callable[[], None] = lambda: None) -> "DataFrame":
        """See ``Source``."""
        raise NotImplementedError

    def read_with_epochs(self, window: Window, beat: Callable[[], None] = lambda: None) -> "DataFrame":
        """See ``Source``. The epoch is always null."""
        from pyspark.sql import functions as F

        return self.read(window, beat).withColumn(LEADER_EPOCH, F.lit(None).cast("int"))

    def changed(self, window: Window) -> list[Problem]:
        """See ``Source``. There are no changes."""
        return []
