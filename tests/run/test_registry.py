"""Avro of a schema registry on a broker: several versions of a schema in one topic become one table."""

import json
import uuid
from dataclasses import replace

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from dagster_smt.errors import EngineError, UnsupportedError
from dagster_smt.run.batch import run
from dagster_smt.tables.sources.file_writer import NewRecord
from dagster_smt.tables.spec import Format, KafkaTopics, NewTopics, TopicTable
from tests.kafka import Topics
from tests.registry import Registry
from tests.run.world import MASK, SECRET, World

ID, NAME = {"name": "id", "type": "long"}, {"name": "name", "type": "string"}
STATE = {"name": "state", "type": {"type": "enum", "name": "State", "symbols": ["NEW", "DONE"]}, "default": "NEW"}
AT = {"name": "at", "type": ["null", {"type": "long", "logicalType": "timestamp-millis"}], "default": None}
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


def serialized(registry, topic, fields, value):
    """The bytes as ``confluent-kafka``'s own serializer makes them."""
    text = json.dumps({"type": "record", "name": "Order", "namespace": "shop", "fields": fields})
    client = SchemaRegistryClient({"url": registry.url})
    return AvroSerializer(client, text)(value, SerializationContext(topic, MessageField.VALUE))


def spec_of(world, registry, source, topic, kind="columns", **changes):
    form = Format("avro-confluent", options={"url": registry.url})
    table = TopicTable(source, (topic,), value=form, **changes)
    return replace(world.spec(MASK, kind=kind), table=table)


def test_three_versions_of_a_schema_are_one_table(world, registry, broker):
    topic, cluster = f"orders-{uuid.uuid4().hex[:8]}", KafkaTopics(broker.servers, create=NewTopics())
    values = [serialized(registry, topic, fields, value) for fields, value in VERSIONS]
    Topics(cluster).add((topic, 0, NewRecord(b"k", value)) for value in (*values, values[0]))
    spec = spec_of(world, registry, cluster, topic, columns="position BIGINT METADATA FROM 'offset'")
    report = run(spec, world.session)
    rows = sorted(world.table.read().collect(), key=lambda r: r.position)
    assert [(r.id, r.name, r.state, r.position) for r in rows] == [
        (1, "", None, 0), (2, "", "DONE", 1), (3, "", "NEW", 2), (1, "", None, 3),
    ]  # fmt: skip
    assert rows[2]["at"].timestamp() == 1_700_000_000.123
    assert (report.records_out, report.lineage["name"]) == (4, ("value.name",))
    assert run(spec, world.session).status == "empty"


def test_an_unknown_id_is_a_dead_letter_and_a_silent_registry_ends_the_run(world, registry):
    good = serialized(registry, "orders", *VERSIONS[0])
    world.add(*(NewRecord(b"k", value) for value in (good, b"\0\0\0\0\x63x", b"no Avro", good)))
    spec = spec_of(world, registry, world.topics, "orders")
    report = run(replace(spec, errors_tolerance="all", dead_letter_topic="dead"), world.session)
    assert (report.records_in, report.records_out, report.failed) == (4, 2, 2)
    assert [(r.offset, r.problem.code, r.stage) for r in report.rejects] == [
        (1, "SMT441", "value.converter"), (2, "SMT441", "value.converter"),
    ]  # fmt: skip
    world.add(NewRecord(b"k", serialized(registry, "orders", *VERSIONS[1])))
    registry.status = 503
    silent = spec_of(world, registry, world.topics, "orders")
    changed = replace(silent.table.value, options={"url": f"{registry.url}/"})  # a client that knows nothing yet
    with pytest.raises(EngineError, match=r"SMT636.*503"):
        run(replace(silent, table=replace(silent.table, value=changed)), world.session)
    assert world.state.number == 1


def test_records_are_not_written_as_avro_yet(world, registry):
    with pytest.raises(UnsupportedError, match=r"SMT905 value.format: records cannot be written as avro-confluent"):
        spec_of(world, registry, world.topics, "orders", kind="records")
