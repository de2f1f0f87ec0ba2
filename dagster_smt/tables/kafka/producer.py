"""Sends a few records to topics of a cluster without Spark, for the command line and for demos."""

from collections.abc import Iterable

from confluent_kafka import KafkaError, KafkaException, Message

from dagster_smt.errors import Problem, TableError
from dagster_smt.tables.kafka.client import DENIED, KafkaClient, Place
from dagster_smt.tables.kafka.spec import KafkaTopics
from dagster_smt.tables.kafka.transactions import REQUEST
from dagster_smt.tables.sources.file_writer import NewRecord


def send(
    topics: KafkaTopics, topic: str, records: Iterable[NewRecord], partition: int | None = None
) -> dict[Place, tuple[int, int]]:
    """Sends records in their order, and returns after the brokers have received them.

    Args:
        topics: The cluster. Its option ``create`` permits the creation of a missing topic.
        topic: The topic.
        records: The records. librdkafka writes the current time for a timestamp of 0.
        partition: The partition of the records. If None, the key determines the partition.

    Returns:
        For each partition, the number of records and the offset of the first record.

    Raises:
        TableError: SMT586: the topic does not exist; SMT590: the brokers reject records.
    """
    client = KafkaClient(topics)
    client.make_missing([topic])
    counts_and_firsts: dict[Place, tuple[int, int]] = {}
    refused: list[KafkaError] = []

    def note_delivery(error: KafkaError | None, message: Message) -> None:
        if error is not None:
            refused.append(error)
            return
        place = (str(message.topic()), int(message.partition() or 0))
        count, first = counts_and_firsts.get(place, (0, int(message.offset() or 0)))
        counts_and_firsts[place] = (count + 1, min(first, int(message.offset() or 0)))

    # without idempotence, a retry of the client can write records twice or in another order
    producer = client.producer(**{"enable.idempotence": True, "message.max.bytes": REQUEST})
    with client.asking(topic):
        for record in records:
            place = {} if partition is None else {"partition": partition}
            headers = list(record.headers)
            if record.timestamp is None:
                stamp = {}
            else:
                stamp = {"timestamp": record.timestamp}
            producer.produce(
                topic, record.value, record.key, headers=headers, on_delivery=note_delivery, **place, **stamp
            )
            producer.poll(0)
        producer.flush(client.timeout)
        # flush() also returns at its time limit, while records are still in the queue
        if len(producer):
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
        if refused and refused[0].code() in DENIED:
            raise KafkaException(refused[0])
    if refused:
        statement = f"the brokers refused {len(refused)} records: {refused[0].name()}"
        raise TableError(Problem("SMT590", topic, statement, "check the settings of the topic"))
    return counts_and_firsts
