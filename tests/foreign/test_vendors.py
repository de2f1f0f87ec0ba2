"""Jars that we did not write, from Maven Central: they run, and their results are what their documentation says."""

import json

import pytest

from dagster_smt.chain import parse_chain
from dagster_smt.foreign.check import check_options
from tests.foreign.jar import VENDORS, missing_vendor, ran

COMMON = "com.github.jcustenborder.kafka.connect.transform.common."
ICEBERG = "org.apache.iceberg.connect.transforms."
INT64 = {"type": "int64", "optional": False}


def envelope(schema, payload):
    return json.dumps({"schema": schema, "payload": payload}).encode()


def struct(schema_name=None, is_optional=False, **fields):
    listed = [{**kind, "field": field} for field, kind in fields.items()]
    name = {"name": schema_name} if schema_name else {}
    return {"type": "struct", "fields": listed, "optional": is_optional, **name}


def results(vendor, type_, options, values, form="json", **more):
    if reason := missing_vendor(vendor):
        pytest.skip(reason)
    chain = parse_chain({"stages": [{"alias": "s", "type": type_, "options": options}]}, smt_jars=[VENDORS[vendor]])
    assert chain.has_foreign
    check_options(chain)
    return ran(chain, values, value=form, **more)


def payloads(records):
    return [None if value is None else json.loads(value).get("payload") for _, _, value, _ in records]


@pytest.mark.long
def test_icebergs_copy_value():
    values = [envelope(struct("orders", id=INT64), {"id": 7})]
    records = results(
        "iceberg", f"{ICEBERG}CopyValue", {"source.field": "id", "target.field": "copy"}, values, "envelope"
    )
    assert payloads(records) == [{"id": 7, "copy": 7}]
    assert "added" in records[0][3].changes and "copy" in records[0][3].changes


@pytest.mark.long
def test_icebergs_kafka_metadata():
    values = [envelope(struct("orders", id=INT64), {"id": 7})]
    records = results("iceberg", f"{ICEBERG}KafkaMetadataTransform", {}, values, "envelope")
    (payload,) = payloads(records)
    assert payload["id"] == 7 and payload["_kafka_metadata_topic"] == "orders"
    assert payload["_kafka_metadata_offset"] == 0


def test_icebergs_dms_transform():
    record = {"data": {"id": 1}, "metadata": {"operation": "insert", "schema-name": "db", "table-name": "t"}}
    records = results("iceberg", f"{ICEBERG}DmsTransform", {}, [json.dumps(record).encode(), b'{"data": null}'])
    assert json.loads(records[0][2])["_cdc"]["op"] == "I"
    assert records[1][0] is not None  # what is no event of DMS is dropped


@pytest.mark.long
def test_jcustenborders_change_case():
    values = [envelope(struct("orders", order_id=INT64), {"order_id": 7})]
    options = {"from": "LOWER_UNDERSCORE", "to": "LOWER_CAMEL"}
    records = results("jcustenborder", f"{COMMON}ChangeCase$Value", options, values, "envelope")
    assert payloads(records) == [{"orderId": 7}]


def test_jcustenborders_topic_case():
    options = {"from": "UPPER_UNDERSCORE", "to": "LOWER_CAMEL"}
    records = results("jcustenborder", f"{COMMON}ChangeTopicCase", options, [b'{"a":1}'], topic="TOPIC_NAME")
    assert records[0][3].topic == "topicName" and records[0][2] == b'{"a":1}'


def test_jcustenborders_pattern_rename():
    options = {"field.pattern": r"\.", "field.replacement": "_"}
    records = results("jcustenborder", f"{COMMON}PatternRename$Value", options, [b'{"a.b":1}'])
    assert json.loads(records[0][2]) == {"a_b": 1}


ROW = struct(None, True, id=INT64, name={"type": "string", "optional": True})
SOURCE = struct("io.debezium.connector.postgresql.Source", db={"type": "string", "optional": False})
EVENT = struct(
    "server.public.orders.Envelope",
    before=ROW,
    after=ROW,
    source=SOURCE,
    op={"type": "string", "optional": False},
    ts_ms={"type": "int64", "optional": True},
)


@pytest.mark.long
def test_debeziums_changed_fields():
    before, after = {"id": 1, "name": "a"}, {"id": 1, "name": "b"}
    values = [envelope(EVENT, {"before": before, "after": after, "source": {"db": "d"}, "op": "u", "ts_ms": 5})]
    options = {"header.changed.name": "Changed", "header.unchanged.name": "Unchanged"}
    records = results("debezium", "io.debezium.transforms.ExtractChangedRecordState", options, values, "envelope")
    headers = {header.key: header.value for header in records[0][3].headers}
    assert headers == {"Changed": ["name"], "Unchanged": ["id"]}
    assert records[0][2] == values[0]


@pytest.mark.long
def test_debeziums_own_unwrap_is_ours():
    """The same class, ours and of_kafka, on the same event."""
    if reason := missing_vendor("debezium"):
        pytest.skip(reason)
    values = [
        envelope(EVENT, {"before": None, "after": {"id": 1, "name": "b"}, "source": {"db": "d"}, "op": op, "ts_ms": 5})
        for op in ("c", "u", "r")
    ]
    type_ = "io.debezium.transforms.ExtractNewRecordState"
    stages = [{"alias": "s", "type": type_, "options": {"add.fields": "op,source.db"}}]
    ours = parse_chain({"stages": stages})
    of_kafka = parse_chain({"stages": stages, "engine": "connect"}, smt_jars=[VENDORS["debezium"]])
    assert not ours.has_foreign and of_kafka.has_foreign
    of_ours = [json.loads(value) for _, _, value, _ in ran(ours, values, value="envelope")]
    of_jar = [json.loads(value) for _, _, value, _ in ran(of_kafka, values, value="envelope")]
    assert of_ours == of_jar and of_ours[0]["payload"]["__op"] == "c"
