"""Import looks at the last records: columns beside ``defs.yaml``, and formats that a connector leaves to its worker."""

import json
import time

import pytest
import yaml
from dagster.components.testing import create_defs_folder_sandbox

from dagster_smt.cli import main
from dagster_smt.connect import Connector, written_component
from dagster_smt.tables.kafka.spec import KafkaTopics
from dagster_smt.tables.proposal.look import Look
from dagster_smt.tables.sources.file_writer import NewRecord, append_records
from dagster_smt.tables.topic_table import FileTopics
from tests.connect.shapes import JSON, KAFKA, STRING_KEY

HIDE = {
    "transforms": "hide",
    "transforms.hide.type": f"{KAFKA}transforms.MaskField$Value",
    "transforms.hide.fields": "born",
}
SINK = {"connector.class": "FileStreamSink", "topics": "orders", **STRING_KEY, **JSON, **HIDE}
ORDERS = [{"id": n, "born": "1997-09-17", "paid": "2026-01-31T12:00:00Z", "amount": "12.50"} for n in range(3)]


@pytest.fixture
def topics(tmp_path):
    result = FileTopics(tmp_path / "topics")
    append_records(result, "orders", [NewRecord(b"k", json.dumps(order).encode()) for order in ORDERS])
    return result


def looked(config, topics, records=100):
    return written_component(Connector("orders", config), {"files": str(topics.root)}, look=Look(topics, records))


def test_columns_of_json_are_beside_the_component_and_in_use(topics, tmp_path):
    result = looked({**SINK, "consumer.override.auto.offset.reset": "latest"}, topics)
    assert result.attributes["sink"]["delta"]["kind"] == "columns"
    assert result.attributes["table"] == {
        "source": {"files": str(topics.root)},
        "statement": "orders.sql",
        "start": "latest",
        "key": {"kind": "string"},
    }
    assert result.schema.lines[0].startswith(
        "orders.sql: 4 columns from the last 3 records of orders; the table has them"
    )
    with create_defs_folder_sandbox() as sandbox:
        result.save(sandbox.defs_folder_path)
        with sandbox.load_component_and_build_defs(defs_path="orders") as (component, _):
            labels = {name: schema.label for name, schema in component.table.value.schema.fields}
    assert labels == {"id": "int64?", "born": "string?", "paid": "Timestamp?", "amount": "Decimal(2)?"}
    assert (component.table.topics, component.table.start) == (("orders",), "latest")


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"transforms.hide.fields": "emial"}, "orders.sql: 4 columns from the last 3 records of orders; not in use"),
        ({"topics": "none"}, "no columns are proposed: SMT501 none"),
        ({"topics": "empty"}, "no columns are proposed: there is no record with a value"),
        ({"topics": "bytes"}, "no columns are proposed: values are bytes"),
    ],
)
def test_columns_that_are_not_in_use_are_told(change, line, topics):
    append_records(topics, "empty", [NewRecord(b"k", None)])
    append_records(topics, "bytes", [NewRecord(b"k", b"\xff")])
    result = looked({**SINK, **change}, topics)
    assert result.attributes["sink"]["delta"]["kind"] == "records"
    assert "statement" not in result.attributes["table"]
    assert result.schema.lines[0].startswith(line)


@pytest.mark.parametrize(
    ("value", "kind", "columns"),
    [
        (b'{"a":1}', "json", True),
        (b'{"schema":{"type":"int32"},"payload":1}', "envelope", True),
        (b"\0\0\0\0\x05abc", "avro-confluent", True),
        (b"a text", "string", False),
        (b"\xff\xfe", "bytes", False),
    ],
)
def test_converters_that_nobody_names_are_looked_up(value, kind, columns, topics):
    append_records(topics, "odd", [NewRecord((5).to_bytes(8, "big"), value)])
    result = looked({"connector.class": "FileStreamSink", "topics": "odd"}, topics)
    table = result.attributes["table"]
    assert table["key"] == {"kind": "long"}
    assert table.get("value", {"kind": "json"})["kind"] == kind
    assert (result.attributes["sink"]["delta"]["kind"] == "columns") is columns
    said = {n.part: (n.type, n.text) for n in result.notes}
    assert said["value.converter"][0] == kind
    assert "uses its worker's converter; the last records are" in said["value.converter"][1]


def test_a_converter_that_is_named_is_not_looked_up(topics):
    result = looked({**SINK, "value.converter": f"{KAFKA}converters.ByteArrayConverter"}, topics)
    assert result.attributes["table"]["value"] == {"kind": "bytes"} and result.schema is None


def test_several_topics_and_patterns(topics):
    append_records(topics, "returns", [NewRecord(None, b'{"why":"broken"}')])
    several = {"topics": "orders,returns"}
    pattern = {"topics": "", "topics.regex": "orders|ret.*"}
    for change, place in ((several, "'topic' = 'orders;returns'"), (pattern, "'topic-pattern' = 'orders|ret.*'")):
        result = looked({**SINK, **change}, topics)
        assert place in result.schema.statement and "why STRING" in result.schema.statement


def test_a_broker_that_does_not_answer_is_asked_once_and_not_for_long():
    look = Look(KafkaTopics("127.0.0.1:1"))
    begin = time.monotonic()
    for _ in range(3):
        result = written_component(Connector("o", SINK), {"kafka": {"bootstrap_servers": "127.0.0.1:1"}}, look=look)
        assert "SMT625 127.0.0.1:1: no broker responds" in result.schema.lines[0]
    assert time.monotonic() - begin < 15


def test_the_command(topics, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("KAFKA_SERVERS", raising=False)
    (tmp_path / "c.json").write_text(json.dumps({"name": "orders", "config": SINK}))
    assert main(["import", "c.json", "--files", "topics", "--to", "defs"]) == 0
    assert "  schema: orders.sql: 4 columns" in capsys.readouterr().out
    files = {p.name for p in (tmp_path / "defs/orders").iterdir()}
    assert files == {"defs.yaml", "chain.properties", "orders.sql", "import.md", "import.json"}
    assert main(["import", "c.json"]) == 0
    assert "refers to KAFKA_SERVERS, which is not in the environment" in capsys.readouterr().out
    assert main(["import", "c.json", "--sample", "0"]) == 0
    assert "schema:" not in capsys.readouterr().out
    assert main(["import", "c.json", "--files", "topics", "--json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert any(line.get("schema", "").startswith("orders.sql: 4 columns") for line in lines)


def test_no_value_of_a_record_is_written(topics):
    result = looked(SINK, topics)
    text = yaml.safe_dump(result.attributes) + result.schema.statement + str(result.schema.lines) + str(result.notes)
    assert not any(secret in text for secret in ("1997", "12.50", "12:00"))
