"""Values that are their only column instead of a struct of it: ksqlDB's ``WRAP_SINGLE_VALUE``."""

import json

import pytest

from dagster_smt import FileTopics, FileTopicSink, Format, TopicTable
from dagster_smt.chain import parse_chain
from dagster_smt.errors import ConfigError, PlanError, UnsupportedError
from dagster_smt.formats.avro.write import avro_out
from dagster_smt.formats.sides import side_codec
from dagster_smt.model.schema import Schema, Type
from dagster_smt.tables.ddl import parse_ddl
from dagster_smt.tables.planning import plan_sink
from tests.registry import Registry
from tests.tables.rows.test_reading import NOTHING, Sent, in_python, on_spark

FILES = FileTopics("topics")
DROPPED = {
    "transforms": "more,less",
    "transforms.more.type": "org.apache.kafka.connect.transforms.InsertField$Value",
    "transforms.more.static.field": "more",
    "transforms.more.static.value": "x",
    "transforms.less.type": "org.apache.kafka.connect.transforms.ReplaceField$Value",
    "transforms.less.exclude": "more",
}
MORE = {name: text for name, text in DROPPED.items() if "less" not in name} | {"transforms": "more"}
BARE = {
    "INT": [b"10", b"-1"],
    "BIGINT": [b"10"],
    "DOUBLE": [b"1.5"],
    "BOOLEAN": [b"true", b"false"],
    "STRING": [b'"a"', b'""'],
    "DECIMAL(4, 2)": [b"10.10"],
    "DATE": [b'"2020-01-31"'],
    "ARRAY<INT>": [b"[1,null,3]", b"[]"],
    "MAP<STRING, INT>": [b'{"a":1}', b"{}"],
    "STRUCT<a INT>": [b'{"a":1}', b'{"a":null}'],
    "STRUCT<b INT>": [b'{"b":2}'],
}
"""Values of a column ``b``, in JSON."""
WRONG = {"INT": [b'{"b":1}', b'"x"', b"[1]"], "ARRAY<INT>": [b"1"], "STRUCT<a INT>": [b"1"]}


def create(columns, options):
    return TopicTable.create(f"CREATE STREAM s ({columns}) WITH (KAFKA_TOPIC='orders', {options})", FILES)


def bare(kind, form="JSON", more=""):
    return create(f"k STRING KEY, b {kind}", f"VALUE_FORMAT='{form}', WRAP_SINGLE_VALUE=false{more}")


ALL = [(kind, data) for kind, values in BARE.items() for data in values]


@pytest.mark.parametrize(("kind", "data"), ALL)
def test_a_bare_value_is_its_column_and_is_written_so(kind, data):
    ((row, *_),) = in_python(bare(kind), [Sent(data, key=b"x")])
    assert json.dumps(row["b"], separators=(",", ":")) != "null" and row["k"] == "x"
    ((written, *_),) = in_python(bare(kind), [Sent(data, key=b"x")], DROPPED, kind="records")
    assert written == json.loads(data)


@pytest.mark.parametrize(("kind", "data"), [(kind, data) for kind, values in WRONG.items() for data in values])
def test_a_value_that_is_no_such_column_is_a_dead_letter(kind, data):
    assert in_python(bare(kind), [Sent(data, key=b"x")])[0][0] == "SMT414"


@pytest.mark.spark
def test_bare_values_on_spark(spark):
    for kind, values in BARE.items():
        results = [Sent(data, key=b"x", offset=n) for n, data in enumerate((*values, *WRONG.get(kind, ()), None))]
        result = on_spark(spark, bare(kind), results)
        dead = ["SMT414"] * len(WRONG.get(kind, ()))
        assert [row if isinstance(row, str) else "row" for row in result] == ["row"] * len(values) + dead + ["SMT418"]
        if kind not in ("DATE", "DECIMAL(4, 2)"):
            assert [row["b"] for row in result[: len(values)]] == [json.loads(data) for data in values]


def test_bare_values_of_a_registry():
    with Registry() as registry:
        form = Format("avro-confluent", options={"url": registry.url})
        table = bare("INT", "avro-confluent", f", 'avro-confluent.url' = '{registry.url}'")
        for schema, value, row in (
            (Schema(Type.INT32), 7, {"k": "x", "b": 7}),
            (Schema(Type.INT32, optional=True), -7, {"k": "x", "b": -7}),
            (parse_ddl("b INT"), {"b": 7}, "SMT443"),
        ):
            data = side_codec(form).write(schema, value, "orders")
            assert in_python(table, [Sent(data, key=b"x")])[0][0] == row


def test_bare_values_of_avro():
    table = bare("INT", "avro")
    data = avro_out(Schema(Type.INT32)).write(7)
    assert in_python(table, [Sent(data, key=b"x")])[0][0] == {"k": "x", "b": 7}
    assert side_codec(table.value).write(table.value.schema, 7) == data


SAID = {
    "VALUE_FORMAT='KAFKA', WRAP_SINGLE_VALUE=true": "no fields with names",
    "VALUE_FORMAT='DELIMITED', WRAP_SINGLE_VALUE=true": "no fields with names",
    "VALUE_FORMAT='PROTOBUF', WRAP_SINGLE_VALUE=false": "no values without fields",
    "VALUE_FORMAT='JSON', WRAP_SINGLE_VALUE=maybe": "neither true nor false",
    "VALUE_FORMAT='debezium-json', WRAP_SINGLE_VALUE=false": "no values without fields",
}
"""What ksqlDB refuses, too (but for its formats that it does not have)."""


@pytest.mark.parametrize(("options", "what"), SAID.items())
def test_what_a_format_cannot_be_is_refused(options, what):
    with pytest.raises(ConfigError, match=what) as error:
        create("k STRING KEY, b INT", options)
    assert [p.place for p in error.value.problems] == ["WITH 'WRAP_SINGLE_VALUE'"]


@pytest.mark.parametrize(
    "options",
    ["VALUE_FORMAT='KAFKA'", "VALUE_FORMAT='DELIMITED'"],
)
def test_formats_without_fields_are_never_wrapped(options):
    columns = "k STRING KEY, b INT"
    assert create(columns, f"{options}, WRAP_SINGLE_VALUE=false") == create(columns, options)


@pytest.mark.parametrize("form", ["PROTOBUF", "JSON"])
def test_a_wrapped_value_is_what_there_is_by_default(form):
    columns = "k STRING KEY, b INT"
    assert create(columns, f"VALUE_FORMAT='{form}', WRAP_SINGLE_VALUE=true") == create(
        columns, f"VALUE_FORMAT='{form}'"
    )


def test_only_one_column_can_be_bare(tmp_path):
    for columns in ("k STRING KEY, b INT, c INT", "k STRING KEY"):
        with pytest.raises(ConfigError, match="SMT269 WRAP_SINGLE_VALUE"):
            create(columns, "VALUE_FORMAT='JSON', WRAP_SINGLE_VALUE=false")
    unwrapped = Format("json", options={"wrap-single-value": "false"})
    one = create("k STRING KEY, b INT", "VALUE_FORMAT='JSON'")
    assert plan_sink(parse_chain(NOTHING), one, FileTopicSink(tmp_path, value=unwrapped))
    with pytest.raises(PlanError, match="the value has 2 columns"):
        plan_sink(parse_chain(MORE), one, FileTopicSink(tmp_path, value=unwrapped))
    with pytest.raises(UnsupportedError, match="no column is declared"):
        plan_sink(parse_chain(NOTHING), TopicTable(FILES, ("orders",)), FileTopicSink(tmp_path, value=unwrapped))
