"""Avro of a schema registry on a broker: several versions of a schema in one topic become one table."""

import json
import uuid
from dataclasses import replace
from datetime import datetime, timezone

import pytest
from confluent_kafka.schema_registry import Schema as RegisteredSchema
from confluent_kafka.schema_registry import SchemaReference, SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import message_factory
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool

from dagster_smt.chain import parse_chain
from dagster_smt.cli import main
from dagster_smt.errors import EngineError, PlanError, SmtError
from dagster_smt.model.topics.format import Format
from dagster_smt.run.batch import run
from dagster_smt.tables.kafka.spec import KafkaTopics, NewTopics
from dagster_smt.tables.sink_options import FileTopicSink, KafkaSink
from dagster_smt.tables.sources import open_source
from dagster_smt.tables.sources.file_writer import NewRecord
from dagster_smt.tables.topic_table import FileTopics, TopicTable
from tests.kafka import Topics
from tests.registry import Registry
from tests.run.world import MASK, ROUTE, SECRET, World, window

ID, NAME = {"name": "id", "type": "long"}, {"name": "name", "type": "string"}
STATE = {"name": "state", "type": {"type": "enum", "name": "State", "symbols": ["NEW", "DONE"]}, "default": "NEW"}
AT = {"name": "at", "type": ["null", {"type": "long", "logicalType": "timestamp-millis"}], "default": None}
ONLY_ROUTE = {key: value for key, value in ROUTE.items() if "mask" not in key} | {"transforms": "route"}
VERSIONS = [
    ([ID, NAME], {"id": 1, "name": SECRET}),
    ([ID, NAME, STATE], {"id": 2, "name": SECRET, "state": "DONE"}),
    ([ID, NAME, STATE, AT], {"id": 3, "name": SECRET, "state": "NEW", "at": 1_700_000_000_123}),
]


@pytest.fixture
def world(spark, tmp_path):
    return World(tmp_path, spark)


@pytest.fixture
def registry():
    with Registry() as running:
        yield running


def serialized(url, topic, fields, value):
    """The bytes as ``confluent-kafka``'s own serializer makes them."""
    text = json.dumps({"type": "record", "name": "Order", "namespace": "shop", "fields": fields})
    client = SchemaRegistryClient({"url": url})
    return AvroSerializer(client, text)(value, SerializationContext(topic, MessageField.VALUE))


def spec_of(world, url, source, topic, kind="columns", **changes):
    form = Format("avro-confluent", options={"url": url})
    table = TopicTable(source, (topic,), value=form, **changes)
    return replace(world.spec(MASK, kind=kind), table=table)


def proposed(folder, capsys, servers, topic, url):
    """The statement that ``schema`` proposes for a topic whose values name their schemas, and what it makes of them."""
    statement, chain = folder / f"{topic}.sql", folder / "none.properties"
    chain.write_text("transforms=")
    assert main(["schema", servers, topic, "--schema-registry", url, "--write", str(statement)]) == 0
    capsys.readouterr()
    assert main(["preview", str(chain), servers, "--topic", topic, "--table", str(statement)]) == 0
    return statement.read_text(), capsys.readouterr().out


def test_three_versions_of_a_schema_are_one_table(world, apicurio, broker, tmp_path, capsys):
    topic, cluster = f"orders-{uuid.uuid4().hex[:8]}", KafkaTopics(broker.servers, create=NewTopics())
    values = [serialized(apicurio, topic, fields, value) for fields, value in VERSIONS]
    Topics(cluster).add((topic, 0, NewRecord(b"k", value)) for value in (*values, values[0]))
    spec = spec_of(world, apicurio, cluster, topic, columns="position BIGINT METADATA FROM 'offset'")
    report = run(spec, world.session)
    rows = sorted(world.table.read().collect(), key=lambda r: r.position)
    assert [(r.id, r.name, r.state, r.position) for r in rows] == [
        (1, "", None, 0), (2, "", "DONE", 1), (3, "", "NEW", 2), (1, "", None, 3),
    ]  # fmt: skip
    assert rows[2]["at"].timestamp() == 1_700_000_000.123
    assert (report.records_out, report.lineage["name"]) == (4, ("value.name",))
    assert [(use.topic, use.side, use.records) for use in report.schemas] == [(topic, "value", n) for n in (2, 1, 1)]
    assert run(spec, world.session).status == "empty"
    statement, preview = proposed(tmp_path, capsys, broker.servers, topic, apicurio)
    assert "(\n  id BIGINT NOT NULL,\n  name STRING NOT NULL\n)" in statement, (
        "the schema of the last record, the first one"
    )
    assert "3 are in use" in statement and f"'value.avro-confluent.url' = '{apicurio}'" in statement
    outputs = [line for line in preview.splitlines() if line.startswith(" ") and line.endswith(f'"name":"{SECRET}"}}')]
    assert len(outputs) == 4, "three outputs, and the input of the last record"


NUMBERS, CURRENT = {"int64": 3, "string": 9}, {"use.deprecated.format": False}


def message(fields):
    """The class of a message ``shop.Order`` with fields of proto3, as ``protoc`` would make it."""
    file = FileDescriptorProto(name=f"order{len(fields)}.proto", package="shop", syntax="proto3")
    result = file.message_type.add(name="Order")
    for number, (name, kind) in enumerate(fields.items(), 1):
        result.field.add(name=name, number=number, type=NUMBERS[kind], label=1)
    pool = DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("shop.Order"))


def test_three_versions_of_a_message_are_one_table_and_written_as_messages_again(
    world, apicurio, broker, tmp_path, capsys
):
    topic, cluster = f"orders-{uuid.uuid4().hex[:8]}", KafkaTopics(broker.servers, create=NewTopics())
    versions = [{"id": "int64", "name": "string"}, {"state": "string"}, {"more": "int64"}]
    fields, records, client = {}, [], SchemaRegistryClient({"url": apicurio})
    for number, added in enumerate(versions):
        fields |= added
        order = message(fields)
        value = order(**{n: number + 1 if kind == "int64" else SECRET for n, kind in fields.items()})
        serializer = ProtobufSerializer(order, client, CURRENT)
        records.append((topic, 0, NewRecord(b"k", serializer(value, SerializationContext(topic, MessageField.VALUE)))))
    Topics(cluster).add(records)
    form = Format("protobuf-confluent", options={"url": apicurio})
    table = TopicTable(cluster, (topic,), value=form)
    report = run(replace(world.spec(MASK, kind="columns"), table=table), world.session)
    rows = sorted(world.table.read().collect(), key=lambda r: r.id)
    assert [tuple(r[n] for n in ("id", "name", "state", "more")) for r in rows] == [
        (1, "", None, None), (2, "", SECRET, None), (3, "", SECRET, 3),
    ]  # fmt: skip
    assert sum(use.records for use in report.schemas) == 3 and len(report.schemas) == 3
    statement, preview = proposed(tmp_path, capsys, broker.servers, topic, apicurio)
    assert (
        "(\n  id BIGINT,\n  name STRING,\n  state STRING,\n  more BIGINT\n)" in statement
        and "3 are in use" in statement
    )
    assert f"'value.protobuf-confluent.url' = '{apicurio}'" in statement
    assert '{"id":1,"name":"secret-4711","state":null,"more":null}' in preview
    spec = replace(world.spec(ROUTE, kind="records"), table=table, sink=KafkaSink(cluster, "copies"))
    copies = run(spec, world.session)
    assert copies.records_out == 3 and {*copies.schemas} == {*report.schemas}
    deserializer = ProtobufDeserializer(order, CURRENT, client)
    context = SerializationContext(f"clean.{topic}", MessageField.VALUE)
    results = [deserializer(r.value(), context) for r in Topics(cluster).read(f"clean.{topic}")]
    assert [(m.id, m.name, m.state, m.more) for m in results] == [
        (1, "", "", 0),
        (2, "", SECRET, 0),
        (3, "", SECRET, 3),
    ]


PLACE = (
    'syntax = "proto3"; package geo; message Place { string name = 1; enum Kind { TOWN = 0; FARM = 1; } Kind k = 2; }'
)
ORDER = """\
syntax = "proto3";
package shop;
import "geo/place.proto";
message Order { int64 id = 1; geo.Place place = 2; oneof how { string card = 3; } map<string, int32> parts = 4; }
"""
ORDER_BYTES = b"\x08\x05\x12\x05\x0a\x01x\x10\x01\x1a\x01c\x22\x05\x0a\x01p\x10\x07"


def test_messages_of_a_registry_that_gives_its_schemas_as_text(world, apicurio):
    client, subject = SchemaRegistryClient({"url": apicurio}), f"orders-{uuid.uuid4().hex[:8]}"
    client.register_schema(f"{subject}-place", RegisteredSchema(PLACE, "PROTOBUF"))
    to_place = SchemaReference("geo/place.proto", f"{subject}-place", 1)
    number = client.register_schema(subject, RegisteredSchema(ORDER, "PROTOBUF", [to_place]))
    world.add(NewRecord(b"k", b"\0" + number.to_bytes(4, "big") + b"\0" + ORDER_BYTES))
    form = Format("protobuf-confluent", options={"url": apicurio, "subject": subject})
    table = TopicTable(world.topics, ("orders",), value=form)
    report = run(replace(world.spec({"transforms": ""}, kind="columns"), table=table), world.session)
    (row,) = world.table.read().select("id", "place", "how_0", "parts").collect()
    assert report.records_out == 1 and row.asDict(recursive=True) == {
        "id": 5, "place": {"name": "x", "k": "FARM"}, "how_0": {"card": "c"}, "parts": {"p": 7},
    }  # fmt: skip


def test_a_text_that_is_no_protobuf_is_found_before_anything_is_written(world, registry):
    number = registry.add("orders-value", "message {", kind="PROTOBUF")
    world.add(NewRecord(b"k", b"\0" + number.to_bytes(4, "big") + b"\0\x0a" + SECRET.encode()))
    table = TopicTable(world.topics, ("orders",), value=Format("protobuf-confluent", options={"url": registry.url}))
    sink = FileTopicSink(world.folder / "out")
    spec = replace(world.spec({"transforms": ""}, kind="records"), table=table, sink=sink)
    with pytest.raises(SmtError, match=r"SMT273.*Expected message name") as caught:
        run(spec, world.session)
    assert SECRET not in str(caught.value) and world.state is None


def test_columns_are_fitted_to_the_schema_of_each_record(world, registry):
    other = serialized(registry.url, "orders", [{"name": "id", "type": "string"}, NAME], {"id": "x", "name": SECRET})
    values = [*(serialized(registry.url, "orders", fields, value) for fields, value in VERSIONS), other]
    world.add(*(NewRecord(b"k", value) for value in values))
    statement = f"""CREATE TABLE orders (
        name STRING, state STRING, more INT, position BIGINT METADATA FROM 'offset', id BIGINT NOT NULL
    ) WITH ('connector' = 'kafka', 'topic' = 'orders', 'value.format' = 'avro-confluent',
            'value.avro-confluent.url' = '{registry.url}')"""
    table = TopicTable.create(statement, world.topics)
    spec = replace(world.spec(MASK, kind="columns"), table=table, errors_tolerance="all", dead_letter_topic="dead")
    report = run(spec, world.session)
    rows = sorted(world.table.read().collect(), key=lambda r: r.id)
    assert [tuple(r[n] for n in ("name", "state", "more", "position", "id")) for r in rows] == [
        ("", None, None, 0, 1), ("", "DONE", None, 1, 2), ("", "NEW", None, 2, 3),
    ]  # fmt: skip
    assert [(r.offset, r.problem.code, r.stage) for r in report.rejects] == [(3, "SMT443", "columns")]


def test_an_unknown_id_is_a_dead_letter_and_a_silent_registry_ends_the_run(world, registry):
    good = serialized(registry.url, "orders", *VERSIONS[0])
    world.add(*(NewRecord(b"k", value) for value in (good, b"\0\0\0\0\x63x", b"no Avro", good)))
    spec = spec_of(world, registry.url, world.topics, "orders")
    report = run(replace(spec, errors_tolerance="all", dead_letter_topic="dead"), world.session)
    assert (report.records_in, report.records_out, report.failed) == (4, 2, 2)
    assert [(r.offset, r.problem.code, r.stage) for r in report.rejects] == [
        (1, "SMT441", "value.converter"), (2, "SMT441", "value.converter"),
    ]  # fmt: skip
    world.add(NewRecord(b"k", serialized(registry.url, "orders", *VERSIONS[1])))
    registry.status = 503
    silent = spec_of(world, registry.url, world.topics, "orders")
    changed = replace(silent.table.value, options={"url": f"{registry.url}/"})  # a client that knows nothing yet
    with pytest.raises(EngineError, match=r"SMT636.*503"):
        run(replace(silent, table=replace(silent.table, value=changed)), world.session)
    assert world.state.number == 1


def test_a_new_table_without_a_readable_schema_names_the_reason(world, registry):
    world.add(NewRecord(b"k", b"\0\0\0\0\x63x"))
    spec = spec_of(world, registry.url, world.topics, "orders")
    with pytest.raises(PlanError, match=r"SMT212 orders: .* SMT441 the schema with id 99 cannot be used"):
        run(replace(spec, errors_tolerance="all", dead_letter_topic="dead"), world.session)


def read_back(url, data):
    """As ``confluent-kafka``'s own deserializer reads it."""
    client = SchemaRegistryClient({"url": url})
    return AvroDeserializer(client)(data, SerializationContext("out", MessageField.VALUE))


def test_avro_is_written_as_avro_to_a_broker(world, apicurio, broker):
    topic, cluster = f"orders-{uuid.uuid4().hex[:8]}", KafkaTopics(broker.servers, create=NewTopics())
    values = [serialized(apicurio, topic, fields, value) for fields, value in VERSIONS]
    Topics(cluster).add((topic, 0, NewRecord(b"k", value)) for value in values)
    Topics(cluster).add([(topic, 0, NewRecord(b"k", data)) for data in (values[0], b"\0\xff\0\0\0", b"no Avro", None)])
    spec = replace(spec_of(world, apicurio, cluster, topic), sink=KafkaSink(cluster, "copies"))
    spec = replace(spec, chain=parse_chain(ROUTE), errors_tolerance="all", dead_letter_topic=f"dead-{topic}")
    report = run(spec, world.session)
    assert (report.records_out, report.failed) == (4, 3)
    results = {**{int.from_bytes(value[1:5], "big"): 1 for value in values[1:]}, 0xFF000000: 1}
    results[int.from_bytes(values[0][1:5], "big")] = 2
    assert {int(use.schema): use.records for use in report.schemas} == results
    written = Topics(cluster).read(f"clean.{topic}")
    assert [read_back(apicurio, r.value()) for r in written][:3] == [
        {"id": 1, "name": ""}, {"id": 2, "name": "", "state": "DONE"},
        {"id": 3, "name": "", "state": "NEW", "at": datetime.fromtimestamp(1_700_000_000.123, timezone.utc)},
    ]  # fmt: skip
    assert SchemaRegistryClient({"url": apicurio}).get_versions(f"clean.{topic}-value") == [1, 2, 3]


def test_json_becomes_avro_with_a_key(world, registry):
    world.add(NewRecord(b"eu", b'{"id":1,"name":"x"}'), NewRecord(None, b'{"id":2,"name":"y"}'))
    avro = Format("avro-confluent", options={"url": registry.url})
    sink = FileTopicSink(world.folder / "out", key=avro, value=avro)
    table = TopicTable(world.topics, ("orders",), columns="id BIGINT NOT NULL, name STRING")
    run(replace(world.spec(MASK, kind="records"), sink=sink, table=table), world.session)
    source = open_source(FileTopics(world.folder / "out"), world.session)
    rows = sorted(source.read(window(0, 2)).collect(), key=lambda r: r.offset)
    results = [tuple(data and read_back(registry.url, bytes(data)) for data in (r.key, r.value)) for r in rows]
    assert results == [("eu", {"id": 1, "name": ""}), (None, {"id": 2, "name": ""})]
    assert sorted(registry.subjects) == ["orders-key", "orders-value"]


@pytest.mark.parametrize("kind", ["avro-confluent", "protobuf-confluent"])
def test_records_that_a_router_sends_elsewhere_are_registered_there_and_can_be_read_there(world, registry, kind):
    if kind == "avro-confluent":
        data = serialized(registry.url, "orders", *VERSIONS[0])
    else:
        number = registry.add("orders-value", 'syntax = "proto3"; message Order { int64 id = 1; }', kind="PROTOBUF")
        data = b"\0" + number.to_bytes(4, "big") + b"\0\x08\1"
    world.add(*(NewRecord(b"k", value) for value in (data, None)))
    form = Format(kind, options={"url": registry.url})
    spec = replace(world.spec(ONLY_ROUTE, kind="records"), table=TopicTable(world.topics, ("orders",), value=form))
    run(replace(spec, sink=FileTopicSink(world.folder / "out")), world.session)
    there = FileTopics(world.folder / "out")
    assert registry.subjects["clean.orders-value"] and len(registry.subjects) == 2
    back = replace(world.spec({"transforms": ""}, kind="records"), name="back")
    back = replace(back, table=TopicTable(there, ("clean.orders",), value=form))
    run(replace(back, sink=FileTopicSink(world.folder / "json", value=Format("json"))), world.session)
    rows = open_source(FileTopics(world.folder / "json"), world.session).read(window(0, 2, "clean.orders")).collect()
    first, second = (row.value for row in sorted(rows, key=lambda r: r.offset))
    assert json.loads(first)["id"] == 1 and second is None


def test_values_without_a_schema_are_written_as_connect_writes_them_and_read_again(world, registry):
    texts = [b'{"id":1,"tags":["a",null,1.5]}', b"7", None, b'"x"']
    world.add(*(NewRecord(b'{"k":1}', text) for text in texts))
    avro = Format("avro-confluent", options={"url": registry.url})
    sink = FileTopicSink(world.folder / "out", key=avro, value=avro)
    table = TopicTable(world.topics, ("orders",), key=Format("json"))
    run(replace(world.spec(ONLY_ROUTE, kind="records"), sink=sink, table=table), world.session)
    there = FileTopics(world.folder / "out")
    (topic,) = {
        record.topic for record in open_source(there, world.session).read(window(0, 4, "clean.orders")).collect()
    }
    assert sorted(registry.subjects) == [f"{topic}-key", f"{topic}-value"] and len(registry.schemas) == 1
    back = replace(world.spec({"transforms": ""}, kind="records"), name="back")
    back = replace(back, table=TopicTable(there, (topic,), key=avro, value=avro))
    json_sink = FileTopicSink(world.folder / "json", key=Format("json"), value=Format("json"))
    run(replace(back, sink=json_sink), world.session)
    rows = open_source(FileTopics(world.folder / "json"), world.session).read(window(0, 4, topic)).collect()
    results = [(json.loads(r.key), r.value and json.loads(r.value)) for r in sorted(rows, key=lambda r: r.offset)]
    assert results == [({"k": 1}, text and json.loads(text)) for text in texts]


def test_a_registry_that_refuses_makes_dead_letters_and_one_that_is_silent_ends_the_run(world, registry):
    world.add(NewRecord(b"k", b'{"id":1,"name":"x"}'))
    avro = Format("avro-confluent", options={"url": registry.url, "auto.register.schemas": "false"})
    table = TopicTable(world.topics, ("orders",), columns="id BIGINT, name STRING")
    spec = replace(world.spec(MASK, kind="records"), sink=FileTopicSink(world.folder / "out", value=avro), table=table)
    report = run(replace(spec, errors_tolerance="all", dead_letter_topic="dead"), world.session)
    assert [(r.problem.code, r.stage) for r in report.rejects] == [("SMT442", "value.converter")]
    registry.status = 503
    world.add(NewRecord(b"k", b'{"id":1,"name":"x"}'))
    with pytest.raises(EngineError, match=r"SMT636.*does not return"):
        run(replace(spec, errors_tolerance="all"), world.session)


def test_names_that_avro_does_not_take_are_found_when_planning(world, registry):
    avro = Format("avro-confluent", options={"url": registry.url})
    table = TopicTable(world.topics, ("orders",), columns={"my id": "BIGINT", "a": "STRUCT<`b-c`: INT>"})
    spec = replace(
        world.spec({"transforms": ""}, kind="records"),
        sink=FileTopicSink(world.folder / "out", value=avro),
        table=table,
    )
    world.add(NewRecord(b"k", b"{}"))
    with pytest.raises(PlanError) as error:
        run(spec, world.session)
    assert [p.place for p in error.value.problems] == ["avro name 'my id'", "avro name 'b-c'"]


@pytest.mark.long
def test_encrypted_fields_become_columns(world, registry, tmp_path):
    """A field is masked in the same run, and neither the secret nor an opened field is in the log."""
    from tests.interpret import test_encrypted_fields as csfle

    client, text = csfle.registered(registry)
    world.add(*(NewRecord(b"k", csfle.encrypted(client, text, csfle.ADA | {"id": number})) for number in range(20)))
    (tmp_path / "kms.properties").write_text(f"secret={csfle.SECRET}\n")
    options = {"url": registry.url, "subject": "people-value", "rules": "open", "kms.keys": "local-kms://"}
    form = Format("avro-confluent", options={**options, "kms.secret": f"${{file:{tmp_path}/kms.properties:secret}}"})
    mask = {**MASK, "transforms.mask.fields": "phone"}
    spec = world.spec(mask, kind="columns")
    report = run(replace(spec, table=replace(spec.table, value=form)), world.session, world.lines.append)
    assert (report.records_out, report.way) == (20, "rows in Python")
    rows = world.rows()
    assert {row.mail for row in rows} == {"ada@example.org"} and {row.phone for row in rows} == {""}
    assert rows[0].home.street == "Storgata 1"
    log = "\n".join(world.lines) + json.dumps([str(report)])
    assert not [word for word in (csfle.SECRET, "ada@example.org", "Storgata") if word in log]


@pytest.mark.long
def test_encrypted_fields_are_encrypted_again_for_another_subject(world, registry, tmp_path):
    """The chain sends records elsewhere. Consumers there open them, and nothing is in clear text in the topic."""
    from tests.interpret import test_encrypted_fields as csfle

    client, text = csfle.registered(registry)
    csfle.registered(registry, subject="clean.orders-value")
    world.add(*(NewRecord(b"k", csfle.encrypted(client, text, csfle.ADA | {"id": number})) for number in range(20)))
    (tmp_path / "kms.properties").write_text(f"secret={csfle.SECRET}\n")
    options = {"url": registry.url, "rules": "open", "kms.keys": "local-kms://"}
    options["kms.secret"] = f"${{file:{tmp_path}/kms.properties:secret}}"
    form = Format("avro-confluent", options={**options, "subject": "people-value"})
    sink = FileTopicSink(tmp_path / "out", value=Format("avro-confluent", options=options))
    spec = world.spec(ONLY_ROUTE, kind="records")
    report = run(replace(spec, table=replace(spec.table, value=form), sink=sink), world.session, world.lines.append)
    assert report.records_out == 20
    source = open_source(FileTopics(tmp_path / "out"), world.session)
    rows = source.read(window(0, 20, "clean.orders")).collect()
    judge = AvroDeserializer(
        SchemaRegistryClient({"url": registry.url}),
        rule_conf={"secret": csfle.SECRET},
        rule_registry=csfle.executors(),
    )
    context = SerializationContext("clean.orders", MessageField.VALUE)
    for row in rows:
        assert b"ada@example.org" not in row.value and b"Storgata" not in row.value
        assert judge(bytes(row.value), context)["mail"] == "ada@example.org"
    assert len(rows) == 20
