"""Topics of a Kafka cluster as sinks. Each record is written at least once, to the topic that the chain's routers
choose.

The progress is the committed offsets of a consumer group on the source's cluster, so Kafka's tools can show the
progress. A run writes the records first and commits the offsets second. If a run crashes in between, the next run
writes the same records again. The headers of each record name its source, so consumers can recognize the copies. The
offsets are committed in a transaction, so if two runs use the same group, one of them fails.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicPartition
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from dagster_smt.errors import ConfigError, EngineError, Problem, TableError
from dagster_smt.model.topics.state import NewerState, TableState, remedy
from dagster_smt.model.windows.window import Window, not_empty
from dagster_smt.spark.outcome_columns import TARGET
from dagster_smt.tables.kafka.client import Committed, KafkaClient, Place
from dagster_smt.tables.kafka.progress import from_commits, to_commits
from dagster_smt.tables.kafka.sizes import size_column
from dagster_smt.tables.kafka.spec import KafkaTopics
from dagster_smt.tables.sink_options import KafkaSink
from dagster_smt.tables.sinks.protocol import NewCommit, Replaced, check_expected, other_run_committed, same_state
from dagster_smt.tables.sinks.records import (
    RecordTable,
    headers_with_source,
    refuse_many_topics,
    refuse_own_topics,
    with_source,
)
from dagster_smt.tables.sinks.topics import KafkaPlace
from dagster_smt.tables.topic_table import SourceSpec

_FENCED = (KafkaError._FENCED, KafkaError.INVALID_PRODUCER_EPOCH, KafkaError.PRODUCER_FENCED)
_ORDER = ("source_topic", "partition", "offset")
_TRANSACTION = 10_000
"""The time limit in milliseconds of a transaction that only commits offsets."""


@dataclass(frozen=True)
class Measures:
    """Measures of the records for one topic: their size, and whether they have keys.

    Attributes:
        longest: The size of the longest record, in bytes.
        keyless: True if a record has no key.
    """

    longest: int
    keyless: bool


@dataclass(frozen=True)
class KafkaTable(RecordTable):
    """Topics of a Kafka cluster, opened as a sink: see ``Table``.

    Attributes:
        session: The Spark session.
        spec: The sink.
        source: The source of the records. If None, the progress is kept on the sink's own cluster.
    """

    session: SparkSession
    spec: KafkaSink
    source: SourceSpec | None = None

    def __post_init__(self) -> None:
        if not self.spec.group:
            hint = "set a group of KafkaSink; assets and ops set it themselves"
            raise ConfigError(Problem("SMT587", self.spec.place, "the sink has no consumer group", hint))
        if self.source is not None and not isinstance(self.source, KafkaTopics):
            statement = "progress is a consumer group's, and only topics of a Kafka cluster have those"
            hint = "read from KafkaTopics, or write to another kind of sink"
            raise ConfigError(Problem("SMT588", self.spec.place, statement, hint))

    @cached_property
    def groups(self) -> KafkaClient:
        """The client of the cluster that keeps the progress."""
        return KafkaClient(self.source if isinstance(self.source, KafkaTopics) else self.spec.topics)

    @cached_property
    def place(self) -> KafkaPlace:
        """The topics to which records are written."""
        return KafkaPlace(self.session, self.spec.topics)

    def state(self, *, settle: bool = False) -> TableState | None:
        """See ``Table``."""
        try:
            return from_commits(self.groups.committed(self.spec.group))
        except ValueError as error:
            hint = "set the group's offsets with kafka-consumer-groups.sh --reset-offsets, or choose another group"
            if isinstance(error, NewerState):
                hint = remedy(error)
            statement = f"the progress that the group keeps is {error}"
            raise TableError(Problem("SMT522", f"group {self.spec.group}", statement, hint)) from None

    def commit(self, frame: DataFrame, state: TableState, replaced: Replaced, expected: TableState | None) -> NewCommit:
        """See ``Table``. Records are written at least once."""
        assert not replaced, "runs refuse that: see replaceable"
        commits = self._commits(state)
        with self._committing() as commit:
            check_expected(self.state, expected, replaced, self._name)
            rows, topics = self._write(frame, state)
            try:
                commit(commits)
            except EngineError:  # the offsets may have been committed even if the answer was lost
                if not same_state(self.state(), state):
                    raise
        return NewCommit(rows, topics, 0)

    def keep(self, state: TableState) -> None:
        """See ``Table``. Brokers forget the group's offsets unless they are committed again within
        ``offsets.retention.minutes``.
        """
        commits = self._commits(state)
        with self._committing() as commit:
            check_expected(self.state, state, Replaced(), self._name)
            commit(commits)

    @property
    def _name(self) -> str:
        return f"group {self.spec.group}"

    def _commits(self, state: TableState) -> dict[Place, Committed]:
        try:
            return to_commits(state)
        except ValueError as error:
            statement = "the offsets that the group holds are in too many pieces for one commit"
            hint = "run without a fixed window, which reads the offsets that earlier windows left open"
            raise TableError(Problem("SMT589", str(error), statement, hint)) from None

    def _write(self, frame: DataFrame, state: TableState) -> tuple[int, int]:
        """Writes the records of ``frame``, and returns two counts. The records of each source partition are written in
        their order.

        Spark caches the rows of a run, so counting them first costs little. A copy of the rows would cost more.
        """
        if TARGET in frame.columns:
            chosen = F.col(TARGET)
        else:
            chosen = F.lit(None).cast("int")
        task, target = F.spark_partition_id().alias("task"), chosen.alias("target")
        places = frame.select("topic", "source_topic", "partition", task, target)
        totals = F.count("*").alias("rows"), F.count_distinct("task").alias("tasks"), F.max("target").alias("target")
        counts = places.groupBy("topic", "source_topic", "partition").agg(*totals).collect()
        topics = sorted({row["topic"] for row in counts})
        if not counts:
            return 0, 0
        refuse_many_topics(topics, self.spec.max_topics, self.spec.place)
        if self.beside_source():
            refuse_own_topics(topics, state.window.topics)
        self.place.client.make_missing(topics)
        targets = []
        for row in counts:
            if row["target"] is not None:
                targets.append((row["topic"], row["target"]))
        self.place.refuse_partitions(targets)
        if any(row["tasks"] > 1 for row in counts):
            frame = frame.repartition("source_topic", "partition").sortWithinPartitions(*_ORDER)
        self.place.write(with_source(frame, self.spec.group), topics, self._longest(frame, topics))
        return sum(row["rows"] for row in counts), len(topics)

    def beside_source(self) -> bool:
        """See ``RecordTable``. Compares the ids of the clusters, because one cluster may have several addresses."""
        if not isinstance(self.source, KafkaTopics):
            return False
        return self.groups.cluster_id() == self.place.client.cluster_id()

    @contextmanager
    def _committing(self) -> Iterator[Any]:
        """Fences earlier runs of the group, and yields a function that commits offsets. This function fails if a later
        run has begun.

        Raises:
            TableError: SMT528, another run of the group has begun to commit meanwhile.
        """
        client = self.groups
        # if a run dies after it has sent the offsets but before their commit, the group is blocked until the
        # transaction times out
        settings = {"transactional.id": f"dagster_smt.{self.spec.group}", "transaction.timeout.ms": _TRANSACTION}
        producer = client.producer(**settings)
        consumer = client.consumer(self.spec.group)

        def commit(commits: dict[Place, Committed]) -> None:
            if not commits:
                return
            offsets = []
            for place, c in commits.items():
                offsets.append(TopicPartition(*place, c.offset, c.metadata))
            with client.asking(self.spec.group):
                try:
                    producer.begin_transaction()
                    producer.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata(), client.timeout)
                    producer.commit_transaction(client.timeout)
                except KafkaException as error:
                    if error.args[0].code() in _FENCED:
                        raise other_run_committed(self._name) from None
                    raise

        try:
            with client.asking(self.spec.group):
                producer.init_transactions(client.timeout)
            yield commit
        finally:
            consumer.close()

    def sizes(self, prefix: str = "") -> Column:
        """Returns a column with the size in bytes of each record as written. ``prefix`` is the prefix of the record's
        columns.
        """
        headers = headers_with_source(self.spec.group, prefix)
        return size_column(F.col(f"{prefix}key"), F.col(f"{prefix}value"), headers)

    def measure(self, frame: DataFrame, prefix: str = "") -> dict[str, Measures]:
        """Returns the measures of the records in ``frame``, by topic. The sizes are upper bounds. ``prefix`` is as in
        ``sizes``.
        """
        largest = F.max(self.sizes(prefix)).alias("longest")
        keyless = F.bool_or(F.col(f"{prefix}key").isNull()).alias("keyless")
        rows = frame.groupBy(F.col(f"{prefix}topic").alias("topic")).agg(largest, keyless).collect()
        measures = {}
        for row in rows:
            measures[row["topic"]] = Measures(row["longest"], row["keyless"])
        self._measured.update(measures)
        return measures

    @cached_property
    def _measured(self) -> dict[str, Measures]:
        """The measures that ``measure`` has returned so far, by topic."""
        return {}

    def _longest(self, frame: DataFrame, topics: Sequence[str]) -> int:
        """Returns the size in bytes of the longest record in ``frame``.

        The run has measured the records, and has rejected those above a limit.
        """
        if not self._measured.keys() >= {*topics}:
            self.measure(frame)
        sizes = {}
        for topic in topics:
            sizes[topic] = self._measured[topic].longest
        limits = self.place.limits(topics)
        lengths = []
        for topic, size in sizes.items():
            lengths.append(min(size, limits.get(topic, size)))
        return max(lengths)

    def append(self, frame: DataFrame) -> None:
        """See ``Table``."""
        self.place.append(with_source(frame, self.spec.group), _ORDER, lambda line: None)

    def read(self) -> DataFrame:
        """See ``Table``. Returns every record of every topic of the cluster."""
        ranges = self.place.there(self.place.client.names())
        return self.place.read(Window(tuple(not_empty(ranges))))
