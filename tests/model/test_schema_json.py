"""Connect's schema JSON: read, write, refuse."""

import json

import pytest

from dagster_smt.errors import ConfigError
from dagster_smt.model.schema import (
    DATE,
    DECIMAL,
    TIME,
    TIMESTAMP,
    Schema,
    Type,
    date,
    decimal,
    time,
    timestamp,
)
from dagster_smt.model.schema_json import schema_from_json, schema_to_json

INT8 = {"type": "int8", "optional": False}
TEXT = {"type": "string", "optional": False}

SAME_AGAIN = [
    *(
        {"type": t.value, "optional": o}
        for t in Type
        if t not in (Type.ARRAY, Type.MAP, Type.STRUCT)
        for o in (True, False)
    ),
    {"type": "array", "items": INT8, "optional": True},
    {"type": "map", "values": INT8, "keys": TEXT, "optional": False},
    {"type": "map", "values": {"type": "array", "items": TEXT, "optional": False}, "keys": INT8, "optional": False},
    {"type": "struct", "fields": [], "optional": False},
    {
        "type": "struct",
        "fields": [
            {**INT8, "default": 3, "field": "a"},
            {"type": "struct", "fields": [{**TEXT, "field": "a"}], "optional": True, "field": "b.c"},
        ],
        "optional": False,
        "name": "N",
        "version": 0,
        "doc": "",
        "parameters": {"a": "1", "b": ""},
    },
]
LOGICAL = [
    (
        decimal(2),
        {"type": "bytes", "optional": False, "name": DECIMAL, "version": 1, "parameters": {"scale": "2"}},
        "Decimal(2)",
    ),
    (
        decimal(-3, optional=True),
        {"type": "bytes", "optional": True, "name": DECIMAL, "version": 1, "parameters": {"scale": "-3"}},
        "Decimal(-3)?",
    ),
    (date(), {"type": "int32", "optional": False, "name": DATE, "version": 1}, "Date"),
    (time(optional=True), {"type": "int32", "optional": True, "name": TIME, "version": 1}, "Time?"),
    (timestamp(), {"type": "int64", "optional": False, "name": TIMESTAMP, "version": 1}, "Timestamp"),
]
SCALE = "a Decimal needs the parameter 'scale', a whole number"
KNOWN = "a schema needs a known 'type'"
REFUSED = [
    (None, [f"schema: {KNOWN}"]),
    ([], [f"schema: {KNOWN}"]),
    ({}, [f"schema: {KNOWN}"]),
    ({"type": "bogus"}, [f"schema: {KNOWN}"]),
    ({"type": "INT8"}, [f"schema: {KNOWN}"]),
    ({"type": ["int8"]}, [f"schema: {KNOWN}"]),
    ({"type": {"a": 1}}, [f"schema: {KNOWN}"]),
    ({"type": "struct"}, ["schema: a struct needs a list of 'fields'"]),
    ({"type": "struct", "fields": {"a": INT8}}, ["schema: a struct needs a list of 'fields'"]),
    ({"type": "struct", "fields": [INT8, 7]}, [f"schema.fields[{n}]: a field needs a 'field' name" for n in (0, 1)]),
    (
        {"type": "struct", "fields": [{**INT8, "field": "a"}, {**INT8, "field": "a"}]},
        ["schema.a: the field appears twice"],
    ),
    (
        {"type": "struct", "fields": [{**INT8, "field": ""}]},
        ["schema.fields[0]: a field needs a name that is not empty"],
    ),
    ({"type": "struct", "fields": [], "default": {}}, ["schema: a struct cannot have a default in schema JSON"]),
    ({"type": "array"}, [f"schema[]: {KNOWN}"]),
    ({"type": "map", "values": INT8}, [f"schema.keys: {KNOWN}"]),
    ({"type": "map", "keys": TEXT}, [f"schema[]: {KNOWN}"]),
    ({"type": "int8", "parameters": {"a": 1}}, ["schema.parameters: parameters must be texts"]),
    ({"type": "bytes", "name": DECIMAL}, [f"schema: {SCALE}"]),
    ({"type": "bytes", "name": DECIMAL, "parameters": {"scale": "x"}}, [f"schema: {SCALE}"]),
    ({"type": "bytes", "name": DECIMAL, "parameters": {"scale": "99999999999"}}, [f"schema: {SCALE}"]),
    (
        {
            "type": "struct",
            "fields": [{"type": "x", "field": "a"}, {"type": "array", "items": {"type": "y"}, "field": "b"}],
        },
        [f"schema.a: {KNOWN}", f"schema.b[]: {KNOWN}"],
    ),
]


@pytest.mark.parametrize("data", SAME_AGAIN, ids=str)
def test_what_is_read_is_written_the_same(data):
    assert json.dumps(schema_to_json(schema_from_json(data))) == json.dumps(data)


@pytest.mark.parametrize(("schema", "data", "label"), LOGICAL, ids=[label for _, _, label in LOGICAL])
def test_logical_types(schema, data, label):
    assert schema_from_json(data) == schema
    assert schema_to_json(schema) == data
    assert schema.label == label
    assert schema.logical == label.rstrip("?").split("(")[0]


@pytest.mark.parametrize(("data", "problems"), REFUSED, ids=str)
def test_everything_that_is_wrong_is_named(data, problems):
    with pytest.raises(ConfigError) as caught:
        schema_from_json(data)
    assert [str(p).splitlines()[0] for p in caught.value.problems] == [f"SMT206 {p}" for p in problems]


def test_the_place_is_the_one_that_was_given():
    with pytest.raises(ConfigError, match=r"^SMT206 orders\.json: a schema needs a known 'type'"):
        schema_from_json({}, place="orders.json")


def test_what_the_converter_ignores_is_ignored():
    data = {"type": "int8", "optional": "true", "name": 1, "version": "2", "doc": [], "parameters": [], "other": 1}
    assert schema_from_json(data) == Schema(Type.INT8)
    assert schema_from_json({"type": "int8", "version": True}) == Schema(Type.INT8)
    data = {"type": "int8", "default": None, "parameters": None, "optional": True}
    assert schema_from_json(data) == Schema(Type.INT8, optional=True)


@pytest.mark.parametrize(("type_", "name"), [(Type.STRING, TIMESTAMP), (Type.INT64, DATE), (Type.INT32, DECIMAL)])
def test_a_logical_name_on_another_type_is_a_name_like_any_other(type_, name):
    schema = schema_from_json({"type": type_.value, "name": name})
    assert (schema.logical, schema.label) == (None, type_.name.lower())


def test_a_default_is_kept_as_it_is_written():
    schema = schema_from_json({"type": "bytes", "default": "AQI="})
    assert schema.default == "AQI="
    assert schema_to_json(schema, lambda s: s.default.lower())["default"] == "aqi="


def test_labels_of_nested_types():
    row = schema_from_json({"type": "struct", "fields": []})
    assert Schema(Type.ARRAY, values=row).label == "array<struct>"
    assert (
        Schema(Type.MAP, True, keys=Schema(Type.STRING), values=Schema(Type.INT8, True)).label == "map<string,int8?>?"
    )
    assert Schema(Type.ARRAY).label == "array<any>"
    assert Schema(Type.MAP).label == "map<any,any>"


def test_a_schema_hashes_and_compares_by_content():
    data = {"type": "struct", "fields": [{**INT8, "field": "a", "default": 1}]}
    one, two = schema_from_json(data), schema_from_json(data)
    other = schema_from_json({"type": "struct", "fields": [{**INT8, "field": "a", "default": 2}]})
    assert one == two and hash(one) == hash(two) and one != other
