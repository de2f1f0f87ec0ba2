"""Opens the sources of records: a cluster, a folder or a table. All of them implement the protocol ``Source``.

A new kind of source needs a module with a class that has the methods of ``Source``, a class with its options in
``tables.topic_table``, and a line in ``open_source``. One more line in the tests runs the conformance suite on the new
source.
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
    """The input of a run, such as the topics of a cluster or a table with Kafka's columns, opened with a Spark session.

    After reading, a run calls ``verify``. If ``verify`` returns a problem, the run commits nothing. While Spark reads,
    a source leaves out a record that is wrong, such as an invalid line of a file. The number of records is then too
    small, and ``verify`` reports this.
    """

    knows_times: bool
    """True if ``offsets_at`` can answer without reading records."""

    lacks_offsets: bool
    """True if an offset without a record may get a record later, as in a table that is still being filled."""

    def topics(self) -> list[str]:
        """Returns the names of all topics, sorted."""

    def identities(self, topics: Iterable[str]) -> dict[str, str]:
        """Returns the identity of each topic, such as Kafka's topic id. If the source does not know the identity of a
        topic, the identity is an empty string.

        If a topic is deleted and created again, its identity changes.

        Raises:
            TableError: A topic does not exist.
        """

    def ranges(self, topics: Iterable[str]) -> list[Range]:
        """Returns the earliest offset and the end of each topic-partition of ``topics``, sorted, such as ``orders-0
        [10, 20)``.

        Raises:
            TableError: A topic does not exist or cannot be read.
        """

    def measure(self, topics: Sequence[str]) -> TopicEnds:
        """Returns the offsets that ``topics`` hold, the leader epochs, and the records that open transactions hide from
        consumers.

        Raises:
            TableError: See ``ranges``.
        """

    def same_topic(self, before: str, now: str) -> bool:
        """Returns True if the identities ``before`` and ``now`` belong to the same topic."""

    def cut_back(self, positions: Mapping[TopicPartition, Position]) -> Mapping[TopicPartition, int]:
        """Finds partitions that have lost records after a run read them, for example when a broker failed.

        Args:
            positions: For each topic-partition, the offset that runs have reached, and the leader epoch at that time.

        Returns:
            The first lost offset of each partition with a loss.
        """

    def present(self, offsets: OffsetSet) -> OffsetSet:
        """Returns the subset of ``offsets`` for which the source has a record."""

    def ahead(self) -> list[Problem]:
        """Returns a problem for each record with a future timestamp that ``offsets_at`` has met.

        A time window that ends now stops before such a record. So the window misses later records of the partition,
        even if their timestamps are in the window. The list is empty if the source does not check timestamps.
        """

    def changed(self, window: Window) -> list[Problem]:
        """Returns the changes of topics that explain why a run could not read ``window``. For example, a topic was
        deleted.

        Args:
            window: The offsets that the run reads.
        """

    def offsets_at(self, topics: Iterable[str], millis: int) -> dict[tuple[str, int], int]:
        """Returns, for each topic-partition, the offset of the first record whose timestamp is ``millis`` or later, as
        Kafka's ``offsetsForTimes`` does.

        If there is no such record, the result is the end of the partition.
        """

    def offsets_at_each(self, topics: Iterable[str], moments: Sequence[int]) -> list[dict[tuple[str, int], int]]:
        """Returns the results of ``offsets_at`` for all points in time in ``moments``, one result for each point.

        A source that must search its records for the times reads the records only once.
        """

    def sizes(self, topics: Iterable[str]) -> dict[str, int] | None:
        """Returns the number of stored bytes of each topic in ``topics``. Returns None if the source does not know this
        number without reading records.
        """

    def committed(self, group: str) -> dict[tuple[str, int], int]:
        """Returns the offsets that the consumer group ``group`` has committed, such as ``{("orders", 0): 120}``.

        Raises:
            UnsupportedError: SMT585, the source has no consumer groups.
        """

    def mirror(self, group: str, ends: Mapping[tuple[str, int], int]) -> None:
        """Sets the committed offsets of a consumer group to the offsets that a table has reached, so that other tools
        can show them.

        Args:
            group: The consumer group.
            ends: Maps a topic-partition to the offset that the table's runs have reached.

        Raises:
            UnsupportedError: SMT585, the source has no such groups.
        """

    def read(self, window: Window, beat: Callable[[], None] = lambda: None) -> "DataFrame":
        """Returns the records of ``window`` as rows with Kafka's columns (``KAFKA_COLUMNS``).

        If Spark cannot hold a timestamp, the column ``timestamp`` is null, and ``timestampType`` is
        ``UNREADABLE_TIMESTAMP``.

        Args:
            window: The offsets to read.
            beat: Is called from time to time while the driver prepares the reading. An error that it raises stops the
                reading.

        Raises:
            TableError: The source does not have the window, or cannot read it.
        """

    def read_with_epochs(self, window: Window, beat: Callable[[], None] = lambda: None) -> "DataFrame":
        """Reads as ``read`` does, and adds the column ``leaderEpoch``: the epoch of the leader that wrote the record.

        The epoch is null if the source has no leaders. A source may read more slowly if it adds this column.
        """

    def count(self, window: Window) -> dict[str, int] | None:
        """Returns the number of records of each topic in ``window``. Returns None if the source does not know this
        number without reading the records.
        """

    def verify(self, window: Window, read: Mapping[str, int], beat: Callable[[], None] = lambda: None) -> list[Problem]:
        """Returns problems if the run has not read all records of ``window``.

        Args:
            window: The offsets that the run reads.
            read: Maps a topic to the number of records that the run has read. A topic without records may be missing.
            beat: Is called from time to time; see ``read``.
        """


def open_source(spec: SourceSpec, session: "SparkSession | None" = None) -> Source:
    """Opens a source, such as the topics of a cluster, so that its records can be read.

    Args:
        spec: The description of the source.
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
    """Returns two results: the offsets that ``topics`` hold, and a dict from each topic that the source cannot read to
    its problems.

    If one topic has a problem, the offsets of the other topics are still returned.

    Raises:
        TableError: The source can read none of the topics.
    """
    try:
        return source.measure(topics), {}
    except TableError as error:
        if len(topics) == 1:
            raise
        # Python deletes the variable `error` at the end of the except block
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
