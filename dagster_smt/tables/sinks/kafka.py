"""Topics of a Kafka cluster as sinks. Each record is written at least once, to the topic that the chain's routers
choose.

The progress is stored as the committed offsets of a consumer group on the source's cluster, so Kafka's tools can show
the progress. A run first writes the records and then commits the offsets. If a run crashes in between, the next run
writes the same records again. The headers of each record name its source record, so consumers can recognize the copies.
The offsets are committed in a transaction, so if two runs use the same group, one of them fails.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from confluent_kafka import KafkaException, TopicPartition
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from dagster_smt.errors import ConfigError, EngineError, Problem, TableError
from dagster_smt.jvm.availability import has_lane
from dagster_smt.model.topics.state import NewerState, TableState, remedy
from dagster_smt.model.windows.window import Window, not_empty
from dagster_smt.spark import sql
from dagster_smt.spark.outcome_columns import TARGET
from dagster_smt.tables.kafka.client import Committed, KafkaClient, Place
from dagster_smt.tables.kafka.progress import from_commits, to_commits
from dagster_smt.tables.kafka.sizes import size_column
from dagster_smt.tables.kafka.spec import KafkaTopics
from dagster_smt.tables.kafka.transactions import FENCED
from dagster_smt.tables.sink_options import KafkaSink
from dagster_smt.tables.sinks.kafka_topics import KafkaPlace
from dagster_smt.tables.sinks.protocol import NewCommit, Replaced, check_expected, other_run_committed, same_state
from dagster_smt.tables.sinks.records import (
    RecordTable,
    TargetRecords,
    refuse_many_topics,
    refuse_own_topics,
    source_headers,
    with_source,
)
from dagster_smt.tables.topic_table import SourceSpec

_ORDER = ("source_topic", "partition", "offset")
_TRANSACTION = 10_000
"""The time limit in milliseconds of a transaction that only commits offsets."""


@dataclass(frozen=True)
class KafkaTable(RecordTable):
    """Topics of a Kafka cluster, opened as the sink of a run. The class implements the protocol ``Table``.

    Attributes:
        session: The Spark session.
        spec: The sink.
        source: The source of the records. The offsets that a run has processed are stored on the source's cluster. If
            the source is None, they are stored on the sink's own cluster.
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
        """The client of the cluster on which the progress is stored."""
        return KafkaClient(self.source if isinstance(self.source, KafkaTopics) else self.spec.topics)

    @cached_property
    def place(self) -> KafkaPlace:
        """The topics to which records are written."""
        return KafkaPlace(self.session, self.spec.topics)

    def state(self, *, settle: bool = False) -> TableState | None:
        """Returns the state: the offsets and counts that the last run has stored with the committed offsets of its
        consumer group. Returns None if the group has committed nothing. See ``Table``.
        """
        try:
            return from_commits(self.groups.committed(self.spec.group))
        except ValueError as error:
            hint = "set the group's offsets with kafka-consumer-groups.sh --reset-offsets, or choose another group"
            if isinstance(error, NewerState):
                hint = remedy(error)
            statement = f"the progress that the group keeps is {error}"
            raise TableError(Problem("SMT522", f"group {self.spec.group}", statement, hint)) from None

    def commit(self, frame: DataFrame, state: TableState, replaced: Replaced, expected: TableState | None) -> NewCommit:
        """Writes the records of ``frame`` to topics, each at least once. Then stores ``state`` by committing offsets of
        the consumer group. See ``Table``.
        """
        assert not replaced, "runs refuse that: see replaceable"
        commits = self._commits(state)
        with self._committing() as commit:
            # _committing() has fenced earlier runs, so no earlier run can change the state after this check
            check_expected(self.state, expected, replaced, self._name)
            rows, topics = self._write(frame, state)
            try:
                commit(commits)
            except EngineError:  # the offsets may have been committed although the answer was lost
                if not same_state(self.state(), state):
                    raise
        return NewCommit(rows, topics, 0)

    def keep(self, state: TableState) -> None:
        """Commits the offsets of ``state`` again, although there are no new records. Brokers delete the committed
        offsets of a group unless they are committed again within ``offsets.retention.minutes``.
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
        """Writes the records of ``frame`` to their topics. The records of each source partition are written in the
        order of their offsets. Returns the number of records and the number of topics.
        """
        targets = self._targets(frame, state.window.topics)
        topics = sorted({target.topic for target in targets})
        if not topics:
            return 0, 0
        refuse_many_topics(topics, self.spec.max_topics, self.spec.place)
        if self.beside_source():
            refuse_own_topics(topics, state.window.topics)
        # before the check of partitions, which fails for a topic that does not exist
        self.place.client.make_missing(topics)
        chosen = []
        for target in targets:
            if target.last is not None:
                chosen.append((target.topic, target.last))
        self.place.refuse_partitions(chosen)
        if _is_scattered(targets):
            frame = frame.repartition("source_topic", "partition").sortWithinPartitions(*_ORDER)
        self.place.write(with_source(frame, self.spec.group), topics, self._longest(targets))
        return sum(target.records for target in targets), len(topics)

    def _targets(self, frame: DataFrame, read: Collection[str]) -> list[TargetRecords]:
        """Returns descriptions of the records in ``frame``: their numbers and sizes by target topic. A run has usually
        called ``measure`` before the commit. The method then returns the results of ``measure``, and does not read the
        records again.

        Args:
            frame: The records.
            read: The source topics whose records the run writes. After the call of ``measure``, the run may have
                excluded a source topic. The results for such a topic are left out.
        """
        if not self._measured:
            return self._measure(frame)
        targets = [target for target in self._measured if target.source_topic in read]
        self._measured.clear()
        return targets

    def beside_source(self) -> bool:
        """Returns True if the source topics and the target topics are on the same Kafka cluster. The ids of the
        clusters are compared, because one cluster may have several addresses.
        """
        if not isinstance(self.source, KafkaTopics):
            return False
        return self.groups.cluster_id() == self.place.client.cluster_id()

    @contextmanager
    def _committing(self) -> Iterator[Any]:
        """Fences earlier runs of the group, and yields a function that commits offsets. The function fails if a later
        run has begun.

        Raises:
            TableError: SMT528, another run of the group has begun to commit meanwhile.
        """
        client = self.groups
        # A short time-out is needed for the case that a run dies between sending and committing the offsets. The group
        # is then blocked until the transaction times out.
        settings = {"transactional.id": f"dagster_smt.{self.spec.group}", "transaction.timeout.ms": _TRANSACTION}
        producer = client.producer(**settings)
        # the transaction needs the metadata of the group; the consumer does not subscribe, so it never joins the group
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
                    if error.args[0].code() in FENCED:
                        raise other_run_committed(self._name) from None
                    raise

        try:
            with client.asking(self.spec.group):
                producer.init_transactions(client.timeout)
            yield commit
        finally:
            consumer.close()

    def sizes(self, prefix: str = "") -> sql.Column:
        """Returns a column with the size that each record will have in its topic, in bytes.

        Args:
            prefix: A prefix of the names of the columns that hold the records. With ``__out.``, for example, the value
                is in the column ``__out.value``.
        """
        key, value, headers = (sql.col(prefix + name) for name in ("key", "value", "headers"))
        more = source_headers(self.spec.group, prefix)
        return size_column(key, value, headers, more, lane=has_lane(self.session))

    def measure(self, frame: DataFrame, prefix: str = "") -> list[TargetRecords]:
        """Returns descriptions of the records in ``frame``: their numbers and sizes by target topic. See
        ``RecordTable``.

        The next commit uses these descriptions, so it must write exactly these records. It may leave out all records of
        a source topic, but not single records.
        """
        self._measured[:] = self._measure(frame, prefix)
        return [*self._measured]

    @cached_property
    def _measured(self) -> list[TargetRecords]:
        """Descriptions of the records that the next commit writes: their numbers and sizes by target topic."""
        # the list is changed in place, because a frozen dataclass permits no assignment
        return []

    def _measure(self, frame: DataFrame, prefix: str = "") -> list[TargetRecords]:
        """Returns descriptions of the records in ``frame``: their numbers and sizes by target topic.

        A single query computes all numbers, because each further query would read the cached records again.
        """
        last = "CAST(NULL AS INT)"
        if TARGET in frame.select(f"{prefix}*").columns:
            last = f"max({sql.col(prefix + TARGET).text})"
        groups = {name: sql.col(prefix + name).text for name in ("topic", "source_topic", "partition")}
        groups["task"] = "spark_partition_id()"
        facts = {
            "records": "count(1)",
            "longest": f"max({self.sizes(prefix).text})",
            "keyless": f"bool_or(isnull({sql.col(f'{prefix}key').text}))",
            "last": last,
        }
        grouped = frame.groupBy(*(F.expr(f"{text} AS {name}") for name, text in groups.items()))
        rows = grouped.agg(*(F.expr(f"{text} AS {name}") for name, text in facts.items())).collect()
        return [TargetRecords(**row.asDict()) for row in rows]

    def _longest(self, targets: Sequence[TargetRecords]) -> int:
        """Returns the size in bytes of the longest record in ``targets``. A topic has a limit for the size of its
        records. The topic rejects a longer record, so the method uses the limit for such a record.
        """
        limits = self.place.limits({target.topic for target in targets})
        lengths = []
        for target in targets:
            lengths.append(min(target.longest, limits.get(target.topic, target.longest)))
        return max(lengths)

    def append(self, frame: DataFrame) -> None:
        """Appends the records of ``frame``. Unlike ``commit``, the method does not store the offsets of a run. See
        ``Table``.
        """
        self.place.append(with_source(frame, self.spec.group), _ORDER, lambda line: None)

    def read(self) -> DataFrame:
        """Returns every record of every topic of the cluster, as rows with Kafka's columns."""
        ranges = self.place.there(self.place.client.names())
        return self.place.read(Window(tuple(not_empty(ranges))))


def _is_scattered(targets: Sequence[TargetRecords]) -> bool:
    """Returns True if several Spark tasks hold records with the same source partition and the same target topic. The
    tasks would write these records at the same time, so their order could change.
    """
    tasks = defaultdict(set)
    for target in targets:
        tasks[(target.topic, target.source_topic, target.partition)].add(target.task)
    return any(len(of) > 1 for of in tasks.values())
