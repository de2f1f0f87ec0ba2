"""Topics that records are appended to, of either kind: what is there, reading it, appending."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from dagster_smt.errors import Problem, TableError
from dagster_smt.model.window import Range, Window
from dagster_smt.spark.columns import TARGET
from dagster_smt.spark.redaction import refuse_shown_secrets
from dagster_smt.tables import local
from dagster_smt.tables.kafka.client import KafkaClient
from dagster_smt.tables.kafka.spec import KafkaTopics
from dagster_smt.tables.kafka.transactions import Transactions, transactions
from dagster_smt.tables.sources import open_source
from dagster_smt.tables.sources.frame_writer import append_frame
from dagster_smt.tables.spec import FileTopics

Say = Callable[[str], None]
_PART_ROWS, _PART_BYTES = 2_000, 32 * 2**20
"""What comes to the driver at a time."""
_TUNED = {
    "kafka.linger.ms": "20",
    "kafka.batch.size": "131072",
    # how long a record may be is the topic's to say, not the producer's
    "kafka.max.request.size": str(64 * 2**20),
    "kafka.buffer.memory": str(64 * 2**20),
}


class Topics(Protocol):
    """Topics, opened with a session."""

    def alone(self, owner: str, say: Say) -> AbstractContextManager["Topics"]:
        """The same topics for one owner alone: what others of its name append is there before, or never.

        Args:
            owner: Who appends.
            say: Hears how far this is.

        Raises:
            TableError: SMT528, while this is open: another one of this name has begun.
        """

    def there(self, topics: Sequence[str]) -> list[Range]:
        """What those of these topics hold that are there."""

    def read(self, window: Window) -> DataFrame:
        """Records, with Kafka's columns."""

    def append(self, frame: DataFrame, order: Sequence[str], say: Say) -> tuple[list[Range], int]:
        """Append records.

        Args:
            frame: ``key, value, topic, headers``; for topics of a cluster also ``target_partition``, if the chain
                chooses it; for file topics ``partition, timestamp_ms, timestampType``.
            order: Columns by which the records of a topic's partition are ordered.
            say: Hears how far this is.

        Returns:
            Ranges that surely hold nothing but these records, and how many records were appended.
        """


@dataclass(frozen=True)
class FilePlace:
    """File topics; see ``Topics``."""

    session: SparkSession
    spec: FileTopics

    @contextmanager
    def alone(self, owner: str, say: Say) -> Iterator["FilePlace"]:
        """See ``Topics``: others wait."""
        folder = local.local_folder(self.spec.root) / ".progress"
        local.make_folder(folder)
        name = hashlib.sha256(owner.encode()).hexdigest()[:16]
        with local.locked(folder / f"{name}.append.lock", owner, wait=True, say=say):
            yield self

    def there(self, topics: Sequence[str]) -> list[Range]:
        """See ``Topics``."""
        if not local.local_folder(self.spec.root).is_dir():
            return []
        source = open_source(self.spec, self.session)
        listed = source.topics()
        return source.ranges([t for t in topics if t in listed])

    def read(self, window: Window) -> DataFrame:
        """See ``Topics``."""
        return open_source(self.spec, self.session).read(window)

    def append(self, frame: DataFrame, order: Sequence[str], say: Say) -> tuple[list[Range], int]:
        """See ``Topics``: all or nothing."""
        ranges = append_frame(self.spec, frame, order, say)
        return ranges, sum(r.records for r in ranges)


@dataclass(frozen=True)
class KafkaPlace:
    """Topics of a cluster; see ``Topics``. Timestamps are the brokers': Spark's writer cannot set them."""

    session: SparkSession
    spec: KafkaTopics

    @cached_property
    def client(self) -> KafkaClient:
        return KafkaClient(self.spec)

    @contextmanager
    def alone(self, owner: str, say: Say) -> Iterator["Topics"]:
        """See ``Topics``: the latest one shuts the others out, by Kafka's transactions."""
        committed = replace(self.spec, isolation_level="read_committed")  # what is shut out may be there, uncommitted
        with transactions(KafkaClient(committed), f"dagster_smt.letters.{owner}", owner) as producer:
            yield _OnePlace(self.session, committed, producer)

    def there(self, topics: Sequence[str]) -> list[Range]:
        """See ``Topics``."""
        listed = self.client.names()
        return self.client.ranges([t for t in topics if t in listed])

    def read(self, window: Window) -> DataFrame:
        """See ``Topics``."""
        return open_source(self.spec, self.session).read(window)

    def append(self, frame: DataFrame, order: Sequence[str], say: Say) -> tuple[list[Range], int]:
        """See ``Topics``: at least once."""
        counts = {row["topic"]: row["count"] for row in frame.groupBy("topic").count().collect()}
        self.client.make_missing(sorted(counts))
        before = {(r.topic, r.partition): r.end for r in self.there(sorted(counts))}
        say(f"writing {sum(counts.values())} records to {len(counts)} topics")
        self.write(frame.repartition("topic").sortWithinPartitions("topic", *order))
        now = [Range(r.topic, r.partition, before.get((r.topic, r.partition), 0), r.end) for r in self.there([*counts])]
        grown = {topic: sum(r.records for r in now if r.topic == topic) for topic in counts}
        return [r for r in now if grown[r.topic] == counts[r.topic]], sum(counts.values())

    def refuse_partitions(self, chosen: Sequence[tuple[str, int]]) -> None:
        """Refuse partitions that topics do not have: a producer would wait for them until it gives up.

        Raises:
            TableError: SMT579, for each such topic.
        """
        known = self.client.described(topic for topic, _ in chosen)
        wrong = sorted({topic for topic, number in chosen if number > known[topic][1][-1]})
        if wrong:
            hint = "give the topic more partitions, or correct what the chain takes the partition from"
            statement = "the chain chooses a partition that the topic does not have; nothing was written"
            raise TableError([Problem("SMT579", topic, statement, hint) for topic in wrong])

    def write(self, frame: DataFrame) -> None:
        """Write records through Spark's writer: ``key, value, topic, headers``, and ``target_partition`` where it is.

        A null partition leaves the choice to the producer.
        """
        options = {
            **_TUNED,
            **self.spec.connector_options(),
            "includeHeaders": "true",
        }
        refuse_shown_secrets(self.session, options)
        chosen = [F.col(TARGET).alias("partition")] if TARGET in frame.columns else []
        frame.select("key", "value", "topic", F.col("headers"), *chosen).write.format("kafka").options(**options).save()


@dataclass(frozen=True)
class _OnePlace(KafkaPlace):
    """Topics of a cluster, for one owner: what is appended is visible to readers of what is committed, or never."""

    producer: Transactions

    def append(self, frame: DataFrame, order: Sequence[str], say: Say) -> tuple[list[Range], int]:
        """See ``Topics``. Rows come to the driver, a part at a time: transactions are a producer's."""
        length = F.coalesce(F.length("key"), F.lit(0)) + F.coalesce(F.length("value"), F.lit(0))
        sums = frame.agg(F.count(F.lit(1)).alias("rows"), F.sum(length.cast("bigint")).alias("bytes")).collect()[0]
        if not sums["rows"]:
            return [], 0
        topics = [row["topic"] for row in frame.select("topic").distinct().collect()]
        self.client.make_missing(sorted(topics))
        say(f"writing {sums['rows']} records to {len(topics)} topics")
        parts = 1 + max(sums["rows"] // _PART_ROWS, (sums["bytes"] or 0) // _PART_BYTES)
        rows = frame.repartitionByRange(parts, *order).sortWithinPartitions(*order)
        for row in rows.select("key", "value", "topic", "headers").toLocalIterator():
            headers = [(header["key"], _bytes(header["value"])) for header in row["headers"] or ()]
            self.producer.send(row["topic"], _bytes(row["key"]), _bytes(row["value"]), headers, say)
        return self.producer.commit(), sums["rows"]


def _bytes(value: bytes | bytearray | None) -> bytes | None:
    """Spark may give arrays that can change; the client takes none."""
    return None if value is None else bytes(value)


def open_topics(session: SparkSession, place: FileTopics | KafkaTopics) -> Topics:
    """Open topics to append to."""
    return FilePlace(session, place) if isinstance(place, FileTopics) else KafkaPlace(session, place)
