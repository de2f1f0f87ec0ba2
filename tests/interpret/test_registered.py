"""Versions of schemas: the Connect schema of a record has the one that its subject has, as Confluent's converters say.

Facts marked with a class are those of Confluent's sources: ``AvroData.toConnectSchema``,
``AbstractKafkaAvroDeserializer.schemaVersion``, ``AvroConverter.toConnectData``.
"""

import base64
import json

import pytest
from google.protobuf import descriptor_pb2 as pb

from dagster_smt.chain import parse_chain
from dagster_smt.errors import DataError, EngineError
from dagster_smt.formats.avro.anything import TEXT as ANYTHING
from dagster_smt.formats.registry.versions import registered_avro
from dagster_smt.formats.registry.wire import RegistryReader
from dagster_smt.formats.sides import side_codec
from dagster_smt.interpret.interpreter import Interpreter
from dagster_smt.model.record import Record
from dagster_smt.model.topics.format import Format, Formats
from tests.interpret.test_avro import of
from tests.registry import Registry


def record(*fields, name="Order", **more):
    return {"type": "record", "name": name, "namespace": "shop", "fields": list(fields), **more}


def header(number):
    return b"\0" + number.to_bytes(4, "big")


@pytest.fixture
def registry():
    with Registry() as running:
        yield running


def options(registry, **more):
    return {"url": registry.url, **{key.replace("_", "."): value for key, value in more.items()}}


def reader(registry, side="value", kind="avro-confluent", **more):
    return RegistryReader(Format(kind, options=options(registry, **more)), side)


def registered(registry, text, version, subject="orders-value", references=(), kind="AVRO"):
    """The id of a schema that is the given version of a subject."""
    for number in range(len(registry.subjects.get(subject, ())) + 1, version):
        registry.add(subject, json.dumps(of("fixed", name=f"Before{number}", size=number)))
    return registry.add(subject, text, references, kind)


ID = {"name": "id", "type": "int"}
INNER = {"name": "i", "type": record(ID, name="Inner")}
CASES = {
    "a record": (record(ID), 1, 1),
    "a later one": (record(ID), 3, 3),
    "a text": ("string", 2, 2),
    "bytes": ("bytes", 2, 2),
    "eight bits": (of("int", **{"connect.type": "int8"}), 2, 2),
    "an enum": (of("enum", name="E", symbols=["A"]), 2, 2),
    "fixed": (of("fixed", name="F", size=200), 2, 2),
    "an array": (of("array", items="int"), 2, 2),
    "a map": (of("map", values="int"), 2, 2),
    "a map with other keys": (of("array", items=of("record", name="io.confluent.connect.avro.MapEntry", fields=[
        {"name": "key", "type": "int"}, {"name": "value", "type": "int"}])), 2, 2),
    "a union is a struct": (["null", "string", "int"], 2, 2),
    "null and a type": (["null", record(ID)], 2, None),
    "a type and null": (["string", "null"], 2, None),
    "one type alone in a union": ([record(ID)], 2, None),
    "its own version counts more": (record(ID, **{"connect.version": 7}), 2, 7),
    "its own version is 0": (record(ID, **{"connect.version": 0}), 2, 0),
    "its own version is none": (record(ID, **{"connect.version": -1}), 2, None),
    "its own version has a fraction": (record(ID, **{"connect.version": 7.9}), 2, 7),
    "null and a type with its own": (["null", record(ID, **{"connect.version": 7})], 2, 7),
    "a date": (of("int", logicalType="date"), 1, 1),
    "a decimal": (of("bytes", logicalType="decimal", precision=4, scale=1), 1, 1),
    "a date with its own version": (of("int", logicalType="date", **{"connect.version": 1}), 2, 1),
    "null and a date": (["null", of("int", logicalType="date")], 2, 1),
    "a logical type that Connect does not know": (of("long", logicalType="timestamp-micros"), 2, 2),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_the_version_of_a_schema(registry, case):
    schema, version, expected = CASES[case]
    number = registered(registry, json.dumps(schema), version)
    result = reader(registry).schema(header(number), "orders")
    assert result.version == expected
    avro = registered_avro(Format("avro-confluent", options=options(registry)), number, "value", ["orders"])
    assert avro.schema == result


def test_what_is_inside_has_no_version(registry):
    number = registered(registry, json.dumps(record(INNER, {"name": "n", "type": ["null", "int"]})), 2)
    schema = reader(registry).schema(header(number), "orders")
    assert schema.version == 2 and [(n, child.version) for n, child in schema.fields] == [("i", None), ("n", None)]


REFUSED = {
    "a date of another version": (of("int", logicalType="date"), 2, "SMT273.*Date has version 1"),
    "a decimal of another version": (of("bytes", logicalType="decimal", precision=4), 3, "SMT273.*version 3"),
    "a date with another version of its own": (of("int", logicalType="date", **{"connect.version": 2}), 1, "SMT273"),
    "a version that is a text": (record(ID, **{"connect.version": "7"}), 1, "SMT273.*is not a number"),
    "a version that is a boolean": (record(ID, **{"connect.version": True}), 1, "SMT273.*is not a number"),
    "a version that is null": (record(ID, **{"connect.version": None}), 1, "SMT273.*is not a number"),
    "one inside": (record({"name": "d", "type": of("int", logicalType="date", **{"connect.version": 4})}), 1,
                   "SMT273.*not that of the logical type"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_versions_that_connect_refuses(registry, case):
    schema, version, what = REFUSED[case]
    number = registered(registry, json.dumps(schema), version)
    with pytest.raises(DataError, match=what):
        reader(registry).read(header(number) + b"\0", "orders")


def test_references_are_part_of_what_is_looked_up(registry):
    registry.add("point", json.dumps(of("record", name="Point", fields=[{"name": "x", "type": "int"}])))
    line = json.dumps(record({"name": "a", "type": "Point"}))
    registry.add("orders-value", line.replace('"namespace": "shop", ', ""))
    text, to_point = (
        line.replace("Order", "Line").replace("shop", ""),
        {"name": "Point", "subject": "point", "version": 1},
    )
    number = registry.add("orders-value", text, [to_point])
    assert reader(registry).schema(header(number), "orders").version == 2
    alone = registry.add("point", '"Point"', [to_point])
    assert reader(registry, subject="point").schema(header(alone), "orders").version == 2


SUBJECTS = [
    ({}, "value", "orders-value"),
    ({}, "key", "orders-key"),
    ({"subject_name_strategy": "RecordNameStrategy"}, "value", "shop.Order"),
    ({"subject_name_strategy": "TopicRecordNameStrategy"}, "key", "orders-shop.Order"),
    ({"subject": "mine", "subject_name_strategy": "RecordNameStrategy"}, "value", "mine"),
]


@pytest.mark.parametrize(("source", "side", "subject"), SUBJECTS)
def test_the_subject_is_that_of_the_strategy(registry, source, side, subject):
    number = registered(registry, json.dumps(record(ID)), 2, subject)
    assert reader(registry, side, **source).schema(header(number), "orders").version == 2
    assert registry.looked_up == [subject]
    codec = side_codec(Format("avro-confluent", options=options(registry, **source)), side)
    schema, value = codec.read(header(number) + b"\2", "orders")
    assert (schema.version, value) == (2, {"id": 1})


@pytest.mark.parametrize("strategy", ["RecordNameStrategy", "TopicRecordNameStrategy"])
@pytest.mark.parametrize("schema", ["string", ["null", record(ID)], of("enum", name="E", symbols=["A"])])
def test_a_strategy_that_asks_for_the_name_of_a_record(registry, strategy, schema):
    number = registry.add("orders-value", json.dumps(schema))
    with pytest.raises(DataError, match=f"SMT442.*{strategy} needs a record with a name"):
        reader(registry, subject_name_strategy=strategy).read(header(number) + b"\0", "orders")


@pytest.mark.parametrize("text", [json.dumps(record(ID, **{"connect.version": 3})), json.dumps(record(ID)), ANYTHING])
def test_a_schema_that_the_subject_does_not_have(registry, text):
    """``CachedSchemaRegistryClient.getVersion`` fails, and with it the record: also if nobody needs the version."""
    number = registry.add("others-value", text)
    registry.add("orders-value", '"string"')
    for topic in ("orders", "nobody"):
        with pytest.raises(
            DataError, match=rf"SMT441.*id {number} cannot be used: the subject {topic}-value"
        ) as caught:
            reader(registry).read(header(number) + b"\2", topic)
        assert "subject.name.strategy" in str(caught.value)


def test_values_without_a_schema_have_no_version(registry):
    number = registered(registry, ANYTHING, 2)
    data = b"\0" * 5 + b"\2\x0a" + b"\0" * 3
    assert reader(registry).read(header(number) + data, "orders") == (None, 5)
    assert registered_avro(Format("avro-confluent", options=options(registry)), number, "value", ["orders"]) is None


def test_a_deleted_version_counts(registry):
    number = registered(registry, json.dumps(record(ID)), 2)
    registry.deleted.add(("orders-value", 2))
    assert reader(registry).schema(header(number), "orders").version == 2


def test_to_who_writes_a_deleted_version_is_gone(registry):
    number = registry.add("orders-value", '"string"')
    registry.deleted.add(("orders-value", 1))
    codec = side_codec(Format("avro-confluent", options=options(registry, auto_register_schemas="false")))
    schema, value = codec.read(header(number) + b"\2x", "orders")
    assert schema.version == 1
    with pytest.raises(DataError, match="SMT442"):
        codec.write(schema.with_(version=None), value, "orders")


@pytest.mark.parametrize(("source", "expected"), [("12", 12), ("-1", None), ("no", 1), (None, 1)])
def test_metadata_of_the_schema_counts_more_than_the_subject(registry, source, expected):
    number = registry.add("orders-value", json.dumps(record(ID)))
    properties = {"other": "x"} if source is None else {"confluent:version": source}
    registry.schemas[number]["metadata"] = {"properties": properties}
    assert reader(registry).schema(header(number), "orders").version == expected


def test_a_subject_is_asked_once(registry):
    numbers = [registered(registry, json.dumps(record(ID, name=f"R{n}")), n) for n in (1, 2)]
    registry.add("eu-value", json.dumps(record(ID, name="R1")))
    result = reader(registry)
    for _ in range(50):
        for number in numbers:
            result.read(header(number) + b"\2", "orders")
        result.read(header(numbers[0]) + b"\2", "eu")
        with pytest.raises(DataError):
            result.read(header(numbers[1]) + b"\2", "eu")
    assert sorted(registry.looked_up) == ["eu-value", "eu-value", "orders-value", "orders-value"]
    assert sorted(registry.asked) == numbers
    again = reader(registry)  # another one in the same process
    for _ in range(3):
        again.read(header(numbers[0]) + b"\2", "orders")
    assert len(registry.looked_up) == 4 and sorted(registry.asked) == numbers


def test_topics_with_the_same_version_share_their_schema_and_others_do_not(registry):
    number = registered(registry, json.dumps(record(ID)), 1)
    registered(registry, json.dumps(record(ID)), 1, "eu-value")
    registered(registry, json.dumps(record(ID)), 2, "us-value")
    result = reader(registry)
    orders, eu, us = (result.schema(header(number), topic) for topic in ("orders", "eu", "us"))
    assert orders is eu and (orders.version, us.version) == (1, 2)


def test_without_a_topic_there_is_no_version(registry):
    number = registry.add("orders-value", json.dumps(record(ID)))
    assert reader(registry).schema(header(number)).version is None and registry.looked_up == []


def test_a_registry_that_is_silent_ends_the_run(registry):
    number = registry.add("orders-value", json.dumps(record(ID)))
    result = reader(registry)
    assert result.schema(header(number)) is not None
    registry.status = 503
    with pytest.raises(EngineError, match=r"SMT636.*503"):
        result.schema(header(number), "orders")
    registry.status = 200
    assert result.schema(header(number), "orders").version == 1


def test_it_stands_in_what_is_written(registry):
    number = registered(registry, json.dumps(record(ID)), 2)
    form = Format("avro-confluent", options=options(registry))
    mask = {"alias": "m", "type": "MaskField$Value", "options": {"fields": ["id"]}}
    for written, shown in ((form, '"connect.version":2'), (Format("envelope"), '"version":2')):
        interpreter = Interpreter(parse_chain([mask]), None, form, Formats(Format("string"), written))
        outcome, _, data = interpreter.process(Record("orders"), None, header(number) + b"\2")
        text = registry.schemas[max(registry.schemas)]["schema"] if written == form else data.decode()
        assert outcome.problem is None and shown in text.replace(" ", "")


# -- Protobuf --------------------------------------------------------------------------------------------------------

INT32_VALUE = "google/protobuf/wrappers.proto"


def order_file():
    """A file with a message in a message, and one of Google's wrappers as it is registered alone."""
    file = pb.FileDescriptorProto(name="order.proto", package="shop", syntax="proto3")
    order = file.message_type.add(name="Order")
    order.field.add(name="id", number=1, type=5, label=1)
    line = order.nested_type.add(name="Line")
    line.field.add(name="n", number=1, type=5, label=1)
    order.field.add(name="line", number=2, type=11, label=1, type_name=".shop.Order.Line")
    return base64.b64encode(file.SerializeToString()).decode()


PROTOBUF = [
    (b"\0", b"\x08\1", {}, "orders-value", "Order"),
    (b"\4\0\0", b"\x08\1", {}, "orders-value", "Line"),
    (b"\0", b"", {"subject_name_strategy": "RecordNameStrategy"}, "shop.Order", "Order"),
    (b"\4\0\0", b"", {"subject_name_strategy": "RecordNameStrategy"}, "shop.Order.Line", "Line"),
    (b"\4\0\0", b"", {"subject_name_strategy": "TopicRecordNameStrategy"}, "orders-shop.Order.Line", "Line"),
]


@pytest.mark.parametrize(("indexes", "body", "source", "subject", "name"), PROTOBUF)
def test_messages_have_the_version_of_their_file(registry, indexes, body, source, subject, name):
    """``ProtobufData.toConnectSchema``: the message that is the value, and none inside."""
    number = registered(registry, order_file(), 2, subject, kind="PROTOBUF")
    schema, _ = reader(registry, kind="protobuf-confluent", **source).read(header(number) + indexes + body, "orders")
    assert (schema.name, schema.version) == (name, 2)
    assert all(child.version is None for _, child in schema.fields)
    assert registry.looked_up == [subject]


def test_a_message_that_the_subject_does_not_have(registry):
    number = registry.add("others-value", order_file(), kind="PROTOBUF")
    with pytest.raises(DataError, match=r"SMT441.*orders-value"):
        reader(registry, kind="protobuf-confluent").read(header(number) + b"\0", "orders")


def test_the_text_is_looked_up_as_it_was_registered(registry):
    text = 'syntax = "proto3"; package shop; message Order { int32 id = 1; }'
    number = registered(registry, text, 2, kind="PROTOBUF")
    file = pb.FileDescriptorProto(name="default", package="shop", syntax="proto3")
    file.message_type.add(name="Order").field.add(name="number", number=1, type=5, label=1)
    registry.serialized[number] = base64.b64encode(file.SerializeToString()).decode()
    schema, value = reader(registry, kind="protobuf-confluent").read(header(number) + b"\0\x08\5", "orders")
    assert (schema.version, value) == (2, {"number": 5})


# -- what is written -------------------------------------------------------------------------------------------------

ROUTE = {"alias": "r", "type": "RegexRouter", "options": {"regex": "orders", "replacement": "clean"}}
MOVED = [
    ({}, "orders", True),
    ({}, "others", False),
    ({"subject_name_strategy": "TopicRecordNameStrategy"}, "orders", True),
    ({"subject_name_strategy": "RecordNameStrategy"}, "orders", False),
    ({"subject": "mine"}, "orders", False),
]


@pytest.mark.parametrize(("source", "topic", "written"), MOVED)
def test_what_goes_to_another_topic_is_registered_there(registry, source, topic, written):
    text = json.dumps(record(ID))
    for subject in ("orders-value", "others-value", "orders-shop.Order", "shop.Order", "mine"):
        registry.add(subject, text)
    form = Format("avro-confluent", options=options(registry, **source))
    data = header(1) + b"\2"
    outcome, key, value = Interpreter(parse_chain([ROUTE]), None, form).process(Record(topic), b"k", data)
    assert outcome.problem is None and key == b"k"
    assert (value != data) is written and any("clean" in subject for subject in registry.subjects) is written
    assert value[5:] == data[5:]
