"""Change events as Debezium's Postgres and MySQL connectors write them, and tables that follow them."""

import json
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import fastavro

from dagster_smt.chain import parse_chain
from dagster_smt.model.schema_json import schema_from_json
from dagster_smt.model.topics.format import Format
from dagster_smt.run.batch import run
from dagster_smt.run.run_spec import RunSpec
from dagster_smt.tables.sink_options import DeltaSink, IcebergSink
from dagster_smt.tables.sinks import open_table
from dagster_smt.tables.sources.file_writer import NewRecord, append_records
from dagster_smt.tables.topic_table import FileTopics, TopicTable
from tests.registry import Registry

PLACEHOLDER = "__debezium_unavailable_value"
TOPIC = "shop.public.people"
UNWRAP, MODE = "io.debezium.transforms.ExtractNewRecordState", "delete.tombstone.handling.mode"
SINKS = {"delta": DeltaSink, "iceberg": IcebergSink}
TEXT, LONG, INT = ({"type": kind, "optional": True} for kind in ("string", "int64", "int32"))
SOURCES = {
    "postgres": {"lsn": LONG, "ts_ms": LONG, "schema": TEXT, "table": TEXT, "snapshot": TEXT},
    "mysql": {"file": TEXT, "pos": LONG, "gtid": TEXT, "server_id": LONG, "ts_ms": LONG, "table": TEXT},
}
COLUMNS = {"id": {"type": "int64"}, "name": TEXT, "note": TEXT}


def connect_struct(fields: dict[str, dict], name: str, optional: bool = False) -> dict:
    items = [{"field": field_name, **kind} for field_name, kind in fields.items()]
    return {"type": "struct", "fields": items, "optional": optional, "name": name}


def value_schema(connector: str) -> dict:
    """The schema of a change event, as Kafka Connect's JSON converter writes it."""
    row = connect_struct(COLUMNS, f"{TOPIC}.Value", True)
    source = connect_struct(SOURCES[connector], f"io.debezium.connector.{connector}.Source")
    fields = {"before": row, "after": row, "source": source, "op": {"type": "string"}, "ts_ms": LONG}
    return connect_struct(fields, f"{TOPIC}.Envelope")


KEY_SCHEMA = connect_struct({"id": {"type": "int64"}}, f"{TOPIC}.Key")


@dataclass
class Database:
    """A table of a database, and the messages that a connector makes of its changes.

    ``full``: old rows are whole (MySQL, and Postgres with ``REPLICA IDENTITY FULL``); else they hold the key alone.
    """

    connector: str = "postgres"
    full: bool = False
    rows: dict[int, dict] = field(default_factory=dict)
    messages: list[tuple[int, dict | None]] = field(default_factory=list)
    position: int = 0

    def insert(self, key: int, name: str, note: str | None = None, op: str = "c") -> None:
        self.rows[key] = {"id": key, "name": name, "note": note}
        self._send(key, op, None, self.rows[key])

    def snapshot(self, key: int, name: str, note: str | None = None) -> None:
        self.insert(key, name, note, op="r")

    def update(self, key: int, **changes: Any) -> None:
        old = self.rows[key]
        self.rows[key] = {**old, **changes}
        after = self.rows[key]
        if self.connector == "postgres" and "note" not in changes:
            after = {**after, "note": PLACEHOLDER}  # as if it were large: Postgres logs only what changed
        self._send(key, "u", old if self.full else None, after)

    def delete(self, key: int) -> None:
        old = self.rows.pop(key)
        before = old if self.full else {**dict.fromkeys(old), "id": key}
        self._send(key, "d", before, None)
        self.messages.append((key, None))

    def change_key(self, key: int, other: int) -> None:
        """Debezium sends a deletion of the old key and an insertion of the new one."""
        row = self.rows[key]
        self.delete(key)
        self.insert(other, row["name"], row["note"])

    def _send(self, key: int, op: str, before: dict | None, after: dict | None) -> None:
        self.position += 1
        known = {"lsn": self.position, "pos": self.position, "ts_ms": self.position, "table": "people"}
        source = {name: known.get(name) for name in SOURCES[self.connector]}
        event = {"before": before, "after": after, "source": source, "op": op, "ts_ms": 1700000000000 + self.position}
        self.messages.append((key, event))


class Json:
    """JSON without schemas; the topic table declares them."""

    def __init__(self, connector: str):
        self.key = Format("json_schema", schema_from_json(KEY_SCHEMA))
        self.value = Format("json_schema", schema_from_json(value_schema(connector)))

    def record(self, key: int, event: dict | None, topic: str) -> NewRecord:
        value = None if event is None else json.dumps(event).encode()
        return NewRecord(json.dumps({"id": key}).encode(), value, (), 1700000000000)


class Envelopes(Json):
    """JSON with ``schemas.enable``: each record holds its schema."""

    def __init__(self, connector: str):
        self.key = self.value = Format("envelope")
        self.schema = value_schema(connector)

    def record(self, key: int, event: dict | None, topic: str) -> NewRecord:
        value = None if event is None else json.dumps({"schema": self.schema, "payload": event}).encode()
        return NewRecord(json.dumps({"schema": KEY_SCHEMA, "payload": {"id": key}}).encode(), value, (), 1700000000000)


class Avro:
    """Avro, whose schemas are in a registry."""

    def __init__(self, connector: str, registry: Registry):
        self.registry = registry
        self.key = self.value = Format("avro-confluent", options={"url": registry.url})
        columns = [{"name": "id", "type": "long"}]
        columns += [{"name": name, "type": ["null", "string"], "default": None} for name in ("name", "note")]
        row = {"type": "record", "name": "Value", "namespace": TOPIC, "fields": columns}
        kinds = {"string": "string", "int64": "long"}
        fields = []
        for name, kind in SOURCES[connector].items():
            fields.append({"name": name, "type": ["null", kinds[kind["type"]]], "default": None})
        source = {"type": "record", "name": "Source", "namespace": f"io.debezium.connector.{connector}"}
        self.schema: dict = {
            "type": "record",
            "name": "Envelope",
            "namespace": TOPIC,
            "fields": [
                {"name": "before", "type": ["null", row], "default": None},
                {"name": "after", "type": ["null", f"{TOPIC}.Value"], "default": None},
                {"name": "source", "type": {**source, "fields": fields}},
                {"name": "op", "type": "string"},
                {"name": "ts_ms", "type": ["null", "long"], "default": None},
            ],
            "connect.name": f"{TOPIC}.Envelope",
        }
        self.key_schema = {
            "type": "record",
            "name": "Key",
            "namespace": TOPIC,
            "fields": [{"name": "id", "type": "long"}],
        }

    def record(self, key: int, event: dict | None, topic: str) -> NewRecord:
        value = None if event is None else self._bytes(f"{topic}-value", self.schema, event)
        return NewRecord(self._bytes(f"{topic}-key", self.key_schema, {"id": key}), value, (), 1700000000000)

    def _bytes(self, subject: str, schema: dict, value: dict) -> bytes:
        import io

        number = self.registry.add(subject, json.dumps(schema))
        out = io.BytesIO()
        fastavro.schemaless_writer(out, fastavro.parse_schema(json.loads(json.dumps(schema))), value)
        return struct.pack(">bI", 0, number) + out.getvalue()


class Follower:
    """Topics of a connector, and a table with keys that follows them."""

    def __init__(self, folder: Path, session: Any, form: Any, stages: list | dict, kind: str = "delta", **sink: Any):
        self.folder, self.session, self.kind, self.form = folder, session, kind, form
        self.topics = FileTopics(folder / "topics")
        self.sink = SINKS[kind](folder / "table", "columns", **{"mode": "upsert", **sink})
        self.chain = parse_chain(stages)
        self.sent: dict[int, int] = {}

    def send(self, database: Database, topic: str = TOPIC, partition: int = 0) -> None:
        """Sends the messages of a database that were not sent before."""
        start = self.sent.get(id(database), 0)
        for key, event in database.messages[start:]:
            append_records(self.topics, topic, [self.form.record(key, event, topic)], partition)
        self.sent[id(database)] = len(database.messages)

    def run(self, table: dict | None = None, **changes: Any):
        arguments = {"pattern": "shop.*", "key": self.form.key, "value": self.form.value, **(table or {})}
        return run(
            RunSpec("people", self.chain, TopicTable(self.topics, **arguments), self.sink, **changes), self.session
        )

    def rows(self) -> list[dict]:
        return [row.asDict() for row in open_table(self.session, self.sink).read().collect()]

    def by_key(self) -> dict[int, dict]:
        """The rows by id, with the columns of the database's table."""
        rows: dict[int, dict] = {}
        for row in self.rows():
            assert row["id"] not in rows, f"two rows of key {row['id']}"
            rows[row["id"]] = {name: row[name] for name in COLUMNS}
        return rows
