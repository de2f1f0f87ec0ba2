"""Avro and Protobuf with a registry through foreign stages: schemas, values and written bytes are those of our stages.

The Python evaluator reads and writes both formats; between, records go to the host and back, with their schemas.
"""

import pytest
from google.protobuf import message_factory
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from dagster_smt.chain import parse_chain
from dagster_smt.errors import ConfigError, DataError
from dagster_smt.formats.protobuf.files import message_of, pool_of
from dagster_smt.formats.protobuf.text import proto_files
from dagster_smt.formats.sides import side_codec
from dagster_smt.interpret.interpreter import Interpreter
from dagster_smt.model.record import Record
from dagster_smt.model.topics.format import Format
from dagster_smt.tables.sink_options import DeltaSink
from dagster_smt.tables.sinks import open_table
from dagster_smt.tables.sources.file_writer import NewRecord, append_records
from dagster_smt.tables.topic_table import FileTopics, TopicTable
from tests.foreign.jar import KAFKA, chain_of, ran
from tests.foreign.test_lossless import exact
from tests.foreign.test_random import engine_of_connect, mixed
from tests.interpret.test_protobuf_text import CASES
from tests.random_records import as_text, payload, structs, typed
from tests.registry import Registry


@pytest.fixture(scope="module")
def registry():
    with Registry() as running:
        yield running


def avro(registry):
    return Format("avro-confluent", options={"url": registry.url})


def protobuf(registry):
    return Format("protobuf-confluent", options={"url": registry.url})


def chain_over(*stages):
    """Returns a chain of Kafka's transforms as this package runs them."""
    listed = []
    for number, (name, options) in enumerate(stages):
        listed.append({"alias": f"s{number}", "type": KAFKA + name, "options": options})
    return parse_chain({"stages": listed})


RENAME = ("SetSchemaMetadata$Value", {"schema.name": "shop.New", "schema.version": "7"})
ORIGIN = ("InsertField$Value", {"static.field": "origin", "static.value": "x", "timestamp.field": "at"})
TOPIC = ("InsertHeader", {"header": "h", "value.literal": "7"})
CHAIN = chain_over(RENAME, ORIGIN, TOPIC, ("ReplaceField$Value", {"renames": "origin:source"}))
OF_KAFKA = engine_of_connect(CHAIN)


PASSED = 4
"""So many parts of a record are compared, and two of one that failed."""


def outcome(results):
    """Returns what is compared of one record; two engines word their failures differently."""
    ((lost, key, value, record),) = results
    if lost is not None:
        return lost.status, lost.stage
    return key, value, record.topic, [(header.key, header.value) for header in record.headers]


def check_engines(value, key, form, which=(True, False)):
    """Compares one record in both engines, and in a chain of both."""
    ours = outcome(ran(CHAIN, [value], key, form))
    for chain in (OF_KAFKA, mixed(CHAIN, OF_KAFKA, list(which))):
        assert outcome(ran(chain, [value], key, form)) == ours
    return ours


def with_names_of_avro(schema):
    """Returns a schema whose fields have names that Avro takes."""
    fields = tuple(
        (name.translate({0x2E: "_", 0x3000: "x"}), with_names_of_avro(child)) for name, child in schema.fields
    )
    inner = {}
    for part in ("keys", "values"):
        child = getattr(schema, part)
        inner[part] = None if child is None else with_names_of_avro(child)
    return schema.with_(fields=fields, **inner)


@settings(max_examples=60, suppress_health_check=[HealthCheck.filter_too_much])
@given(st.data())
def test_avro_of_random_schemas(registry, data):
    """Bytes and ids are equal, so the registry has the same schema: versions, docs, parameters and defaults."""
    schema, form = with_names_of_avro(data.draw(structs(typed))), avro(registry)
    try:
        _, value = side_codec(Format("json_schema", schema)).read(as_text(payload(data.draw, schema)))
        written = side_codec(form).write(schema, value, "orders")
        side_codec(form).read(written, "orders")
    except (ConfigError, DataError):
        assume(False)
    assert written is not None
    check_engines(written, "string", form, data.draw(st.lists(st.booleans(), min_size=2, max_size=4)))


def message_bytes(registry, case):
    """Registers the message of a case, and returns a record of it."""
    text, _, value = CASES[case]
    (raw,) = proto_files(text)
    package = next((word.strip(" ;") for word in text.split("package ")[1:]), "").split(";")[0]
    name = f"{package}.Order".lstrip(".")
    pool, parsed = pool_of([raw], "here")
    message = message_factory.GetMessageClass(message_of(pool, parsed, name, "here"))
    number = registry.add("orders-value", text, kind="PROTOBUF")
    messages = [one.name for one in parsed.message_type]
    index = messages.index("Order")
    path = b"\0" if index == 0 else bytes([2, 2 * index])  # a list of one, as zigzag numbers
    return b"\0" + number.to_bytes(4, "big") + path + message(**value).SerializeToString()


@pytest.mark.parametrize("case", CASES)
def test_protobuf_of_each_kind(registry, case):
    form = protobuf(registry)
    assert len(check_engines(message_bytes(registry, case), "string", form)) == PASSED


def there_and_back(jar, form, data):
    """Returns a record as read, and the same after a class has swapped key and value twice."""
    schema, value = side_codec(form).read(data, "orders")
    record = Record("orders", 0, 0, 5, "CreateTime", value_schema=schema, value=value)
    interpreter = Interpreter(
        chain_of(jar, "Swaps", (f"{KAFKA}InsertHeader", {"header": "h", "value.literal": "7"}), "Swaps")
    )
    assert interpreter.run(record).status == 0
    interpreter.close()
    return (schema, value), (record.value_schema, record.value)


def test_schemas_and_values_come_back(jar):
    """Names, versions of the registry, parameters of enums and unions, documentation: all of it."""
    with Registry() as registry:
        check_what_comes_back(registry, jar)


def check_what_comes_back(registry, jar):
    text = (
        '{"type":"record","name":"Order","namespace":"shop","doc":"d","fields":[{"name":"e","type":{"type":"enum",'
        '"name":"E","symbols":["A","B"]}},{"name":"u","type":["null","string","int"]},{"name":"f","doc":"of f","type":'
        '["null",{"type":"fixed","name":"F","size":2}],"default":null},{"name":"n","type":"int","default":5}]}'
    )
    registry.add("orders-value", '"string"')
    number = registry.add("orders-value", text)
    data = b"\0" + number.to_bytes(4, "big") + b"\x02" + b"\x02\x02a" + b"\x02\xff\x00" + b"\x0e"
    before, after = there_and_back(jar, avro(registry), data)
    assert before[0].version == 2 and dict(before[0].by_name["e"].parameters)
    assert before[0] == after[0] and exact(before[1]) == exact(after[1])
    for case in ("a oneof", "enums", "maps", "optional of proto3"):
        before, after = there_and_back(jar, protobuf(registry), message_bytes(registry, case))
        assert before[0] == after[0] and exact(before[1]) == exact(after[1])


def test_a_class_of_a_jar_changes_avro(registry, jar):
    """A class gives its own schema, which the registry gets under the subject of the topic."""
    number = registry.add("made-value", '{"type":"record","name":"Order","fields":[{"name":"id","type":"int"}]}')
    data = b"\0" + number.to_bytes(4, "big") + b"\x0e"
    chain = chain_of(jar, "Same", (f"{KAFKA}HoistField$Value", {"field": "order"}), engine="connect")
    ((lost, _, value, _),) = ran(chain, [data], "string", avro(registry), topic="made")
    assert lost is None
    schema, hoisted = side_codec(avro(registry)).read(value, "made")
    assert hoisted == {"order": {"id": 7}} and [name for name, _ in schema.fields] == ["order"]
    assert schema.by_name["order"].name == "Order"


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.parametrize("kind", ["avro", "protobuf"])
def test_a_run_with_a_registry(spark, tmp_path, jar, registry, kind):
    """Records into columns: a class of a jar, a stage of Kafka's class, and one of ours."""
    from dagster_smt.run.batch import run
    from dagster_smt.run.run_spec import RunSpec

    if kind == "avro":
        number = registry.add("orders-value", '{"type":"record","name":"Order","fields":[{"name":"id","type":"int"}]}')
        value, form = b"\0" + number.to_bytes(4, "big") + b"\x0e", avro(registry)
    else:
        value, form = message_bytes(registry, "scalars"), protobuf(registry)
    topics = FileTopics(tmp_path / "topics")
    append_records(topics, "orders", [NewRecord(b"k", value), NewRecord(b"k", b"\0\0\0\0\1")])
    chain = chain_of(jar, "Same", ("InsertField$Value", {"static.field": "x", "static.value": "1"}))
    table = TopicTable(topics, ("orders",), value=form)
    spec = RunSpec("orders", chain, table, DeltaSink(tmp_path / "lake", "columns"), errors_tolerance="all",
                   dead_letter_topic="orders.dead")  # fmt: skip
    report = run(spec, spark)
    assert (report.records_out, report.failed) == (1, 1)
    (row,) = open_table(spark, DeltaSink(tmp_path / "lake")).read().collect()
    assert (row.id, row.x) == (7, "1")
