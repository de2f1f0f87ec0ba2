"""Topics of a Kafka cluster to which runs append records. The module implements the protocol ``Topics``."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from dagster_smt.errors import Problem, TableError
from dagster_smt.model.windows.window import Range, Window
from dagster_smt.spark.outcome_columns import TARGET
from dagster_smt.spark.redaction import refuse_shown_secrets
from dagster_smt.tables.kafka.client import KafkaClient
from dagster_smt.tables.kafka.demands import Demands
from dagster_smt.tables.kafka.outgoing import Outgoing, forms_of
from dagster_smt.tables.kafka.sizes import ESTIMATED
from dagster_smt.tables.kafka.spec import KafkaTopics
from dagster_smt.tables.kafka.transactions import LONGEST, REQUEST, Transactions, transactions
from dagster_smt.tables.sinks.topics import Appended, Say, Topics
from dagster_smt.tables.sources import open_source

_PART_ROWS, _PART_BYTES = 2_000, 32 * 2**20
"""Two limits for the part of a frame that the driver receives at a time: the largest number of rows, and the largest
number of bytes.
"""
# Measurements: Spark's writer is faster if its producer waits up to 20 ms for larger batches. By default, a batch of
# Kafka's producer has at most 16 KiB.
_TUNED = {
    "kafka.linger.ms": "20",
    "kafka.batch.size": "131072",
    "kafka.max.request.size": str(REQUEST),
    "kafka.buffer.memory": str(REQUEST),
}


@dataclass(frozen=True)
class KafkaPlace:
    """The topics of a Kafka cluster, to which runs append records. The class implements the protocol ``Topics``.
    Brokers set the timestamps of new records, because Spark's writer cannot.
    """

    session: SparkSession
    spec: KafkaTopics

    @cached_property
    def client(self) -> KafkaClient:
        return KafkaClient(self.spec)

    @cached_property
    def _demands(self) -> dict[str, Demands | None]:
        """A cache: for each topic, the requirements for its records, such as their largest size. None for a topic whose
        settings are unknown.
        """
        return {}

    def demands(self, topics: Iterable[str]) -> dict[str, Demands]:
        """Returns the requirements that each topic in ``topics`` has for its records, such as a largest size; see
        ``KafkaClient.demands``. Brokers are asked only once for each topic.
        """
        topics = {*topics}
        unknown = topics - {*self._demands}
        answers = self.client.demands(unknown)
        self._demands.update((topic, answers.get(topic)) for topic in unknown)
        return {topic: demands for topic in topics if (demands := self._demands[topic]) is not None}

    def limits(self, topics: Iterable[str]) -> dict[str, int]:
        """Returns the largest size of a record in bytes for each topic in ``topics``. Topics without a known limit are
        left out.
        """
        demands = self.demands(topics)
        results = {}
        for topic, of in demands.items():
            if of.longest is not None:
                results[topic] = of.longest
        return results

    @contextmanager
    def alone(self, owner: str, topics: Sequence[str], identity: Sequence[str], say: Say) -> Iterator["Topics"]:
        """Yields an object that appends records to topics of this cluster as the writer ``owner``, in Kafka
        transactions. See ``Topics``. When a later run starts to append as the same writer, the brokers fence this run.
        """
        # uncommitted records of fenced writers may be present
        committed = replace(self.spec, isolation_level="read_committed")
        client, limits = KafkaClient(committed), self.limits(topics)
        with transactions(client, f"dagster_smt.letters.{owner}", owner, limits) as producer:
            yield _OnePlace(self.session, committed, producer, identity)

    def there(self, topics: Sequence[str]) -> list[Range]:
        """Returns the offset range of each partition of ``topics``, such as ``orders-0 [10, 20)``. Topics that do not
        exist are left out. See ``Topics``.
        """
        listed = self.client.names()
        return self.client.ranges([t for t in topics if t in listed])

    def read(self, window: Window) -> DataFrame:
        """Returns the records in the offset ranges of ``window``. See ``Topics``."""
        return open_source(self.spec, self.session).read(window)

    def append(self, frame: DataFrame, order: Sequence[str], say: Say) -> Appended:
        """Appends the records of ``frame`` to their topics, each at least once. See ``Topics``."""
        counts = {}
        for row in frame.groupBy("topic").count().collect():
            counts[row["topic"]] = row["count"]
        self.client.make_missing(sorted(counts))
        before = {}
        for r in self.there(sorted(counts)):
            before[(r.topic, r.partition)] = r.end
        say(f"writing {sum(counts.values())} records to {len(counts)} topics")
        self.write(frame.repartition("topic").sortWithinPartitions("topic", *order), sorted(counts))
        now = []
        for r in self.there([*counts]):
            now.append(Range(r.topic, r.partition, before.get((r.topic, r.partition), 0), r.end))
        grown = dict.fromkeys(counts, 0)
        for r in now:
            grown[r.topic] += r.records
        ranges = []
        for r in now:
            # a topic that has grown by more may have other records between the appended ones
            if grown[r.topic] == counts[r.topic]:
                ranges.append(r)
        return Appended(ranges, sum(counts.values()))

    def refuse_partitions(self, chosen: Sequence[tuple[str, int]]) -> None:
        """Raises an error if a partition in ``chosen`` does not exist. Without this check, the producer would wait for
        the partition until a time limit.

        Raises:
            TableError: SMT579, for each such topic.
        """
        known = self.client.described(topic for topic, _ in chosen)
        beyond = set()
        for topic, number in chosen:
            # the last item is the highest partition number of the topic
            if number > known[topic][1][-1]:
                beyond.add(topic)
        wrong = sorted(beyond)
        if wrong:
            hint = "add partitions to the topic, or correct the column or field for the partition"
            statement = "the chain chooses a partition that the topic does not have; nothing was written"
            raise TableError([Problem("SMT579", topic, statement, hint) for topic in wrong])

    def write(self, frame: DataFrame, topics: Sequence[str], longest: int = 0) -> None:
        """Writes the records of ``frame`` through Spark's writer.

        The columns are ``key``, ``value``, ``topic``, ``headers`` and, if the frame has it, ``target_partition``. If
        ``target_partition`` is null, the producer chooses the partition.

        Args:
            frame: The records.
            topics: The target topics.
            longest: The size in bytes of the longest record.
        """
        options = {**_TUNED, **self.spec.connector_options()}
        # the size of a record is limited by the topic, not by the producer
        for name in ("kafka.max.request.size", "kafka.buffer.memory"):
            options[name] = _at_least(options[name], longest + ESTIMATED)
        # a batch size above a topic's limit would make the producer split a rejected batch into batches of the same
        # size, without end
        limits = self.limits(topics).values()
        options["kafka.batch.size"] = _at_most(options["kafka.batch.size"], limits)
        options["includeHeaders"] = "true"
        refuse_shown_secrets(self.session, options)
        if TARGET in frame.columns:
            chosen = [F.col(TARGET).alias("partition")]
        else:
            chosen = []
        frame.select("key", "value", "topic", F.col("headers"), *chosen).write.format("kafka").options(**options).save()


@dataclass(frozen=True)
class _OnePlace(KafkaPlace):
    """Topics of a cluster for a single writer. Consumers with ``read_committed`` never see a record of a transaction
    that has not been committed.
    """

    producer: Transactions
    identity: Sequence[str]

    def append(self, frame: DataFrame, order: Sequence[str], say: Say) -> Appended:
        """Appends the records of ``frame`` to their topics, in Kafka transactions. See ``Topics``.

        The driver collects the rows part by part, because a transaction belongs to one producer.
        """
        length = F.coalesce(F.length("key"), F.lit(0)) + F.coalesce(F.length("value"), F.lit(0))
        sums = frame.agg(F.count(F.lit(1)).alias("rows"), F.sum(length.cast("bigint")).alias("bytes")).collect()[0]
        if not sums["rows"]:
            return Appended([], 0)
        topics = []
        for row in frame.select("topic").distinct().collect():
            topics.append(row["topic"])
        self.client.make_missing(sorted(topics))
        say(f"writing {sums['rows']} records to {len(topics)} topics")
        parts = 1 + max(sums["rows"] // _PART_ROWS, (sums["bytes"] or 0) // _PART_BYTES)
        # toLocalIterator fetches one Spark partition after the other: the driver holds one part at a time, and the
        # records arrive in order
        rows = frame.repartitionByRange(parts, *order).sortWithinPartitions(*order)
        for row in rows.select("key", "value", "topic", "headers", *order).toLocalIterator():
            headers = []
            for header in row["headers"] or ():
                headers.append((header["key"], _bytes(header["value"])))
            limit = min(self.producer.limits.get(row["topic"], LONGEST), LONGEST)
            forms = forms_of(_bytes(row["key"]), _bytes(row["value"]), headers, limit, self.identity)
            self.producer.send(Outgoing(row["topic"], forms, tuple(row[name] for name in order)), say)
        ranges, producer = self.producer.commit(), self.producer
        if producer.shortened:
            say(f"{producer.shortened} of them are too large for their topic, and were written without key and value")
        unwritten = tuple(record.source for record in producer.unwritten)
        return Appended(ranges, sums["rows"] - len(unwritten), unwritten)


def _at_least(option: str, needed: int) -> str:
    """Returns the greater of ``option`` and ``needed`` as a string: ``"200"`` for ``"100"`` and 200. If ``option`` is
    not a number, the function returns ``option`` unchanged, and Kafka rejects it.
    """
    if option.strip().isdecimal():
        return str(max(int(option), needed))
    return option


def _at_most(option: str, limits: Iterable[int]) -> str:
    if option.strip().isdecimal():
        return str(min([int(option), *limits]))
    return option


def _bytes(value: bytes | bytearray | None) -> bytes | None:
    """Converts ``value`` to ``bytes``. Spark may return a ``bytearray``, which the Kafka client does not accept."""
    if value is None:
        return None
    return bytes(value)
