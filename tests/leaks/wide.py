"""More runs for the judge: policies by tag, a table for each topic, a broker, classes of jars, and tables with keys.

Each hides all values, also those of hostile records, so the tables are searched.
"""

import json

from dagster_smt import (
    DeltaSink,
    FileTopics,
    FileTopicSink,
    Format,
    IcebergSink,
    KafkaSink,
    KafkaTopics,
    NewTopics,
    build_smt_asset,
)
from dagster_smt.tables.sources.file_writer import NewRecord, append_records
from dagster_smt.testing.broker import KafkaBroker, fetch_jars
from tests.kafka import Topics
from tests.leaks.cluster import dump
from tests.leaks.debezium import KEY_SCHEMA, VALUE_SCHEMA, connect_schema
from tests.run.test_privacy import KEY, RING, SCHEMA, STAGES, chain_of

CAST = {"cast": ("Cast$Value", {"spec": "amount:int32"})}
HEADERS = {"headers": ("DropHeaders", {"headers": "person"})}
DECLARED = Format("json_schema", SCHEMA)
TAGS = {
    "id": [],
    "name": ["PII.name"],
    "mail": ["PII.mail"],
    "card": ["PII.card"],
    "bank": ["PII.bank"],
    "contacts[*].mail": ["PII.mail"],
    "note": ["PII.note"],
}
RULES = {"PII.name": "mask", "PII.mail": "pseudonymize", "PII.card": "seal", "PII.bank": "part", "PII.note": "redact"}
ACTIONS = {
    "pseudonymize": {"type": "Pseudonymize", "options": {"key.ring": RING}},
    "seal": {"type": "Encrypt", "options": {"mode": "siv", "key.ring": RING}},
    "part": {"type": "MaskPart"},
    "redact": {"type": "Redact"},
}
FOREIGN = "org.apache.kafka.connect.transforms."


def policy(runs, name, *, key=(), value=TAGS, **more):
    """Returns a policy that holds back what nobody has decided about."""
    tags = runs.folder / f"{name}.tags.yaml"
    tags.write_text(json.dumps({"topics": {name: {"value": value, "key": list(key), "headers": {}}}}))
    return {"rules": RULES, "actions": ACTIONS, "tags": [str(tags)], "dead_letters": "keep", **more}


def by_tag(runs):
    """A policy by tag, closed by default, in front of each way of records."""
    folder = runs.folder
    for name, sink, chain, value in (
        ("tag_records", DeltaSink(folder / "tag_records"), KEY, None),
        ("tag_files", FileTopicSink(folder / "tag_files"), KEY, None),
        ("tag_columns", DeltaSink(folder / "tag_columns", "columns"), {}, DECLARED),
        ("tag_iceberg", IcebergSink(folder / "tag_iceberg", "columns"), {}, DECLARED),
    ):
        runs.write(name, chain, sink, value=value, policy=policy(runs, name))
    of_schemas(runs)


def of_schemas(runs):
    """Records that carry their schemas, some of which have fields whose names are addresses and accounts."""
    name, records = "tag_schemas", []
    for number in range(min(runs.count, 200)):  # each strange record has a schema of its own
        row = json.loads(runs.people.record(number)[1])
        row = {field: row[field] for field in ("id", "name", "mail", "bank", "note")}
        strange = {}
        if number % 4 == 3:
            strange = ({row["mail"]: row["name"]}, {row["bank"]: 1}, {"who": {row["mail"]: 1}})[number // 4 % 3]
        event = {"schema": connect_schema(row | strange), "payload": row | strange}
        records.append(NewRecord(b"k", json.dumps(event).encode(), (), 1700000000000 + number))
    runs.records += len(records)
    append_records(FileTopics(runs.folder / "topics"), name, records)
    sink = DeltaSink(runs.folder / name, "columns")
    table = runs.table(name, {}, sink, value=Format("envelope"), policy=policy(runs, name))
    runs.run(name, build_smt_asset(table))


def by_topic(runs):
    """A table for each topic, behind a policy: a field without personal values chooses the topic."""
    route = {"route": ("TimestampRouter", {"topic.format": "${topic}-${timestamp}", "timestamp.format": "ss"})}
    for name, kind, value in (("many_records", "records", None), ("many_columns", "columns", DECLARED)):
        sink = DeltaSink(f"{runs.folder}/{name}/{{topic}}", kind)
        more = KEY if kind == "records" else {}
        runs.write(name, {**more, **route}, sink, value=value, policy=policy(runs, name))


def of_jars(runs):
    """Kafka's own classes, in the Java process of the host and in Spark's JVM."""
    masked = "name,mail,card,bank,ip,note,contacts"
    stages = {
        "only": ("ReplaceField$Value", {"include": f"id,amount,{masked}"}),
        "mask": ("MaskField$Value", {"fields": masked}),
        "cast": ("Cast$Value", {"spec": "amount:int32"}),
        "key": ("ValueToKey", {"fields": "id"}),
        "headers": ("DropHeaders", {"headers": "person"}),
    }
    properties = chain_of({alias: (FOREIGN + kind, options) for alias, (kind, options) in stages.items()})
    properties["engine"] = "connect"
    for name, process in (("jar_host", "own"), ("jar_spark", "spark")):
        chain = {**properties, "stage.process": process}
        runs.write(name, chain, DeltaSink(runs.folder / name), strange_headers=False)


def with_keys(runs):
    """Tables with keys, whose key columns are pseudonyms; each person has several events."""
    folder = runs.folder
    hidden = {**STAGES, **CAST}
    for name, sink in (
        ("keys_delta", DeltaSink(folder / "keys_delta", "columns", mode="upsert", keys=("mail",))),
        ("keys_iceberg", IcebergSink(folder / "keys_iceberg", "columns", mode="upsert", keys=("mail",))),
        ("keys_scd2", DeltaSink(folder / "keys_scd2", "columns", mode="scd2", keys=("mail",))),
    ):
        runs.write(name, hidden, sink, value=DECLARED)
    changes(runs)


def _with_after(payload, row):
    return json.dumps({**payload, "payload": {**payload["payload"], "after": row}}).encode()


def changes(runs):
    """Change events of a database, with deletions, old rows and broken envelopes."""
    name = "keys_changes"
    records = []
    for number in range(runs.count):
        _, value = runs.people.record(number)
        row = json.loads(value)
        row = {field: row[field] for field in ("name", "mail", "note")}
        event = {"before": None, "after": row, "source": {"lsn": number, "table": "t"}, "op": "c", "ts_ms": number}
        if number % 5 == 4:
            event |= {"before": row, "after": None, "op": "d"}
        payload = {"schema": VALUE_SCHEMA, "payload": event}
        text = json.dumps(payload).encode()
        if number % 4 == 3:
            text = (text[:-9], text.replace(b'"after"', b'"behind"'), text.replace(b'"string"', b'"int32"'),
                    json.dumps({**payload, "payload": row}).encode(), json.dumps(row).encode(), None,
                    _with_after(payload, {**row, row["mail"]: row["name"]}))[number // 4 % 7]  # fmt: skip
        envelope = json.dumps({"schema": KEY_SCHEMA, "payload": {"mail": row["mail"]}}).encode()
        records.append(NewRecord(envelope, text, (), 1700000000000 + number))
    runs.records += len(records)
    append_records(FileTopics(runs.folder / "topics"), name, records)
    hidden = {
        "unwrap": ("io.debezium.transforms.ExtractNewRecordState", {"delete.tombstone.handling.mode": "rewrite"}),
        "mail": ("Pseudonymize$Value", {"fields": "mail", "key.ring": RING}),
        "key": ("Pseudonymize$Key", {"fields": "mail", "key.ring": RING}),
        "name": ("MaskField$Value", {"fields": "name"}),
        "note": ("Redact$Value", {"fields": "note"}),
    }
    sink = DeltaSink(runs.folder / name, "columns", mode="upsert")
    runs.run(name, build_smt_asset(runs.table(name, hidden, sink, value=Format("envelope"), key=Format("envelope"))))


def on_kafka(runs):
    """Topic to topic, and topic to table, on a real broker."""
    fetch_jars()
    runs.allowed.append(runs.folder / "broker")
    with KafkaBroker(runs.folder / "broker", {"log.retention.ms": "-1"}) as broker:
        _on(runs, KafkaTopics(broker.servers, create=NewTopics()))


def _on(runs, spec):
    folder, topics = runs.folder, Topics(spec)
    route = {"route": ("RegexRouter", {"regex": "(.*)", "replacement": "clean.$1"})}
    for name, chain, sink, value in (
        ("kafka_topic", {**KEY, **route}, KafkaSink(spec, "group-kafka_topic"), None),
        ("kafka_table", KEY, DeltaSink(folder / "kafka_table"), None),
        ("kafka_columns", {}, DeltaSink(folder / "kafka_columns", "columns"), DECLARED),
        ("kafka_many", route, DeltaSink(f"{folder}/kafka_many/{{topic}}", "columns"), DECLARED),
    ):
        records = runs.new_records()
        topics.add((name, number % 2, record) for number, record in enumerate(records))
        table = runs.table(name, chain, sink, value=value, policy=policy(runs, name), source=spec,
                           dead_letters=None, dead_letter_topic=f"{name}.dead")  # fmt: skip
        runs.run(name, build_smt_asset(table))
        runs.allowed += [folder / "kafka" / name, folder / "kafka" / f"{name}.dead"]
    dump(spec, folder / "kafka")


WIDE = {"by_tag": by_tag, "by_topic": by_topic, "of_jars": of_jars, "with_keys": with_keys, "on_kafka": on_kafka}
