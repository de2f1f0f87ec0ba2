"""Prepares records for topics: adds headers that name the source of each record, and checks the target topics."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from dagster_smt.errors import Problem, TableError
from dagster_smt.model.topics.state import TableState
from dagster_smt.spark import sql
from dagster_smt.tables.sinks.protocol import ForeignCommit
from dagster_smt.values.headers.fields import HEADERS_DDL, no_headers

SOURCE_HEADER = "dagster_smt.source"
"""The header with the coordinates of the source record, such as ``orders-0@17``."""
GROUP_HEADER = "dagster_smt.group"
"""The header with the name of the consumer group that wrote the record."""


@dataclass(frozen=True)
class TargetRecords:
    """Describes the records of a run that have the same target topic.

    ``KafkaTable`` divides these records further: each object describes only records that one Spark task holds, and that
    come from one source partition.

    Attributes:
        topic: The target topic.
        source_topic, partition: The topic and the partition from which the records were read.
        task: The number of the Spark task that holds the records.
        records: The number of records.
        longest: The size of the longest record as written, in bytes.
        keyless: True if at least one of the records has no key.
        last: The highest target partition that the chain chooses. None if the producer chooses the partitions.
    """

    topic: str
    source_topic: str = ""
    partition: int = 0
    task: int = 0
    records: int = 0
    longest: int = 0
    keyless: bool = False
    last: int | None = None


class RecordTable:
    """The base class of sinks that write records to topics. The class implements parts of the protocol ``Table``."""

    def measure(self, frame: DataFrame, prefix: str = "") -> list[TargetRecords]:
        """Returns one description for each target topic of the records in ``frame``. The description contains only the
        topic's name. ``KafkaTable`` returns descriptions with numbers and sizes.

        Args:
            frame: The records.
            prefix: A prefix of the names of the columns that hold the records. With ``__out.``, for example, the
                topic is in the column ``__out.topic``.
        """
        topics = []
        for row in frame.select(F.col(f"{prefix}topic").alias("topic")).distinct().collect():
            topics.append(TargetRecords(row["topic"]))
        return topics

    def beside_source(self) -> bool:
        """Returns True if the target topics are on the same cluster, or in the same folder, as the source topics."""
        raise NotImplementedError

    def next_number(self, before: TableState | None) -> int:
        """Returns the number of the next state: 8 if the state ``before`` has the number 7. The first state of a
        consumer group has the number 1. See ``Table``.
        """
        if before is not None:
            return before.number + 1
        return 1

    def foreign(self) -> list[ForeignCommit]:
        """Returns an empty list, because a run may append to topics to which other writers have also appended. See
        ``Table``.
        """
        return []

    def schema(self) -> StructType | None:
        """Returns None, because topics have no columns of their own. See ``Table``."""
        return None

    def holds_rows(self) -> bool:
        """Returns False, because a run may write to topics that already contain records of other writers. See
        ``Table``.
        """
        return False

    def keep(self, state: TableState) -> None:
        """Does nothing, because a state that this sink has stored does not expire. Other sinks write ``state`` again;
        see ``Table``.
        """

    def append_new(self, frame: DataFrame, key: Sequence[str]) -> None:
        """Raises ``NotImplementedError``. To append only the records that the topics do not contain yet, call
        ``append_once`` instead.
        """
        raise NotImplementedError

    def refused(self, schema: StructType) -> list[Problem]:
        """Returns no problem, whatever the ``schema``, because records always have the same columns."""
        return []


def with_source(frame: DataFrame, group: str) -> DataFrame:
    """Adds two headers to each record of ``frame``. One contains the coordinates of its source record, such as
    ``orders-0@17``. The other contains ``group``, the name of the consumer group that writes the records.
    """
    headers = []
    for name, content in source_headers(group).items():
        headers.append(sql.struct(sql.lit(name).alias("key"), content.cast("binary").alias("value")))
    # Spark's Kafka source returns null for a record without headers, and concat returns null if an argument is null
    own = sql.coalesce(sql.col("headers"), no_headers(sql))
    return frame.withColumn("headers", F.expr(sql.concat(own, sql.array(*headers).cast(HEADERS_DDL)).text))


def source_headers(group: str, prefix: str = "") -> dict[str, sql.Column]:
    """Returns a dict from header name to column, for the two headers that a sink adds to each record. The first column
    contains ``group``, and the second contains the coordinates of the source record, such as ``orders-0@17``.

    Args:
        group: The consumer group that writes the records.
        prefix: A prefix of the names of the columns that hold the records.
    """
    topic, partition, offset = (sql.col(prefix + name) for name in ("source_topic", "partition", "offset"))
    place = sql.concat(topic, sql.lit("-"), partition, sql.lit("@"), offset)
    return {GROUP_HEADER: sql.lit(group), SOURCE_HEADER: place}


def refuse_many_topics(written: Collection[str], most: int, place: str) -> None:
    """Raises an error if ``written`` has more than ``most`` topics. A router may take the topic from an arbitrary
    field, so a limit is necessary.

    Raises:
        TableError: SMT465.
    """
    if len(written) > most:
        hint = "route by a field of few values, or set max_topics of the sink"
        statement = f"the records would go to {len(written)} topics, {most} are allowed; nothing was written"
        raise TableError(Problem("SMT465", place, statement, hint))


def refuse_own_topics(written: Collection[str], read: Collection[str]) -> None:
    """Raises an error if a topic is in both ``written`` and ``read``. A run must not write to the topics that it reads.

    Raises:
        TableError: SMT575, for each such topic.
    """
    own = sorted({*written} & {*read})
    if own:
        raise TableError([own_topic(topic) for topic in own])


def own_topic(topic: str) -> Problem:
    """Returns the problem of records with the target ``topic``: a run must not write to a topic that its own table
    reads.
    """
    hint = "route the records to other topics, write to another place, or narrow the pattern of the topic table"
    statement = "the records would go to a topic that the table reads, and come back"
    return Problem("SMT575", topic, statement, hint)
