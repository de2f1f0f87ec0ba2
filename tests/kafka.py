"""Topics of a real broker, as tests make and fill them."""

import itertools
import time
from collections.abc import Iterable

from confluent_kafka import Message, Producer, TopicPartition
from confluent_kafka.admin import NewPartitions

from dagster_smt.tables.kafka.client import Committed as Committed
from dagster_smt.tables.kafka.client import KafkaClient
from dagster_smt.tables.kafka.spec import KafkaTopics, NewTopics
from dagster_smt.tables.sources.file_writer import NewRecord


class Topics:
    """The topics of a cluster."""

    def __init__(self, spec: KafkaTopics):
        self.spec = spec
        self.client = KafkaClient(spec)

    def make(self, *names: str, partitions: int = 1, **settings: str) -> None:
        self.client.create(names, NewTopics(partitions, 1, {k.replace("_", "."): v for k, v in settings.items()}))

    def remove(self, *names: str) -> None:
        """Remove these topics, or all; returns when they are gone."""
        names = names or tuple(self.client.names())
        if names:
            for future in self.client.admin().delete_topics(list(names)).values():
                future.result()
        while set(names) & set(self.client.names()):
            time.sleep(0.05)

    def add(self, records: Iterable[tuple[str, int, NewRecord]], **config: object) -> None:
        """Append records; make topics and partitions that are missing."""
        records = sorted(records, key=lambda r: r[:2])
        for topic, group in itertools.groupby(records, key=lambda r: r[0]):
            self._widen(topic, max(partition for _, partition, _ in group) + 1)
        failed: list[object] = []
        producer = Producer({"bootstrap.servers": self.spec.servers, "message.max.bytes": 16 * 2**20, **config})
        for topic, partition, record in records:
            producer.produce(
                topic, record.value, record.key, partition, timestamp=record.timestamp or 0,
                headers=list(record.headers), on_delivery=lambda error, _: error and failed.append(error),
            )  # fmt: skip
            producer.poll(0)
        producer.flush()
        assert not failed, failed

    def read(self, topic: str, isolation: str = "read_committed") -> list[Message]:
        """Every record of a topic, as another client sees them."""
        ranges = {r.partition: r for r in KafkaClient(self.spec).ranges([topic]) if r.records}
        consumer = self.client.consumer("tests", **{"isolation.level": isolation, "enable.partition.eof": True})
        consumer.assign([TopicPartition(topic, p, r.start) for p, r in ranges.items()])
        results, open_ = [], set(ranges)
        while open_:
            for message in consumer.consume(1000, 1.0):
                if message.error() is not None:
                    open_.discard(message.partition())
                else:
                    results.append(message)
        consumer.close()
        return results

    def _widen(self, topic: str, partitions: int) -> None:
        if topic not in self.client.names():
            self.make(topic, partitions=partitions)
        elif len(self.client.described([topic])[topic][1]) < partitions:
            for future in self.client.admin().create_partitions([NewPartitions(topic, partitions)]).values():
                future.result()
            while len(self.client.described([topic])[topic][1]) < partitions:
                time.sleep(0.05)
