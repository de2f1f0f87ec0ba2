"""Where records come from: one module per kind of source, all behind one protocol.

A new source is a module with a class that has the methods of ``Source``, its plain data in ``tables.spec``, and a line
in ``open_source``; the conformance suite in the tests runs over it with one more line there.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from dagster_smt.errors import Problem, TableError, needs_extras
from dagster_smt.model.windows.offsets import OffsetSet, TopicPartition
from dagster_smt.model.windows.window import Range, Window
from dagster_smt.tables.available import Measured, Position
from dagster_smt.tables.sources.columns import KAFKA_COLUMNS as KAFKA_COLUMNS
from dagster_smt.tables.sources.columns import UNREADABLE_TIMESTAMP as UNREADABLE_TIMESTAMP
from dagster_smt.tables.spec import FileTopics, KafkaTopics, SourceSpec, TableSource

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Source(Protocol):
    """An opened source: a specification, bound to a Spark session.

    A run verifies what it has read: if ``verify`` finds a problem, it commits nothing. A source that finds a record to
    be wrong while Spark reads leaves it out, so that the number of records cannot fit.
    """

    knows_times: bool
    """Whether ``offsets_at`` does without reading the records."""

    lacks_offsets: bool
    """Whether it may have only some offsets of a range now and others later, as a table that is filled."""

    def topics(self) -> list[str]:
        """Returns the names of all topics, sorted."""

    def identities(self, topics: Iterable[str]) -> dict[str, str]:
        """Returns the identity of each topic; empty if the source does not know it.

        A topic that is created again has another identity.

        Raises:
            TableError: A topic is not there.
        """

    def ranges(self, topics: Iterable[str]) -> list[Range]:
        """Returns earliest offset and end of each topic-partition, sorted.

        Raises:
            TableError: A topic is not there, or what is there cannot be read.
        """

    def measure(self, topics: Sequence[str]) -> Measured:
        """Returns the ranges, and all other known facts about the ends of topics.

        Raises:
            TableError: As ``ranges``.
        """

    def same_topic(self, before: str, now: str) -> bool:
        """Returns True if two identities are of one topic."""

    def cut_back(self, positions: Mapping[TopicPartition, Position]) -> Mapping[TopicPartition, int]:
        """Returns the partitions that lost records before these positions since they were read.

        Each has its first lost offset.
        """

    def present(self, offsets: OffsetSet) -> OffsetSet:
        """Returns the offsets among ``offsets`` that the source has."""

    def ahead(self) -> list[Problem]:
        """The records with future timestamps that ``offsets_at`` met.

        Time windows end there. None if the source does not check.
        """

    def changed(self, window: Window) -> list[Problem]:
        """Returns the changes of a window's topics since the window was fixed, as far as they explain a failed read."""

    def offsets_at(self, topics: Iterable[str], millis: int) -> dict[tuple[str, int], int]:
        """Returns Kafka's ``offsetsForTimes``.

        It is the first offset of each topic-partition whose timestamp is ``millis`` or later.

        Where there is none, it is the end.
        """

    def offsets_at_each(self, topics: Iterable[str], moments: Sequence[int]) -> list[dict[tuple[str, int], int]]:
        """Returns ``offsets_at`` for several times. A source that has to read its records reads them once."""

    def sizes(self, topics: Iterable[str]) -> dict[str, int] | None:
        """Bytes of each topic as stored; None where the source does not know without reading."""

    def committed(self, group: str) -> dict[tuple[str, int], int]:
        """Returns the offsets that a consumer group has committed, per topic-partition.

        Raises:
            UnsupportedError: SMT585, the source has no such groups.
        """

    def mirror(self, group: str, ends: Mapping[tuple[str, int], int]) -> None:
        """Sets a consumer group's offsets to a table's progress, for other tools.

        Raises:
            UnsupportedError: SMT585, the source has no such groups.
        """

    def read(self, window: Window, beat: Callable[[], None] = lambda: None) -> "DataFrame":
        """Returns the records of a window, with Kafka's columns (``KAFKA_COLUMNS``).

        A timestamp that Spark cannot hold comes as null with the type ``UNREADABLE_TIMESTAMP``.

        Args:
            window: What to read.
            beat: Called now and then while the driver prepares the reading; it may raise to stop.

        Raises:
            TableError: The window is not there, or cannot be read.
        """

    def read_with_epochs(self, window: Window, beat: Callable[[], None] = lambda: None) -> "DataFrame":
        """Reads as ``read``, with a column ``leaderEpoch``: the epoch of the leader that wrote the record's batch.

        It is null where the source has no leaders. A source may read in another, slower way for it.
        """

    def count(self, window: Window) -> dict[str, int] | None:
        """Returns the number of records of each topic in a window; None if the source would have to read them."""

    def verify(self, window: Window, read: Mapping[str, int], beat: Callable[[], None] = lambda: None) -> list[Problem]:
        """Returns why the records that were read cannot be all records of a window; nothing if they can.

        Args:
            window: What was to be read.
            read: How many records of each topic were read; one without any may be missing.
            beat: As in ``read``.
        """


def open_source(spec: SourceSpec, session: "SparkSession | None" = None) -> Source:
    """Opens a source.

    Args:
        spec: The source.
        session: The Spark session. File topics and Kafka list, identify and measure topics without one.
    """
    if isinstance(spec, FileTopics):
        from dagster_smt.tables.sources.file_topics import FileTopicsSource

        return FileTopicsSource(spec, session)
    if isinstance(spec, KafkaTopics):
        with needs_extras():
            from dagster_smt.tables.sources.kafka import KafkaReader

        return KafkaReader(spec, session)
    from dagster_smt.tables.sources.table import TableReader

    assert isinstance(spec, TableSource) and session is not None
    return TableReader(spec, session)


def measured_topics(source: Source, topics: Sequence[str]) -> tuple[Measured, dict[str, list[Problem]]]:
    """Returns the measures of the topics that a source can measure, and the problems of the other topics.

    Raises:
        TableError: It can measure none of them.
    """
    try:
        return source.measure(topics), {}
    except TableError as error:
        if len(topics) == 1:
            raise
        first = error
    measured, problems = Measured(()), dict[str, list[Problem]]()
    for topic in topics:
        try:
            measured = measured.and_(source.measure([topic]))
        except TableError as error:
            problems[topic] = list(error.problems)
    if len(problems) == len(topics):
        raise first
    return measured, problems
