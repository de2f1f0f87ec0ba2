"""Avro as Connect's AvroConverter writes it: schemas as AvroData makes them, and values that read as what they were."""

import json
from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dagster_smt.errors import ConfigError, DataError
from dagster_smt.formats.avro.read import avro_of
from dagster_smt.formats.avro.write import avro_out
from dagster_smt.formats.json import reader
from dagster_smt.formats.sides import parse_json
from dagster_smt.model.schema import INT32, STRING, JavaDate, Schema, Type, date, decimal, optional, time, timestamp
from dagster_smt.model.topics.format import Format
from tests.random_records import as_text, payload, typed

SPACE = "io.confluent.connect.avro"
DATA = "org.apache.kafka.connect.data"


def struct(name=None, **fields):
    return Schema(Type.STRUCT, name=name, fields=tuple(fields.items()))


def array(values):
    return Schema(Type.ARRAY, values=values)


def of_map(keys, values):
    return Schema(Type.MAP, keys=keys, values=values)


def record(name, *fields, **more):
    return {"type": "record", "name": name, "namespace": SPACE, "fields": list(fields), **more}


def named_type(name, kind, **more):
    return {"name": name, "type": kind, **more}


POINT = struct("shop.Point", x=INT32)
POINT_AVRO = {
    "type": "record", "name": "Point", "namespace": "shop", "fields": [{"name": "x", "type": "int"}],
    "connect.name": "shop.Point",
}  # fmt: skip
# The facts are those of Confluent's AvroDataTest (testFromConnect…) and of what AvroConverter leaves in registries.
SCHEMAS = [
    (Schema(Type.BOOLEAN), "boolean"),
    (Schema(Type.INT8), {"type": "int", "connect.type": "int8"}),
    (Schema(Type.INT16), {"type": "int", "connect.type": "int16"}),
    (Schema(Type.INT64, optional=True), ["null", "long"]),
    (Schema(Type.INT32, optional=True, default=3), [{"type": "int", "connect.default": 3}, "null"]),
    (Schema(Type.FLOAT32, doc="d", version=2, name="my.f"),
     {"type": "float", "connect.doc": "d", "connect.version": 2, "connect.name": "my.f"}),
    (decimal(2), {"type": "bytes", "scale": 2, "precision": 64, "connect.version": 1,
                  "connect.parameters": {"scale": "2"}, "connect.name": f"{DATA}.Decimal", "logicalType": "decimal"}),
    (date(), {"type": "int", "connect.version": 1, "connect.name": f"{DATA}.Date", "logicalType": "date"}),
    (time(), {"type": "int", "connect.version": 1, "connect.name": f"{DATA}.Time", "logicalType": "time-millis"}),
    (timestamp(), {"type": "long", "connect.version": 1, "connect.name": f"{DATA}.Timestamp",
                   "logicalType": "timestamp-millis"}),
    (Schema(Type.BYTES, name="a.F", parameters=(("connect.fixed.size", "4"),)),
     {"type": "fixed", "name": "F", "namespace": "a", "size": 4, "connect.parameters": {"connect.fixed.size": "4"},
      "connect.name": "a.F"}),
    (Schema(Type.STRING, parameters=(("avro.java.string", "String"),)),
     {"type": "string", "connect.parameters": {"avro.java.string": "String"}, "avro.java.string": "String"}),
    (array(optional(INT32)), {"type": "array", "items": ["null", "int"]}),
    (of_map(STRING, INT32), {"type": "map", "values": "int"}),
    (of_map(optional(STRING), INT32),
     {"type": "array", "items": record(
         "MapEntry", named_type("key", ["null", "string"], default=None), named_type("value", "int"))}),
    (of_map(INT32, STRING).with_(name="shop.Pairs"),
     {"type": "array", "items": {"type": "record", "name": "Pairs", "namespace": "shop", "fields": [
         named_type("key", "int"), named_type("value", "string")], "connect.internal.type": "MapEntry"},
      "connect.name": "shop.Pairs"}),
    (struct(a=INT32), record("ConnectDefault", named_type("a", "int"))),
    (struct(a=struct(b=INT32), c=struct(d=INT32)), record(
        "ConnectDefault",
        named_type("a", {"type": "record", "name": "ConnectDefault2", "fields": [named_type("b", "int")]}),
        named_type("c", {"type": "record", "name": "ConnectDefault3", "fields": [named_type("d", "int")]}))),
    (POINT, POINT_AVRO),
    (struct("shop.Line", a=POINT, b=optional(POINT)),
     {"type": "record", "name": "Line", "namespace": "shop", "fields": [
         named_type("a", {k: v for k, v in POINT_AVRO.items() if k != "namespace"}),
         named_type("b", ["null", "Point"], default=None)], "connect.name": "shop.Line"}),
    (struct(title=optional(STRING), count=Schema(Type.INT32, default=3), gone=Schema(Type.INT64, True, default=1)),
     record("ConnectDefault", named_type("title", ["null", "string"], default=None),
            named_type("count", {"type": "int", "connect.default": 3}, default=3),
            named_type("gone", [{"type": "long", "connect.default": 1}, "null"], default=1))),
    (Schema(Type.STRUCT, name="a.B", fields=(("x", INT32),),
            parameters=((f"{SPACE}.field.doc.x", "the x"), (f"{SPACE}.record.doc", "a record"))),
     {"type": "record", "name": "B", "namespace": "a", "doc": "a record",
      "fields": [{"name": "x", "type": "int", "doc": "the x"}],
      "connect.parameters": {f"{SPACE}.field.doc.x": "the x", f"{SPACE}.record.doc": "a record"},
      "connect.name": "a.B"}),
    (Schema(Type.STRUCT, True, f"{SPACE}.Union", fields=(("string", optional(STRING)), ("int", optional(INT32)))),
     ["null", "string", "int"]),
    (Schema(Type.BYTES, default=b"\xff\x01"), {"type": "bytes", "connect.default": "\xff\x01"}),
    (struct(a=Schema(Type.INT32, default=5, parameters=((f"{SPACE}.field.default", "true"),))),
     record("ConnectDefault", named_type("a", "int", default=5))),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "expected"), SCHEMAS)
def test_schemas(schema, expected):
    assert json.loads(avro_out(schema).text) == expected


def test_keys_stand_in_the_order_in_which_avro_prints_them():
    assert avro_out(struct(a=optional(decimal(2)))).text == (
        '{"type":"record","name":"ConnectDefault","namespace":"io.confluent.connect.avro","fields":[{"name":"a","type":'
        '["null",{"type":"bytes","scale":2,"precision":64,"connect.version":1,"connect.parameters":{"scale":"2"},'
        '"connect.name":"org.apache.kafka.connect.data.Decimal","logicalType":"decimal"}],"default":null}]}'
    )


FIXED = replace(decimal(2), parameters=(("connect.fixed.size", "5"), ("scale", "2")))
UNION = SCHEMAS[-3][0]
VALUES = [
    (decimal(2), Decimal("1.50")),
    (decimal(2), Decimal("-1.28")),
    (decimal(0), Decimal(128)),
    (decimal(0), Decimal(-129)),
    (decimal(0), Decimal("9" * 4301)),
    (decimal(4400), Decimal("-0." + "9" * 4400)),
    (FIXED, Decimal("-0.01")),
    (FIXED, Decimal("0.00")),
    (date(), JavaDate(3 * 86_400_000)),
    (time(), JavaDate(5)),
    (timestamp(), JavaDate(-1)),
    (of_map(INT32, date()), {1: JavaDate(0)}),
    (of_map(STRING, timestamp()), {"a": JavaDate(1)}),
    (array(optional(decimal(1))), [Decimal("0.1"), None]),
    (struct(a=POINT, b=array(POINT)), {"a": {"x": 1}, "b": [{"x": 2}]}),
    (struct(u=UNION), {"u": {"string": None, "int": 5}}),
    (struct(u=UNION), {"u": {"string": "x", "int": None}}),
    (struct(u=UNION), {"u": None}),
    (optional(struct(a=INT32)), {"a": 1}),
    (Schema(Type.FLOAT64), float("-inf")),
    (Schema(Type.BYTES), b""),
]


@pytest.mark.parametrize(("schema", "value"), VALUES, ids=lambda value: repr(value)[:40])
def test_values_read_as_what_they_were(schema, value):
    out = avro_out(schema)
    avro = avro_of(out.text)
    assert avro.read(out.write(value)) == value
    if schema.type is not Type.STRUCT and schema is not FIXED:  # a record gets a name on its way
        assert avro.schema.label == schema.label


def test_a_default_of_an_optional_field_is_read_as_what_it_was():
    schema = Schema(Type.INT64, True, default=1)
    assert avro_of(avro_out(struct("shop.Order", a=schema)).text).schema.by_name["a"] == schema


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_values_of_any_schema_read_as_what_they_were(data):
    schema = data.draw(typed)
    text = as_text(payload(data.draw, schema))
    try:
        value = reader(schema, Format())(parse_json(text, exact=True))
        out = avro_out(schema)
    except (DataError, ConfigError, ValueError):
        assume(False)
    try:
        written = out.write(value)
    except DataError as error:
        assert error.problem.code == "SMT440"
        return
    assert avro_of(out.text).read(written) == value or "nan" in repr(value)


WRONG = [
    (struct(**{"a-b": INT32, "c": struct(**{"9": INT32})}), ["SMT274 avro name 'a-b'", "SMT274 avro name '9'"]),
    (struct("my order", a=INT32), ["SMT274 avro name 'my order'"]),
    (struct(a=POINT, b=struct("shop.Point", y=INT32)), ["SMT274 avro name 'shop.Point'"]),
    (Schema(Type.ARRAY), ["SMT274 avro name 'array<any>'"]),
]


@pytest.mark.parametrize(("schema", "what"), WRONG)
def test_names_that_avro_does_not_take(schema, what):
    with pytest.raises(ConfigError) as error:
        avro_out(schema)
    assert [f"{p.code} {p.place}" for p in error.value.problems] == what


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (INT32, "x"),
        (INT32, None),
        (STRING, 5),
        (decimal(2), Decimal("1.5")),
        (FIXED, Decimal("99999999999.00")),
        (decimal(0), Decimal("9" * 10_001)),
        (decimal(0), Decimal("Infinity")),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_values_that_do_not_fit(schema, value):
    with pytest.raises(DataError, match="SMT440"):
        avro_out(schema).write(value)
