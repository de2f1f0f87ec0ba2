"""Opens sources of records. Each kind of source has a module, and all modules implement one protocol.

A new source consists of a module with a class that has the methods of ``Source``, its plain data in
``tables.topic_table``, and a line in ``open_source``. To run the conformance suite on the source, add one line to the
tests.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from dagster_smt.errors import Problem, TableError, needs_extras
from dagster_smt.model.windows.offsets import OffsetSet, TopicPartition
from dagster_smt.model.windows.window import Range, Window
from dagster_smt.tables.available import Position, TopicEnds
from dagster_smt.tables.kafka.spec import KafkaTopics
from dagster_smt.tables.sources.kafka_columns import KAFKA_COLUMNS as KAFKA_COLUMNS
from dagster_smt.tables.sources.kafka_columns import UNREADABLE_TIMESTAMP as UNREADABLE_TIMESTAMP
from dagster_smt.tables.topic_table import FileTopics, SourceSpec, TableSource

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Source(Protocol):
    """An opened source: a specification, bound to a Spark session.

    A run verifies what it has read: if ``verify`` finds a problem, the run commits nothing. If a source finds a wrong
    record while Spark reads, the source leaves the record out. The number of records is then too small, and ``verify``
    reports this.
    """

    knows_times: bool
    """True if ``offsets_at`` works without reading the records."""

    lacks_offsets: bool
    """True if the source may have only some offsets of a range now and the others later, like a table that is being
    filled.
    """

    def topics(self) -> list[str]:
        """Returns the names of all topics, sorted."""

    def identities(self, topics: Iterable[str]) -> dict[str, str]:
        """Returns the identity of each topic; an empty string if the source does not know the identity.

        A topic that is created again has a different identity.

        Raises:
            TableError: A topic does not exist.
        """

    def ranges(self, topics: Iterable[str]) -> list[Range]:
        """Returns the earliest offset and the end of each topic-partition, sorted.

        Raises:
            TableError: A topic does not exist or cannot be read.
        """

    def measure(self, topics: Sequence[str]) -> TopicEnds:
        """Returns the ranges, and everything else that is known about the topics' end offsets.

        Raises:
            TableError: See ``ranges``.
        """

    def same_topic(self, before: str, now: str) -> bool:
        """Returns True if two identities belong to the same topic."""

    def cut_back(self, positions: Mapping[TopicPartition, Position]) -> Mapping[TopicPartition, int]:
        """Returns the partitions that have lost records before these positions since they were read.

        The value for each partition is its first lost offset.
        """

    def present(self, offsets: OffsetSet) -> OffsetSet:
        """Returns the offsets among ``offsets`` that the source has."""

    def ahead(self) -> list[Problem]:
        """Returns the problems of records with future timestamps that ``offsets_at`` found.

        Time windows end at such a record. The list is empty if the source does not check timestamps.
        """

    def changed(self, window: Window) -> list[Problem]:
        """Returns the changes of a window's topics since the window was fixed, as far as they explain a failed
        reading.
        """

    def offsets_at(self, topics: Iterable[str], millis: int) -> dict[tuple[str, int], int]:
        """Returns the result of Kafka's ``offsetsForTimes``.

        For each topic-partition, this is the first offset whose timestamp is ``millis`` or later.

        If there is no such record, the result is the end of the partition.
        """

    def offsets_at_each(self, topics: Iterable[str], moments: Sequence[int]) -> list[dict[tuple[str, int], int]]:
        """Returns ``offsets_at`` for several times. A source that has to read its records reads them only once."""

    def sizes(self, topics: Iterable[str]) -> dict[str, int] | None:
        """Returns the stored bytes of each topic; None if the source would have to read records to find out."""

    def committed(self, group: str) -> dict[tuple[str, int], int]:
        """Returns the offsets that a consumer group has committed, by topic-partition.

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

        A timestamp that Spark cannot hold is null, with the type ``UNREADABLE_TIMESTAMP``.

        Args:
            window: The offsets to read.
            beat: Is called from time to time while the driver prepares the reading. An error that it raises stops the
                reading.

        Raises:
            TableError: The source does not have the window, or cannot read it.
        """

    def read_with_epochs(self, window: Window, beat: Callable[[], None] = lambda: None) -> "DataFrame":
        """Reads like ``read``, with a column ``leaderEpoch``: the epoch of the leader that wrote the record's batch.

        The epoch is null if the source has no leaders. A source may need a slower reading method for this column.
        """

    def count(self, window: Window) -> dict[str, int] | None:
        """Returns the number of records of each topic in a window; None if the source would have to read the
        records.
        """

    def verify(self, window: Window, read: Mapping[str, int], beat: Callable[[], None] = lambda: None) -> list[Problem]:
        """Returns problems if the run cannot have read all records of a window.

        Args:
            window: The window.
            read: The number of records that were read, by topic. A topic without records may be missing.
            beat: As in ``read``.
        """


def open_source(spec: SourceSpec, session: "SparkSession | None" = None) -> Source:
    """Opens a source.

    Args:
        spec: The source.
        session: The Spark session. File topics and Kafka can list, identify and measure topics without a session.
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


def measured_topics(source: Source, topics: Sequence[str]) -> tuple[TopicEnds, dict[str, list[Problem]]]:
    """Measures the topics that a source can measure. Returns the measures, and the problems of the other topics.

    Raises:
        TableError: The source can measure none of the topics.
    """
    try:
        return source.measure(topics), {}
    except TableError as error:
        if len(topics) == 1:
            raise
        first = error
    measured, problems = TopicEnds(()), dict[str, list[Problem]]()
    for topic in topics:
        try:
            measured = measured.and_(source.measure([topic]))
        except TableError as error:
            problems[topic] = list(error.problems)
    if len(problems) == len(topics):
        raise first
    return measured, problems
