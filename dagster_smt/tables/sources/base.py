"""The base class of sources. It has default methods for topics without leader epochs and without transactions.

The defaults also assume that an offset without a record never gets a record later (see ``Source.lacks_offsets``).
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


def nothing() -> None:
    """Does nothing. This function is the default for ``beat``, a function that is called during a long operation."""


class BaseSource:
    """A base class with defaults for the methods of ``Source``."""

    lacks_offsets = False

    def ranges(self, topics: Iterable[str]) -> list[Range]:
        """Returns the earliest offset and the end of each partition of ``topics``. See ``Source``."""
        raise NotImplementedError

    def measure(self, topics: Sequence[str]) -> TopicEnds:
        """Returns the offsets that ``topics`` hold. The result contains no leader epochs and no open transactions."""
        return TopicEnds(self.ranges(topics))

    def same_topic(self, before: str, now: str) -> bool:
        """Returns True if the identities ``before`` and ``now`` are equal, and therefore belong to the same topic. See
        ``Source``.
        """
        return before == now

    def cut_back(self, positions: Mapping[TopicPartition, Position]) -> Mapping[TopicPartition, int]:
        """Returns an empty mapping: no partition of this source loses records that a run has read. See ``Source``."""
        return {}

    def present(self, offsets: OffsetSet) -> OffsetSet:
        """Returns all ``offsets``: this source has a record at every offset. See ``Source``."""
        return offsets

    def ahead(self) -> list[Problem]:
        """Returns an empty list: this source does not search for records with future timestamps. See ``Source``."""
        return []

    def offsets_at(self, topics: Iterable[str], millis: int) -> dict[TopicPartition, int]:
        """Returns the first offset of each topic-partition of ``topics`` at or after the time ``millis``. See
        ``Source``.
        """
        raise NotImplementedError

    def offsets_at_each(self, topics: Iterable[str], moments: Sequence[int]) -> list[dict[TopicPartition, int]]:
        """Calls ``offsets_at`` for each point in time in ``moments``, and returns the results. See ``Source``."""
        topics = list(topics)
        return [self.offsets_at(topics, millis) for millis in moments]

    def read(self, window: Window, beat: Callable[[], None] = nothing) -> "DataFrame":
        """Returns the records of ``window``, the range of offsets that a run reads. See ``Source``."""
        raise NotImplementedError

    def read_with_epochs(self, window: Window, beat: Callable[[], None] = nothing) -> "DataFrame":
        """Returns the records of ``window``, with a column ``leaderEpoch`` that is always null. See ``Source``."""
        from pyspark.sql import functions as F

        return self.read(window, beat).withColumn(LEADER_EPOCH, F.lit(None).cast("int"))

    def changed(self, window: Window) -> list[Problem]:
        """Returns an empty list: the topics of this source cannot change while a run reads ``window``. See
        ``Source``.
        """
        return []
