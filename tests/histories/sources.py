"""Topics of each kind, as histories make, fill, shorten and remove them."""

import itertools
import shutil
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import NewPartitions, NewTopic

from dagster_smt.tables.kafka.spec import KafkaTopics, NewTopics
from dagster_smt.tables.sources.arrow_rows import SCHEMA
from dagster_smt.tables.sources.file_writer import NewRecord, append_records
from dagster_smt.tables.topic_table import FileTopics, TableSource
from tests.histories.topics import BASE, Record
from tests.run.kill_topics import Cluster

Records = Mapping[int, Record]
"""By offset."""


class Files:
    """Topics below a folder. Each append is a segment, and retention removes whole ones but the last."""

    kind = "files"
    empty_topics = True

    def __init__(self, folder: Path):
        self.spec = FileTopics(folder / "topics")

    def name(self, topic: str) -> str:
        """What the topic is called there."""
        return topic

    def create(self, topic: str, partitions: int) -> None:
        """Make an empty topic, or widen one."""
        for number in range(partitions):
            append_records(self.spec, topic, [], number)

    def append(self, topic: str, partition: int, records: Records) -> None:
        """Append records."""
        results = [NewRecord(b"k", r.value, (("trace", b"x"),), BASE + r.time) for r in records.values()]
        there = append_records(self.spec, topic, results, partition)
        assert [*range(there.start, there.end)] == [*records]

    def expire(self, topic: str, partition: int, to: int) -> int:
        """Delete records before an offset; gives the first one that stays."""
        segments = sorted((self.spec.root / topic / str(partition)).glob("*.jsonl"))
        for segment, following in itertools.pairwise(segments):
            if int(following.stem) <= to:
                segment.unlink()
        return min(int(s.stem) for s in segments if s.exists())

    def delete(self, topic: str) -> None:
        """Delete a topic."""
        shutil.rmtree(self.spec.root / topic)


class Kafka:
    """Topics of a broker; each history has names of its own there."""

    kind = "kafka"
    empty_topics = True

    def __init__(self, servers: str):
        self.spec = KafkaTopics(servers, create=NewTopics())
        self.cluster = Cluster(servers)
        self.admin = self.cluster.admin
        self.id = uuid.uuid4().hex[:8]

    def name(self, topic: str) -> str:
        return f"{self.id}.{topic}"

    def create(self, topic: str, partitions: int) -> None:
        name, settings = self.name(topic), {"message.timestamp.after.max.ms": str(2**63 - 1)}
        there = self.admin.list_topics(timeout=30).topics
        if name not in there:
            asked = self.admin.create_topics([NewTopic(name, partitions, 1, config=settings)])
        elif len(there[name].partitions) < partitions:
            asked = self.admin.create_partitions([NewPartitions(name, partitions)])
        else:
            return
        for future in asked.values():
            future.result()
        self._wait(name, partitions)

    def _wait(self, name: str, partitions: int) -> None:
        """Wait until a topic is there, or is gone."""
        for _ in range(600):
            there = self.admin.list_topics(timeout=30).topics
            if (len(there[name].partitions) if name in there else 0) == partitions:
                return
            time.sleep(0.05)
        raise AssertionError(f"{name} does not get {partitions} partitions")

    def append(self, topic: str, partition: int, records: Records) -> None:
        self.create(topic, partition + 1)
        offsets: list[int] = []
        producer = Producer({"bootstrap.servers": self.spec.servers, "enable.idempotence": True})
        for r in records.values():
            producer.produce(
                self.name(topic), r.value, b"k", partition, timestamp=BASE + r.time,
                on_delivery=lambda error, message: offsets.append(message.offset()),
            )  # fmt: skip
        producer.flush()
        assert offsets == [*records]

    def abort(self, topic: str, partition: int, count: int) -> int:
        """A transaction that is aborted; gives how many offsets it takes: a marker follows its records."""
        config = {"bootstrap.servers": self.spec.servers, "transactional.id": uuid.uuid4().hex}
        producer = Producer(config)
        producer.init_transactions()
        producer.begin_transaction()
        for _ in range(count):
            producer.produce(self.name(topic), b'{"id": 1, "name": "aborted"}', b"k", partition)
        producer.flush()
        producer.abort_transaction()
        return count + 1

    def expire(self, topic: str, partition: int, to: int) -> int:
        asked = self.admin.delete_records([TopicPartition(self.name(topic), partition, to)])
        return int(next(iter(asked.values())).result().low_watermark)

    def delete(self, topic: str) -> None:
        for future in self.admin.delete_topics([self.name(topic)]).values():
            future.result()
        self._wait(self.name(topic), 0)


class Bronze:
    """A Delta table with Kafka's columns, written without Spark."""

    kind = "bronze"
    empty_topics = False

    def __init__(self, folder: Path):
        self.folder = folder / "bronze"
        self.spec = TableSource(path=str(self.folder), format="delta")

    def name(self, topic: str) -> str:
        return topic

    def append(self, topic: str, partition: int, records: Records) -> None:
        from deltalake import write_deltalake

        rows = [
            (b"k", r.value, topic, partition, offset, (BASE + r.time) * 1000, 0, [])
            for offset, r in records.items()
        ]  # fmt: skip
        columns = [pa.array(c, f.type) for c, f in zip(zip(*rows, strict=True), SCHEMA, strict=True)]
        write_deltalake(str(self.folder), pa.table(columns, schema=SCHEMA), mode="append")

    def expire(self, topic: str, partition: int, to: int) -> int:
        from deltalake import DeltaTable

        DeltaTable(str(self.folder)).delete(f"topic = '{topic}' AND partition = {partition} AND offset < {to}")
        return to


def open_topics(kind: str, folder: Path, servers: str) -> Any:
    """Topics of a kind."""
    return Kafka(servers) if kind == "kafka" else {"files": Files, "bronze": Bronze}[kind](folder)
