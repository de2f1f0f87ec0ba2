"""JSON with a schema in a registry: Connect schemas and values, as Confluent's ``JsonSchemaData`` has them.

Facts marked with a class are those of Confluent's sources: no jar of theirs runs here.
"""

import json
from datetime import date
from decimal import Decimal

import pytest

from dagster_smt.errors import ConfigError, DataError
from dagster_smt.formats.json_schema.read import ONE_OF, json_schema_of
from dagster_smt.formats.json_schema.write import json_schema_out
from dagster_smt.formats.registry.wire import RegistryReader
from dagster_smt.formats.sides import side_codec
from dagster_smt.model.schema import JavaDate, Schema, Type
from dagster_smt.model.topics.format import Format
from tests.registry import Registry

FORM = Format("json-confluent", options={"url": "http://registry:8081"})
CONNECT = "org.apache.kafka.connect.data."
DAY = 86_400_000


def read(document, **references):
    return json_schema_of(json.dumps(document), {k: json.dumps(v) for k, v in references.items()}, FORM, "schema 1")


def label(schema):
    """A schema in short: its type, a question mark if it is optional, and its fields."""
    inner = ""
    if schema.type is Type.STRUCT:
        inner = "{" + ", ".join(f"{name} {label(child)}" for name, child in schema.fields) + "}"
    if schema.type is Type.ARRAY:
        inner = f"[{label(schema.values)}]"
    if schema.type is Type.MAP:
        inner = f"[{label(schema.keys)}: {label(schema.values)}]"
    return f"{schema.logical or schema.type.value}{inner}{'?' if schema.optional else ''}"


def one(node, **more):
    return {"type": "object", "properties": {"f": node}, **more}


def entries(keys):
    """A map as a list of entries."""
    items = {"type": "object", "properties": {"key": keys, "value": WHOLE}}
    return {"type": "array", "connect.type": "map", "items": items}


TEXT, WHOLE, NULL = {"type": "string"}, {"type": "integer"}, {"type": "null"}
DECIMAL = {
    "type": "number",
    "title": f"{CONNECT}Decimal",
    "connect.type": "bytes",
    "connect.parameters": {"scale": "2"},
}
CASES = {
    "a text": (one(TEXT), "string", '"a"', "a"),
    "a whole number": (one(WHOLE), "int64", "7", 7),
    "a number": (one({"type": "number"}), "double", "1.5", 1.5),
    "a boolean": (one({"type": "boolean"}), "boolean", "true", True),
    "eight bits": (one({"type": "integer", "connect.type": "int8"}), "int8", "7", 7),
    "a float": (one({"type": "number", "connect.type": "float32"}), "float", "0.5", 0.5),
    "bytes": (one({"type": "string", "connect.type": "bytes"}), "bytes", '"AQI="', b"\x01\x02"),
    "null or a text": (one({"oneOf": [NULL, TEXT]}), "string?", "null", None),
    "any of a text and null": (one({"anyOf": [TEXT, NULL]}), "string?", '"a"', "a"),
    "a list of types": (one({"type": ["null", "integer"]}), "int64?", "7", 7),
    "an enumeration": (one({"enum": ["A", "B"]}), "string", '"A"', "A"),
    "an array": (one({"type": "array", "items": WHOLE}), "array[int64]", "[1, 2]", [1, 2]),
    "a map": (
        one({"type": "object", "connect.type": "map", "additionalProperties": WHOLE}),
        "map[string: int64]", '{"a": 1}', {"a": 1},
    ),
    "a map of other keys": (
        one({"type": "array", "connect.type": "map", "items": one(WHOLE, properties={"key": WHOLE, "value": TEXT})}),
        "map[int64: string]", '[{"key": 1, "value": "a"}]', {1: "a"},
    ),
    "a map of texts or null": (
        one(entries({"oneOf": [NULL, TEXT]})), "map[string?: int64]",
        '[{"key": "a", "value": 1}, {"key": null, "value": 2}]', {"a": 1, None: 2},
    ),
    "a union with a map of entries": (
        one({"oneOf": [TEXT, entries(WHOLE)]}),
        f"struct{{{ONE_OF}.field.0 string?, {ONE_OF}.field.1 map[int64: int64]?}}",
        '[{"key": 1, "value": 2}]', {f"{ONE_OF}.field.0": None, f"{ONE_OF}.field.1": {1: 2}},
    ),
    "a list beside a map": (
        one({"oneOf": [{"type": "object", "connect.type": "map", "additionalProperties": WHOLE},
                       {"type": "array", "items": WHOLE}]}),
        f"struct{{{ONE_OF}.field.0 map[string: int64]?, {ONE_OF}.field.1 array[int64]?}}",
        "[1]", {f"{ONE_OF}.field.0": None, f"{ONE_OF}.field.1": [1]},
    ),
    "an object beside a map of entries": (
        one({"oneOf": [entries(WHOLE), one(WHOLE)]}),
        f"struct{{{ONE_OF}.field.0 map[int64: int64]?, {ONE_OF}.field.1 struct{{f int64}}?}}",
        '{"f": 1}', {f"{ONE_OF}.field.0": None, f"{ONE_OF}.field.1": {"f": 1}},
    ),
    "a day": (
        one({"type": "integer", "connect.type": "int32", "title": f"{CONNECT}Date"}), "Date", "1", JavaDate(DAY),
    ),
    "a moment": (
        one({"type": "integer", "connect.type": "int64", "title": f"{CONNECT}Timestamp"}),
        "Timestamp", "5", JavaDate(5),
    ),
    "a decimal as a number": (one(DECIMAL), "Decimal", "1.25", Decimal("1.25")),
    "a decimal as base64": (one(DECIMAL), "Decimal", '"fQ=="', Decimal("1.25")),
    "a reference": (one({"$ref": "#/definitions/T"}, definitions={"T": TEXT}), "string", '"a"', "a"),
    "a default": (one({**TEXT, "default": "b"}), "string", "null", "b"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_fields(case):
    document, type_, text, value = CASES[case]
    data = read(document)
    assert label(data.schema) == f"struct{{f {type_}}}"
    assert data.read(b'{"f": %s}' % text.encode()) == {"f": value}


OTHER_MAPS = {
    "required texts as entries": (TEXT, [{"key": "a", "value": 1}]),
    "texts or null as an object": ({"oneOf": [NULL, TEXT]}, {"a": 1}),
    "numbers as an object": (WHOLE, {"1": 1}),
    "a number among texts": ({"oneOf": [NULL, TEXT]}, [{"key": 1, "value": 1}]),
}


@pytest.mark.parametrize("case", OTHER_MAPS)
def test_maps_are_objects_exactly_if_their_keys_are_required_texts(case):
    keys, value = OTHER_MAPS[case]
    with pytest.raises(DataError, match="SMT414"):
        read(one(entries(keys))).read(json.dumps({"f": value}).encode())


def test_names_docs_and_versions_come_along():
    document = {"title": "shop.Order", "description": "an order", "connect.version": 3, **one({**TEXT, "title": "T"})}
    result = read(document).schema
    assert (result.name, result.doc, result.version) == ("shop.Order", "an order", 3)
    assert dict(result.fields)["f"].name == "T"


def test_fields_have_the_order_of_their_index_and_then_of_their_names():
    properties = {"z": TEXT, "a": TEXT, "last": {**TEXT, "connect.index": 1}, "first": {**TEXT, "connect.index": 0}}
    result = read({"type": "object", "properties": properties}).schema
    assert [name for name, _ in result.fields] == ["first", "last", "a", "z"]


def test_properties_may_be_missing_only_if_they_are_optional():
    data = read({"type": "object", "properties": {"a": TEXT, "b": {"oneOf": [NULL, TEXT]}}})
    assert data.read(b'{"a": "x"}') == {"a": "x", "b": None}
    with pytest.raises(DataError, match="SMT401"):
        data.read(b'{"b": "x"}')


def test_properties_that_are_not_required_are_optional_on_request():
    options = {"url": "http://registry:8081", "use.optional.for.nonrequired": "true"}
    document = {"type": "object", "properties": {"a": TEXT, "b": TEXT}, "required": ["a"]}
    result = json_schema_of(json.dumps(document), {}, Format("json-confluent", options=options), "schema 1")
    assert label(result.schema) == "struct{a string, b string?}"


def test_a_union_is_a_struct_with_one_field_for_each_type():
    data = read(one({"oneOf": [NULL, TEXT, WHOLE, one(TEXT)]}))
    name = "io.confluent.connect.json.OneOf"
    union = dict(data.schema.fields)["f"]
    assert (union.name, union.optional) == (name, True)
    assert [n for n, _ in union.fields] == [f"{name}.field.{n}" for n in range(3)]
    for text, number, value in (('"a"', 0, "a"), ("7", 1, 7), ('{"f": "x"}', 2, {"f": "x"})):
        row = data.read(b'{"f": %s}' % text.encode())["f"]
        assert {n: v for n, v in row.items() if v is not None} == {f"{name}.field.{number}": value}
    assert data.read(b'{"f": null}') == {"f": None}


def test_a_document_of_another_subject():
    data = read(one({"$ref": "address.json"}), **{"address.json": {"title": "Address", **one(TEXT)}})
    assert label(data.schema) == "struct{f struct{f string}}"
    assert dict(data.schema.fields)["f"].name == "Address"


@pytest.mark.parametrize(
    "document",
    [
        [],
        {"type": "nothing"},
        one({"type": "array"}),
        one({"$ref": "#/definitions/None"}),
        {"$ref": "#"},
        one({"$ref": "#/definitions/T"}, definitions={"T": one({"$ref": "#/definitions/T"})}),
        one({"type": "array", "connect.type": "map", "items": TEXT}),
    ],
)
def test_documents_that_cannot_be_used(document):
    with pytest.raises(ConfigError, match="SMT273"):
        read(document)


def test_a_document_that_is_nested_without_end_is_refused():
    node = TEXT
    for _ in range(150):
        node = one(node)
    with pytest.raises((ConfigError, DataError), match="SMT"):
        read(node)


def registered(registry, document, subject="orders-value"):
    return registry.add(subject, json.dumps(document), (), "JSON")


def bytes_of(number, data):
    return b"\0" + number.to_bytes(4, "big") + json.dumps(data).encode()


def test_records_name_their_schema_and_get_its_version():
    with Registry() as registry:
        registered(registry, one(TEXT))
        number = registered(registry, one(WHOLE, title="Order"))
        reader = RegistryReader(Format("json-confluent", options={"url": registry.url}), "value")
        schema, value = reader.read(bytes_of(number, {"f": 7}), "orders")
    assert (schema.name, schema.version, value) == ("Order", 2, {"f": 7})


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"{}", "SMT441"),
        (b"\0\0\0\0\x63{}", "SMT441"),
        (b"\0\0\0\0\x01{", "SMT4"),
        (b'\0\0\0\0\x01{"f": 1}', "SMT414"),
        (b"\0\0\0\0\x01", "SMT4"),
    ],
)
def test_records_that_cannot_be_read_have_a_code(data, code):
    with Registry() as registry:
        registered(registry, one(TEXT))
        reader = RegistryReader(Format("json-confluent", options={"url": registry.url}), "value")
        with pytest.raises(DataError, match=code):
            reader.read(data, "orders")


WRITTEN = Schema(
    Type.STRUCT,
    name="shop.Order",
    fields=(
        ("id", Schema(Type.INT32)),
        ("name", Schema(Type.STRING, optional=True)),
        ("day", Schema(Type.INT32, name=f"{CONNECT}Date", version=1)),
        ("amount", Schema(Type.BYTES, name=f"{CONNECT}Decimal", version=1, parameters=(("scale", "2"),))),
        ("tags", Schema(Type.ARRAY, values=Schema(Type.STRING))),
        ("counts", Schema(Type.MAP, keys=Schema(Type.STRING), values=Schema(Type.FLOAT64))),
        ("by_id", Schema(Type.MAP, keys=Schema(Type.INT64), values=Schema(Type.STRING))),
        ("by_name", Schema(Type.MAP, keys=Schema(Type.STRING, True), values=Schema(Type.INT64))),
        ("raw", Schema(Type.BYTES, optional=True)),
    ),
)
VALUE = {
    "id": 1,
    "name": None,
    "day": JavaDate((date(2026, 1, 31) - date(1970, 1, 1)).days * DAY),
    "amount": Decimal("12.50"),
    "tags": ["a"],
    "counts": {"a": 0.5},
    "by_id": {7: "x"},
    "by_name": {"a": 1, None: 2},
    "raw": b"\x01",
}


@pytest.mark.parametrize("decimals", ["BASE64", "NUMERIC"])
def test_what_is_written_is_read_again(decimals):
    with Registry() as registry:
        form = Format("json-confluent", decimal_format=decimals, options={"url": registry.url})
        codec = side_codec(form)
        data = codec.write(WRITTEN, VALUE, "orders")
        schema, value = codec.read(data, "orders")
    assert value == VALUE
    assert schema.with_(version=None) == WRITTEN


def test_the_document_has_confluents_words():
    document = json.loads(json_schema_out(WRITTEN, FORM).text)
    assert (document["type"], document["title"]) == ("object", "shop.Order")
    properties = document["properties"]
    assert properties["id"] == {"type": "integer", "connect.type": "int32", "connect.index": 0}
    assert properties["name"] == {"oneOf": [{"type": "null"}, {"type": "string"}], "connect.index": 1}
    assert properties["counts"]["connect.type"] == properties["by_id"]["connect.type"] == "map"


def test_the_default_of_a_map_has_the_form_of_its_values():
    keys = Schema(Type.INT64)
    schema = Schema(Type.MAP, keys=keys, values=Schema(Type.STRING), default={7: "x"})
    assert json.loads(json_schema_out(schema, FORM).text)["default"] == [{"key": 7, "value": "x"}]
    assert json.loads(json_schema_out(schema, FORM).write(None)) == [{"key": 7, "value": "x"}]
