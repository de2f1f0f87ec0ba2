"""Avro as Connect's AvroConverter reads it: schemas, values, names, unions, defaults; and what is refused."""

import io
import json
from decimal import Decimal

import fastavro
import pytest

from dagster_smt.errors import ConfigError, DataError, EngineError
from dagster_smt.formats.avro.read import avro_of
from dagster_smt.formats.sides import side_codec
from dagster_smt.model.schema import JavaDate, Type
from dagster_smt.model.topics.format import Format
from tests.registry import Registry

OURS = "io.confluent.connect.avro."
RECORD = {
    "type": "record", "name": "Order", "namespace": "shop", "doc": "an order",
    "fields": [
        {"name": "id", "type": "long", "doc": "its number"},
        {"name": "name", "type": ["null", "string"], "default": None},
        {"name": "count", "type": "int", "default": 3},
        {"name": "state", "type": {"type": "enum", "name": "State", "symbols": ["NEW", "DONE"]}},
    ],
}  # fmt: skip


def written(schema, value):
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(json.loads(json.dumps(schema))), value)
    return out.getvalue()


def of(kind, **more):
    return {"type": kind, **more}


POINT = of("record", name="Point", fields=[{"name": "x", "type": "int"}])
VALUES = [
    ("boolean", True, "boolean", True),
    ("int", -5, "int32", -5),
    ("long", 2**40, "int64", 2**40),
    ("float", 1.5, "float32", 1.5),
    ("double", 0.1, "float64", 0.1),
    ("string", "grün", "string", "grün"),
    ("bytes", b"\xff", "bytes", b"\xff"),
    (of("int", **{"connect.type": "int8"}), 5, "int8", 5),
    (of("int", **{"connect.type": "int16"}), 5, "int16", 5),
    (of("int", logicalType="date"), 3, "Date", JavaDate(3 * 86_400_000)),
    (of("int", logicalType="time-millis"), 3, "Time", JavaDate(3)),
    (of("long", logicalType="timestamp-millis"), 1_700_000_000_123, "Timestamp", JavaDate(1_700_000_000_123)),
    (of("long", logicalType="timestamp-micros"), 5, "int64", 5),
    (of("string", logicalType="uuid"), "x", "string", "x"),
    (of("fixed", name="F", size=2), b"ab", "bytes", b"ab"),
    (of("enum", name="E", symbols=["A", "B"]), "B", "string", "B"),
    (of("array", items="int"), [1, 2], "array<int32>", [1, 2]),
    (of("array", items=["null", "int"]), [1, None], "array<int32?>", [1, None]),
    (of("map", values="long"), {"a": 1}, "map<string,int64>", {"a": 1}),
    (["null", "string"], None, "string?", None),
    (["string", "null"], "a", "string?", "a"),
    (POINT, {"x": 1}, "struct", {"x": 1}),
    (["string", "int"], 5, "struct", {"string": None, "int": 5}),
    (["null", "string", "int"], None, "struct?", None),
    (["null", POINT, of("enum", name="E", symbols=["A"])], ("E", "A"), "struct?", {"Point": None, "E": "A"}),
    (["null", POINT, "string"], ("Point", {"x": 7}), "struct?", {"Point": {"x": 7}, "string": None}),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "value", "label", "expected"), VALUES)
def test_types_and_values(schema, value, label, expected):
    avro = avro_of(json.dumps(schema))
    assert avro.schema.label == label
    data = avro.read(written(schema, value))
    assert data == expected and type(data) is type(expected)


@pytest.mark.parametrize("unscaled", [0, 150, -150, 10**20])
@pytest.mark.parametrize("kind", ["bytes", "fixed"])
def test_decimals(unscaled, kind):
    size = {"name": "D", "size": 12} if kind == "fixed" else {}
    schema = of(kind, logicalType="decimal", precision=25, scale=2, **size)
    data = unscaled.to_bytes(12, "big", signed=True)
    avro = avro_of(json.dumps(schema))
    assert avro.schema.logical == "Decimal" and dict(avro.schema.parameters)["connect.decimal.precision"] == "25"
    assert avro.read(written({k: v for k, v in schema.items() if k != "logicalType"}, data)) == Decimal(unscaled) / 100


def test_what_connect_keeps_of_a_record():
    schema = avro_of(json.dumps(RECORD)).schema
    assert (schema.name, dict(schema.parameters)) == (
        "shop.Order", {f"{OURS}record.doc": "an order", f"{OURS}field.doc.id": "its number"},
    )  # fmt: skip
    fields = schema.by_name
    assert (fields["name"].optional, fields["name"].default, fields["count"].default) == (True, None, 3)
    assert dict(fields["count"].parameters) == {f"{OURS}field.default": "true"}
    state = fields["state"]
    assert state.type is Type.STRING and state.name == "shop.State"
    assert dict(state.parameters) == {f"{OURS}Enum": "shop.State", f"{OURS}Enum.NEW": "NEW", f"{OURS}Enum.DONE": "DONE"}


def test_what_connect_itself_has_written():
    schema = of(
        "record", name="ConnectDefault", namespace="io.confluent.connect.avro",
        fields=[{"name": "a", "type": of("int", **{"connect.name": "my.int", "connect.version": 3, "connect.doc": "d",
                                                  "connect.parameters": {"p": "q"}, "connect.default": 5})},
                {"name": "m", "type": of("array", items=of("record", name="MapEntry", fields=[
                    {"name": "key", "type": "int"}, {"name": "value", "type": "string"}]))}],
    )  # fmt: skip
    avro = avro_of(json.dumps(schema))
    a = avro.schema.by_name["a"]
    assert avro.schema.name is None and (a.name, a.version, a.doc, dict(a.parameters)) == ("my.int", 3, "d", {"p": "q"})
    assert avro.schema.by_name["m"].label == "map<int32,string>"
    assert avro.read(written(schema, {"a": 1, "m": [{"key": 1, "value": "x"}]})) == {"a": 1, "m": {1: "x"}}


def with_default(kind, default, **more):
    return of(kind, **more, **{"connect.default": default})


ENTRY = of("record", name=f"{OURS}MapEntry", fields=[
    {"name": "key", "type": "int"}, {"name": "value", "type": "string"},
])  # fmt: skip
DEFAULTS = {
    "null or a number": ([with_default("long", 1), "null"], 1),
    "a number": (with_default("int", 5), 5),
    "a whole number as a float": (with_default("double", 1), 1.0),
    "a text": (with_default("string", "a"), "a"),
    "a boolean": (with_default("boolean", False), False),
    "bytes": (with_default("bytes", "\xff"), b"\xff"),
    "a decimal": (with_default("bytes", "\x01", logicalType="decimal", scale=1, precision=3), Decimal("0.1")),
    "a day": (with_default("int", 3, logicalType="date"), JavaDate(3 * 86_400_000)),
    "a symbol": (with_default("enum", "B", name="E", symbols=["A", "B"]), "B"),
    "a list": (with_default("array", [1], items="int"), [1]),
    "entries of a map": (with_default("array", [{"key": 1, "value": "x"}], items=ENTRY), {1: "x"}),
    "a list for a map of texts": (with_default("map", [], values="int"), None),
    "a record": ([with_default("record", {"x": 1}, name="P", fields=POINT["fields"]), "null"], {"x": 1}),
    "a record with bytes": (
        with_default("record", {"b": "\xff"}, name="B", fields=[{"name": "b", "type": "bytes"}]), {"b": b"\xff"},
    ),
    "null": (with_default("int", None), None),
    "a text for a number": (with_default("int", "x"), None),
    "a boolean for a number": (with_default("long", True), None),
    "a number for a text": (with_default("string", 1), None),
    "a number for a boolean": (with_default("boolean", 1), None),
    "an object for a list": (with_default("array", {}, items="int"), None),
}  # fmt: skip


@pytest.mark.parametrize("case", DEFAULTS)
def test_a_default_that_connect_has_written_is_kept(case):
    schema, default = DEFAULTS[case]
    field = {"name": "a", "type": schema}
    whole = avro_of(json.dumps(of("record", name="Order", fields=[field])))
    alone = avro_of(json.dumps(schema))
    for one in (whole.schema.by_name["a"], alone.schema):
        assert one.default == default and type(one.default) is type(default)
        assert f"{OURS}field.default" not in dict(one.parameters)


def test_the_default_of_the_field_comes_before_that_of_the_type():
    field = {"name": "a", "type": with_default("int", 5), "default": 6}
    a = avro_of(json.dumps(of("record", name="Order", fields=[field]))).schema.by_name["a"]
    assert (a.default, a.parameters) == (6, ())


def test_names_are_used_again():
    schema = of("record", name="Line", fields=[{"name": "a", "type": POINT}, {"name": "b", "type": ["null", "Point"]}])
    avro = avro_of(json.dumps(schema))
    assert avro.read(written(schema, {"a": {"x": 1}, "b": {"x": 2}})) == {"a": {"x": 1}, "b": {"x": 2}}
    line = of("record", name="Line", fields=[{"name": "a", "type": "Point"}])
    assert avro_of(json.dumps(line), (json.dumps(POINT),)).read(written(POINT, {"x": 3})) == {"a": {"x": 3}}


REFUSED = [
    "{", '"nothing"', '{"type": "record"}', json.dumps(["int", "long"]), json.dumps(["null", "float", "double"]),
    json.dumps(of("record", name="Node", fields=[{"name": "next", "type": ["null", "Node"]}])),
]  # fmt: skip


@pytest.mark.parametrize("text", REFUSED)
def test_schemas_that_cannot_be(text):
    with pytest.raises(ConfigError, match="SMT273"):
        avro_of(text)


@pytest.mark.parametrize(
    "data", [b"", b"\x02", written(RECORD, {"id": 1, "name": None, "count": 1, "state": "NEW"}) + b"x"]
)
def test_bytes_that_do_not_fit(data):
    with pytest.raises(DataError, match="SMT416"):
        avro_of(json.dumps(RECORD)).read(data)


# -- with a registry -------------------------------------------------------------------------------------------------


def framed(number, data):
    return b"\0" + number.to_bytes(4, "big") + data


def test_records_name_their_schema():
    value = {"id": 1, "name": "ann", "count": 2, "state": "NEW"}
    with Registry() as registry:
        number = registry.add("orders-value", json.dumps(RECORD))
        codec = side_codec(Format("avro-confluent", options={"url": registry.url}))
        for _ in range(3):
            schema, result = codec.read(framed(number, written(RECORD, value)))
            assert (schema.name, result) == ("shop.Order", value)
        assert codec.read(None) == (None, None) and registry.asked == [number]


def test_schemas_refer_to_others():
    line = of("record", name="Line", fields=[{"name": "a", "type": "Point"}])
    with Registry() as registry:
        registry.add("point", json.dumps(POINT))
        number = registry.add("line", json.dumps(line), [{"name": "Point", "subject": "point", "version": 1}])
        codec = side_codec(Format("avro-confluent", options={"url": registry.url}))
        assert codec.read(framed(number, written(POINT, {"x": 3})))[1] == {"a": {"x": 3}}


def test_ids_that_nobody_knows_and_bytes_without_one():
    with Registry() as registry:
        other = registry.add("p", 'syntax = "proto3";', kind="PROTOBUF")
        codec = side_codec(Format("avro-confluent", options={"url": registry.url}))
        for data in (framed(99, b""), framed(other, b""), b"", b"\1\0\0\0\1", b"\0\0"):
            with pytest.raises(DataError, match="SMT441"):
                codec.read(data)


def test_a_registry_that_does_not_answer_is_no_fault_of_the_record():
    with Registry() as registry:
        registry.status = 401
        with pytest.raises(EngineError, match=r"SMT636.*401"):
            side_codec(Format("avro-confluent", options={"url": registry.url})).read(framed(1, b""))


def test_credentials_come_from_the_environment(monkeypatch):
    monkeypatch.setenv("SMT_TEST_REGISTRY", "user:secret-4711")
    with Registry() as registry:
        number = registry.add("s", json.dumps("int"))
        options = {"url": registry.url, "basic-auth.user-info": "${env:SMT_TEST_REGISTRY}"}
        form = Format("avro-confluent", options=options)
        assert side_codec(form).read(framed(number, b"\x0e"))[1] == 7
        assert any(text.startswith("Basic ") for text in registry.authorization) and "secret-4711" not in repr(form)


WRONG = [
    ({}, "SMT272 avro-confluent.url"),
    ({"url": "http://x", "what": "ever"}, "SMT272 avro-confluent.what"),
    ({"url": "http://x", "basic-auth.user-info": "me:secret"}, "SMT581 avro-confluent.basic-auth.user-info"),
    ({"url": "http://x", "bearer-auth.token": "secret"}, "SMT581 avro-confluent.bearer-auth.token"),
]


@pytest.mark.parametrize(("options", "what"), WRONG)
def test_options_of_a_registry(options, what):
    with pytest.raises(ConfigError, match=what):
        Format("avro-confluent", options=options)
