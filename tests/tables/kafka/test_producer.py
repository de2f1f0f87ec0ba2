"""Records sent without Spark: each key in the partition in which a Java producer would write it."""

import uuid

from dagster_smt.tables.kafka.producer import send
from dagster_smt.tables.kafka.spec import KafkaTopics, NewTopics
from dagster_smt.tables.sources.file_writer import NewRecord
from tests.kafka import Topics

# keys and their hashes, from the tests of Kafka's own ``Utils.murmur2``
HASHES = {
    b"21": -973932308,
    b"foobar": -790332482,
    b"a-little-bit-long-string": -985981536,
    b"a-little-bit-longer-string": -1486304829,
    b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
    b"abc": 479470107,
}
PARTITIONS = 7


def test_keys_go_to_the_partitions_of_javas_producer(broker):
    topics = Topics(KafkaTopics(broker.servers, create=NewTopics()))
    name = f"keys-{uuid.uuid4().hex[:8]}"
    topics.make(name, partitions=PARTITIONS)
    send(topics.spec, name, [NewRecord(key, b"v") for key in HASHES])
    places = {message.key(): message.partition() for message in topics.read(name)}
    assert places == {key: (number & 0x7FFFFFFF) % PARTITIONS for key, number in HASHES.items()}
