"""Topics of a broker for killed runs: producing, and what is there, read with nothing but ``confluent_kafka``."""

import json
import time
from collections.abc import Iterable, Sequence
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.run import kill_judge as judge

GROUP = "killed"
_STARTING = (
    KafkaError.NOT_COORDINATOR,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
)


class Cluster:
    """The broker of a game."""

    def __init__(self, servers: str):
        self.servers = servers
        self.admin = AdminClient({"bootstrap.servers": servers})

    def make(self, topics: dict[str, int]) -> None:
        """Make topics of so many partitions."""
        for future in self.admin.create_topics([NewTopic(t, n, 1) for t, n in topics.items()]).values():
            future.result()

    def produce(self, topic: str, partition: int, entries: Sequence[judge.Entry]) -> list[int]:
        """Produce records; returns their offsets."""
        offsets: list[int] = []
        producer = Producer({"bootstrap.servers": self.servers, "enable.idempotence": True})
        for e in entries:
            producer.produce(topic, e.value, b"k", partition, timestamp=e.timestamp, headers=[("trace", b"x")],
                             on_delivery=lambda error, message: offsets.append(message.offset()))  # fmt: skip
        producer.flush()
        assert len(offsets) == len(entries)
        return offsets

    def read(self, topics: Iterable[str]) -> list[Message]:
        """Every record of some topics."""
        there = self.admin.list_topics(timeout=30).topics
        places = [TopicPartition(t, p) for t in topics if t in there for p in there[t].partitions]
        results: list[Message] = []
        if not places:
            return results
        consumer = Consumer({"bootstrap.servers": self.servers, "group.id": "judge", "enable.partition.eof": True,
                             "enable.auto.commit": False})  # fmt: skip
        consumer.assign([TopicPartition(p.topic, p.partition, 0) for p in places])
        open_ = {(p.topic, p.partition) for p in places}
        while open_:
            for message in consumer.consume(1000, 1.0):
                if message.error() is not None:
                    open_.discard((message.topic(), message.partition()))
                else:
                    results.append(message)
        consumer.close()
        return results

    def letters(self, topic: str) -> list[judge.Row]:
        """The letters in a topic."""
        results = []
        for message in self.read([topic]):
            names = {key: value.decode() for key, value in message.headers() if value is not None}
            place = [names["__connect.errors." + part] for part in ("topic", "partition", "offset")]
            results.append((place[0], int(place[1]), int(place[2]), message.value()))
        return results

    def rows(self, topics: Iterable[str]) -> list[judge.Row]:
        """Where the records in some topics say that they come from, and their values."""
        results = []
        for message in self.read(topics):
            source = dict(message.headers())["dagster_smt.source"].decode()
            place, _, offset = source.rpartition("@")
            topic, _, partition = place.rpartition("-")
            results.append((topic, int(partition), int(offset), message.value()))
        return results

    def state(self, topics: dict[str, int]) -> judge.State | None:
        """What the group has committed, as the state of a table."""
        consumer = Consumer({"bootstrap.servers": self.servers, "group.id": GROUP})
        places = [TopicPartition(t, n) for t, count in topics.items() for n in range(count)]
        results = [p for p in committed(consumer, places) if p.offset >= 0]
        consumer.close()
        if not results:
            return None
        texts = {(p.topic, p.partition): json.loads(p.metadata) for p in results}
        held: dict[str, dict[str, Any]] = {}
        for p in results:
            intervals = texts[p.topic, p.partition]["h"]
            assert intervals[0][1] == p.offset, "the offset is not where the prefix ends"
            held.setdefault(p.topic, {})[str(p.partition)] = intervals
        last = max(texts.values(), key=lambda data: data["n"])
        nothing = {"window": {}, "rows": {}, "gaps": {}, "runs": []}
        return {"number": last["n"], "attempt": last["a"], "held": held, **nothing}


def committed(consumer: Consumer, places: list[TopicPartition]) -> list[TopicPartition]:
    """What a group has committed; a broker that has just started may not coordinate groups yet."""
    until = time.monotonic() + 60
    while True:
        try:
            return consumer.committed(places, 30)
        except KafkaException as error:
            if error.args[0].code() not in _STARTING or time.monotonic() > until:
                raise
        time.sleep(0.5)
