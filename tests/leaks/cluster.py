"""What a Kafka cluster holds after runs, written into files that the judge reads."""

import json

from confluent_kafka import ConsumerGroupTopicPartitions

from dagster_smt.tables.kafka.client import KafkaClient
from tests.kafka import Topics


def _text(data):
    return None if data is None else data.decode("latin-1")


def dump(spec, folder):
    """Writes a folder for each topic with its records, and a file with all names and the data of consumer groups."""
    topics = Topics(spec)
    names = sorted(name for name in topics.client.names() if not name.startswith("__"))
    for name in names:
        (folder / name).mkdir(parents=True, exist_ok=True)
        with (folder / name / "records.jsonl").open("w", encoding="utf-8") as file:
            for message in topics.read(name, "read_uncommitted"):
                row = {
                    "topic": name,
                    "partition": message.partition(),
                    "offset": message.offset(),
                    "key": _text(message.key()),
                    "value": _text(message.value()),
                    "headers": [{"key": key, "value": _text(value)} for key, value in message.headers() or ()],
                }
                file.write(json.dumps(row) + "\n")
    (folder / "names.txt").write_text("\n".join([*names, *_groups(topics.client)]), encoding="utf-8")


def _groups(client: KafkaClient):
    admin = client.admin()
    for group in admin.list_consumer_groups().result().valid:
        yield group.group_id
        offsets = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group.group_id)])[group.group_id]
        for place in offsets.result().topic_partitions:
            yield f"{place.topic} {place.metadata}"
