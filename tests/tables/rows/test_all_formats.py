"""One row through every format that has a schema and back, and formats with a schema beside the topic."""

import base64
import json
from dataclasses import replace
from decimal import Decimal

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from hypothesis import given
from hypothesis import strategies as st

from dagster_smt.chain import parse_chain
from dagster_smt.errors import ConfigError, DataError, PlanError, UnsupportedError
from dagster_smt.formats.avro.write import avro_out
from dagster_smt.formats.protobuf.message_schema import descriptor_of
from dagster_smt.formats.sides import side_codec
from dagster_smt.interpret.interpreter import Interpreter
from dagster_smt.model.record import VALUE_DIRTY, Record
from dagster_smt.model.topics.format import Format, Formats
from dagster_smt.tables.kafka.spec import KafkaTopics
from dagster_smt.tables.planning import plan_sink
from dagster_smt.tables.sink_options import DeltaSink, FileTopicSink, IcebergSink, KafkaSink
from dagster_smt.tables.topic_table import TopicTable
from tests.registry import Registry
from tests.tables.rows.test_reading import FILES, MASK, NOTHING, Sent, in_python, on_spark, table
from tests.tables.rows.test_writing import stages

COLUMNS = """id BIGINT, name STRING, small SMALLINT, ratio DOUBLE, ok BOOLEAN, raw BYTES, price DECIMAL(12, 2),
day DATE, at TIMESTAMP, tags ARRAY<STRING>"""
DECLARED = table(COLUMNS)
NESTED = table(f"{COLUMNS}, point STRUCT<x INT, y STRUCT<z STRING>>, counts MAP<STRING, BIGINT>")
texts = st.text(st.characters(codec="utf-8", exclude_characters="\0;"), min_size=1, max_size=5)
rows = st.fixed_dictionaries(
    {
        "id": st.integers(-(2**63), 2**63 - 1),
        "name": texts,
        "small": st.integers(-(2**15), 2**15 - 1),
        "ratio": st.floats(allow_nan=False, allow_infinity=False),
        "ok": st.booleans(),
        "raw": st.binary(max_size=4).map(lambda data: base64.b64encode(data).decode()),
        "price": st.integers(-(10**11), 10**11).map(
            lambda n: base64.b64encode(n.to_bytes(8, "big", signed=True)).decode()
        ),
        "day": st.integers(-100_000, 100_000),
        "at": st.integers(-(10**12), 10**13),
        "tags": st.lists(texts, max_size=3),
    }
)
nested = st.fixed_dictionaries(
    {
        "point": st.fixed_dictionaries({"x": st.integers(-9, 9), "y": st.fixed_dictionaries({"z": texts})}),
        "counts": st.dictionaries(texts, st.integers(-9, 9), max_size=2),
    }
)
KINDS = ("json_schema", "envelope", "csv", "avro", "avro-confluent", "protobuf", "protobuf-confluent")


@pytest.fixture(scope="module")
def registry():
    with Registry() as running:
        yield running


def form_of(kind, schema, registry):
    options = {"url": registry.url} if kind.endswith("-confluent") else {}
    return Format(kind, schema if kind in ("json_schema", "csv", "avro", "protobuf") else None, options=options)


def through(kind, schema, row, registry):
    """A row as JSON, written in a format, read again, as JSON."""
    first, form = side_codec(Format("json_schema", schema)), side_codec(form_of(kind, schema, registry))
    _, value = first.read(json.dumps(row).encode())
    read_schema, result = form.read(form.write(schema, value, "orders"))
    text = side_codec(Format("json_schema", read_schema)).write(read_schema, result)
    return json.loads(text), json.loads(first.write(schema, value))


@pytest.mark.parametrize("kind", KINDS)
@given(row=rows)
def test_a_row_through_every_format_and_back(registry, kind, row):
    result, expected = through(kind, DECLARED.value.schema, row, registry)
    assert result == expected


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "csv"])
@given(row=rows, more=nested)
def test_structs_and_maps_through_every_format_and_back(registry, kind, row, more):
    result, expected = through(kind, NESTED.value.schema, {**row, **more}, registry)
    assert result == expected


@pytest.mark.parametrize("kind", ("json_schema", "envelope", "csv", "avro", "avro-confluent"))
def test_nulls_through_every_format_that_has_them(registry, kind):
    """Protobuf has no null for a plain field: it reads 0 or an empty text, as Connect's converter does."""
    empty = dict.fromkeys(DECLARED.value.schema.by_name)
    schema = DECLARED.value.schema
    form = replace(form_of(kind, schema, registry), options=[("null-literal", "-")]) if kind == "csv" else None
    first, second = side_codec(Format("json_schema", schema)), side_codec(form or form_of(kind, schema, registry))
    assert second.read(second.write(schema, first.read(json.dumps(empty).encode())[1], "t"))[1] == empty


AVRO = json.dumps(
    {
        "type": "record",
        "name": "Order",
        "fields": [{"name": "id", "type": "int"}, {"name": "name", "type": ["null", "string"]}],
    }
)
ORDER = table("id BIGINT, name STRING").value.schema
DESCRIPTOR = base64.b64encode(
    FileDescriptorSet(file=[FileDescriptorProto.FromString(descriptor_of(ORDER, "shop.Order"))]).SerializeToString()
).decode()
FORMATS = [
    Format("avro", options={"schema": AVRO}),
    Format("protobuf", options={"descriptor": DESCRIPTOR, "message-name": "shop.Order"}),
]
COLUMN_SETS = [
    ("id BIGINT, name STRING", {"id": 5, "name": ""}),
    ("name STRING, id DOUBLE, more INT", {"name": "", "id": 5.0, "more": None}),
    ("offset BIGINT METADATA", {"id": 5, "name": "", "offset": 42}),
]


def order_bytes(form):
    one = TopicTable(FILES, value=form).value
    codec = side_codec(one)
    return codec.write(one.schema, {"id": 5, "name": "ann"})


@pytest.mark.parametrize("form", FORMATS, ids=["avro", "protobuf"])
@pytest.mark.parametrize(("columns", "expected"), COLUMN_SETS)
def test_a_schema_beside_the_topic_is_fitted_to_columns(form, columns, expected):
    if form.kind == "protobuf" and "DOUBLE" in columns:
        expected = None  # BIGINT does not become DOUBLE without loss
    one = table(columns, value=form)
    try:
        ((row, *_),) = in_python(one, [Sent(order_bytes(form))], {**MASK, "transforms.hide.fields": "name"})
    except PlanError as error:
        assert expected is None and error.problems[0].code == "SMT443"
    else:
        assert row == (expected or "SMT443")


@pytest.mark.spark
def test_schemas_beside_the_topic_on_spark(spark):
    for form in FORMATS:
        one = table("name STRING, id BIGINT, offset BIGINT METADATA", value=form)
        records = [Sent(order_bytes(form), offset=1), Sent(b"\xff\xff", offset=2), Sent(None, offset=3)]
        rows = on_spark(spark, one, records, {**MASK, "transforms.hide.fields": "name"})
        assert rows[0] == {"name": "", "id": 5, "offset": 1} and rows[1:] in (
            ["SMT416", "SMT402"],
            ["SMT416", "SMT418"],
        )


NUMBERS = {5: 5, -(2**15): -(2**15), 2**15 - 1: 2**15 - 1, 2**15: "SMT443", -70_000: "SMT443"}


@pytest.mark.spark
def test_integers_of_avro_in_narrower_columns(spark):
    """As Flink writes them: Avro has no type of 16 bits. One that does not fit is a dead letter."""
    one = table("id SMALLINT, offset BIGINT METADATA", value=FORMATS[0])
    written = TopicTable(FILES, value=FORMATS[0]).value
    data = [side_codec(written).write(written.schema, {"id": number, "name": None}) for number in NUMBERS]
    records = [Sent(text, offset=number) for number, text in enumerate(data)]
    results = [v if isinstance(v, str) else {"id": v, "offset": n} for n, v in enumerate(NUMBERS.values())]
    assert [row for row, *_ in in_python(one, records)] == results
    assert on_spark(spark, one, records) == results


def wide(precision):
    """The text of an Avro schema with one decimal of so many digits."""
    kind = {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": 2}
    return json.dumps({"type": "record", "name": "R", "fields": [{"name": "a", "type": ["null", kind]}]})


LONGEST = "9" * 28 + ".99"
AMOUNTS = ("1.25", "-99999999.99", "99999999.99", "100000000.00", "-123456789.99")


@pytest.mark.spark
@pytest.mark.parametrize(("options", "code"), [
    ({}, "SMT414"),
    ({"schema": wide(20)}, "SMT443"),
    ({"schema": wide(64)}, "SMT443"),
])  # fmt: skip
def test_decimals_of_avro_in_narrower_columns(spark, options, code):
    """The digits that a column has count, whatever a record's own schema, or its bytes, may have."""
    one = table("a DECIMAL(10, 2), offset BIGINT METADATA", value=Format("avro", options=options))
    schema = table("a DECIMAL(30, 2)").value.schema
    data = [side_codec(Format("avro", schema)).write(schema, {"a": Decimal(text)}) for text in AMOUNTS]
    records = [Sent(text, offset=number) for number, text in enumerate(data)]
    results = [row if isinstance(row, str) else f"{row['a']:.2f}" for row, *_ in in_python(one, records)]
    assert results == [*AMOUNTS[:3], code, code]
    assert [row if isinstance(row, str) else str(row["a"]) for row in on_spark(spark, one, records)] == results


@pytest.mark.parametrize("options", [{}, {"schema": wide(38)}])
def test_no_digit_of_a_long_decimal_is_lost(options):
    """Python's contexts round to 28 digits."""
    one = table("a DECIMAL(30, 2), text STRING METADATA FROM 'topic'", value=Format("avro", options=options))
    schema = table("a DECIMAL(38, 2)").value.schema
    for text, code in ((LONGEST, None), (f"-{LONGEST}", None), (f"1{LONGEST}", "SMT414" if not options else "SMT443")):
        data = side_codec(Format("avro", schema)).write(schema, {"a": Decimal(text)})
        ((row, _, record),) = in_python(one, [Sent(data)])
        assert (row if isinstance(row, str) else record.value["a"]) == (code or Decimal(text))


@pytest.mark.parametrize("form", FORMATS, ids=["avro", "protobuf"])
def test_what_is_written_is_of_the_schema_that_is_given(form):
    one = TopicTable(FILES, value=form)
    interpreter = Interpreter(parse_chain(NOTHING), None, one.value)
    record = Record("orders", dirty=VALUE_DIRTY)
    outcome, _, data = interpreter.process(record, None, order_bytes(form))
    assert outcome.problem is None and data == order_bytes(form)


def test_files_of_schemas(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "order.avsc").write_text(AVRO)
    (tmp_path / "order.desc").write_bytes(base64.b64decode(DESCRIPTOR))
    avro = TopicTable(FILES, value=Format("avro", options={"schema": "order.avsc"}))
    protobuf = Format("protobuf", options={"descriptor": "order.desc", "message-name": "shop.Order"})
    assert avro.value.schema.by_name["id"].label == "int32"
    assert TopicTable(FILES, value=protobuf).value.schema.by_name["id"].label == "int64?"


WRONG = [
    (lambda: TopicTable(FILES, value=Format("avro", options={"schema": "none.avsc"})), "SMT273 avro.schema"),
    (lambda: TopicTable(FILES, value=Format("avro", options={"schema": "{"})), "SMT273 avro.schema"),
    (lambda: Format("protobuf", options={"message-name": "a"}), "SMT272 protobuf"),
    (lambda: TopicTable(FILES, value=Format("protobuf", options={"descriptor": "x", "message-name": "a"})),
     "SMT273 protobuf.descriptor"),
    (lambda: TopicTable(FILES, value=replace(FORMATS[1], options={"descriptor": DESCRIPTOR, "message-name": "Nobody"})),
     "SMT273 protobuf.descriptor"),
    (lambda: table({"a b": "INT"}, value=Format("avro")), "SMT274 avro name 'a b'"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "what"), WRONG)
def test_schemas_that_cannot_be(make, what):
    with pytest.raises(ConfigError, match=what):
        side_codec(make().value)


def test_schemaless_values_need_columns_to_be_written_with_a_schema():
    sink = FileTopicSink("out", value=Format("avro"))
    with pytest.raises(UnsupportedError, match=r"SMT905 value.format avro: the values have no schema"):
        plan_sink(parse_chain(NOTHING), TopicTable(FILES), sink)
    for kind in ("avro", "protobuf"):
        with pytest.raises(PlanError, match="SMT274"):
            plan_sink(parse_chain(NOTHING), table({"a b": "INT"}), FileTopicSink("out", value=Format(kind)))


TWINS, DOTTED = {"Name": "STRING", "name": "STRING"}, {"a.b": "INT", "a": "STRUCT<b: INT, c: STRUCT<D: INT, d: INT>>"}
NAMES = [
    (DeltaSink("out", "columns"), TWINS, ["SMT210"]),
    (DeltaSink("out", "columns"), DOTTED, ["SMT572"]),
    (IcebergSink("out", "columns"), DOTTED, ["SMT567"]),
    (IcebergSink("out", "columns"), {"": "INT", "_pos": "INT"}, ["SMT564", "SMT563"]),
    (DeltaSink("out", "columns"), {"a b": "INT", "@": "INT", "ünï": "INT", "select": "INT", "`": "INT"}, []),
    (DeltaSink("out"), TWINS, []),
]


@pytest.mark.parametrize(("sink", "columns", "codes"), NAMES)
def test_names_that_a_table_does_not_take_are_found_when_planning(sink, columns, codes):
    results = []
    try:
        plan_sink(parse_chain(NOTHING), table(columns), sink)
    except PlanError as error:
        results = [problem.code for problem in error.problems]
    assert results == codes


def test_a_timestamp_that_a_broker_sets_itself_is_told():
    sink = KafkaSink(KafkaTopics("h:1"))
    written = table("name STRING, at TIMESTAMP METADATA FROM 'timestamp'")
    virtual = table("name STRING, at TIMESTAMP METADATA FROM 'timestamp' VIRTUAL")
    chain = parse_chain(NOTHING)
    assert [(w.code, w.place) for w in plan_sink(chain, written, sink).warnings] == [("SMT276", "column at")]
    assert not plan_sink(chain, virtual, sink).warnings and not plan_sink(chain, written, FileTopicSink("o")).warnings


def test_an_interpreter_writes_another_format_than_it_reads():
    written = Formats(Format("string"), Format("avro"))
    interpreter = Interpreter(parse_chain(MASK), None, table("name STRING").value, written)
    _, _, data = interpreter.process(Record("orders"), None, b'{"name":"ann"}')
    schema = table("name STRING").value.schema.with_(optional=False)
    assert data == avro_out(schema).write({"name": ""})


def test_records_without_a_schema_are_refused_one_by_one(registry):
    for kind in ("avro", "protobuf", "protobuf-confluent"):
        with pytest.raises(DataError, match="SMT440"):
            side_codec(form_of(kind, None, registry)).write(None, {"a": 1}, "orders")


CHAIN = stages(
    ("MaskField$Value", {"fields": "name"}),
    ("Cast$Value", {"spec": "small:int64,id:string"}),
    ("ReplaceField$Value", {"renames": "ratio:share", "exclude": "raw"}),
    ("InsertField$Value", {"topic.field": "topic", "static.field": "env", "static.value": "x"}),
    ("TimestampConverter$Value", {"field": "at", "target.type": "string", "format": "yyyy-MM-dd"}),
    ("ValueToKey", {"fields": "id"}),
    ("Flatten$Value", {"delimiter": "_"}),
)
LINE = {
    "id": 7, "name": "ann", "small": 3, "ratio": 0.5, "ok": True, "raw": "AA==", "price": "AQ==", "day": 1,
    "at": 1_700_000_000_123, "tags": ["a"],
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_the_transforms_make_the_same_of_every_format(registry, kind):
    schema = DECLARED.value.schema
    form = form_of(kind, schema, registry)
    value = side_codec(Format("json_schema", schema)).read(json.dumps(LINE).encode())[1]
    data = side_codec(form).write(schema, value, "orders")
    written = Formats(Format("json"), Format("json", decimal_format="NUMERIC"))
    interpreter = Interpreter(parse_chain(CHAIN), Format("string"), form, written)
    outcome, key, result = interpreter.process(Record("orders"), b"k", data)
    assert outcome.problem is None
    assert (json.loads(key), json.loads(result)) == (
        {"id": "7"},
        {"id": "7", "name": "", "small": 3, "share": 0.5, "ok": True, "price": "AQ==", "day": 1, "at": "2023-11-14",
         "tags": ["a"], "topic": "orders", "env": "x"},
    )  # fmt: skip
