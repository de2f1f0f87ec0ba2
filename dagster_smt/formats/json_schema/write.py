"""Converts Connect schemas into JSON Schema, by the rules of Confluent's ``JsonSchemaData.fromConnectSchema``."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dagster_smt.formats.json import writer
from dagster_smt.model.schema import Schema, Type
from dagster_smt.model.topics.format import Format
from dagster_smt.values.json.lazy import encoder

_TYPES = {
    Type.BOOLEAN: {"type": "boolean"},
    Type.STRING: {"type": "string"},
    Type.BYTES: {"type": "string", "connect.type": "bytes"},
    Type.FLOAT32: {"type": "number", "connect.type": "float32"},
    Type.FLOAT64: {"type": "number", "connect.type": "float64"},
}
_DIALECT = "http://json-schema.org/draft-07/schema#"


@dataclass(frozen=True)
class JsonSchemaOut:
    """A JSON Schema document with a writer.

    Attributes:
        name: The schema's title; None if the schema has no title.
        text: The document.
        write: A function from a value to JSON; it raises ``DataError``.
    """

    name: str | None
    text: str
    write: Callable[[Any], bytes]


def json_schema_out(schema: Schema, form: Format) -> JsonSchemaOut:
    """Converts ``schema``, a Connect schema, into a JSON Schema with a writer."""
    convert = _json_writer(schema, form)

    def write(value: Any) -> bytes:
        return encoder.encode(convert(value))

    document = {"$schema": _DIALECT, **_document(schema, form)}
    return JsonSchemaOut(schema.name, encoder.encode(document).decode(), write)


def _json_writer(schema: Schema, form: Format) -> Callable[[Any], Any]:
    """Returns a function that converts values of ``schema`` into data for the JSON encoder."""
    convert, entries = writer(schema, form), _entries(schema)
    if entries is None:
        return convert
    return lambda value: entries(convert(value))


def _document(schema: Schema, form: Format, index: int | None = None) -> dict[str, Any]:
    node = _typed(schema, form)
    if schema.name:
        node["title"] = schema.name
    if schema.version is not None:
        node["connect.version"] = schema.version
    if schema.doc:
        node["description"] = schema.doc
    if schema.parameters:
        node["connect.parameters"] = dict(schema.parameters)
    if schema.default is not None:
        node["default"] = _json_writer(schema, form)(schema.default)
    # as in ``JsonSchemaData``, an optional type is a union with null
    if schema.optional:
        node = {"oneOf": [{"type": "null"}, node]}
    # the properties of a JSON object have no order, and readers sort the fields by the index
    if index is not None:
        node["connect.index"] = index
    return node


def _typed(schema: Schema, form: Format) -> dict[str, Any]:
    if schema.logical == "Decimal":
        return {"type": "number", "connect.type": "bytes"}
    if schema.type is Type.STRUCT:
        fields = {}
        for n, (name, child) in enumerate(schema.fields):
            fields[name] = _document(child, form, n)
        return {"type": "object", "properties": fields}
    if schema.type is Type.ARRAY:
        return {"type": "array", "items": _document(schema.values, form) if schema.values else {}}
    if schema.type is Type.MAP:
        return _map(schema, form)
    if schema.type in _TYPES:
        return dict(_TYPES[schema.type])
    return {"type": "integer", "connect.type": schema.type.value}


def _map(schema: Schema, form: Format) -> dict[str, Any]:
    assert schema.keys is not None
    assert schema.values is not None
    if _has_texts_as_keys(schema):
        return {"type": "object", "connect.type": "map", "additionalProperties": _document(schema.values, form)}
    parts = {"key": _document(schema.keys, form, 0), "value": _document(schema.values, form, 1)}
    return {"type": "array", "connect.type": "map", "items": {"type": "object", "properties": parts}}


def _has_texts_as_keys(schema: Schema) -> bool:
    return schema.keys is not None and schema.keys.type is Type.STRING and not schema.keys.optional


def _entries(schema: Schema) -> Callable[[Any], Any] | None:
    """Returns a function that writes certain maps inside a value as lists of objects: the maps whose keys are not
    strings. Connect's pair ``[1, "a"]`` becomes ``{"key": 1, "value": "a"}``. Returns None if ``schema`` contains no
    such map.
    """
    if schema.type is Type.STRUCT:
        inner = {}
        for name, child in schema.fields:
            if (own := _entries(child)) is not None:
                inner[name] = own
        if not inner:
            return None
        return lambda data: None if data is None else _changed(data, inner)
    own = _entries(schema.values) if schema.values is not None else None
    if schema.type is Type.ARRAY and own is not None:
        return lambda data: None if data is None else [own(item) for item in data]
    if schema.type is not Type.MAP:
        return None
    return _of_map(schema, own)


def _of_map(schema: Schema, own: Callable[[Any], Any] | None) -> Callable[[Any], Any] | None:
    def value_of(value: Any) -> Any:
        return value if own is None else own(value)

    def objects(data: Any) -> Any:
        pairs = data.items() if isinstance(data, dict) else data or ()
        return None if data is None else [{"key": k, "value": value_of(v)} for k, v in pairs]

    if not _has_texts_as_keys(schema):
        return objects
    if own is None:
        return None
    return lambda data: None if data is None else {k: own(v) for k, v in data.items()}


def _changed(data: dict[str, Any], inner: dict[str, Callable[[Any], Any]]) -> dict[str, Any]:
    return {name: inner[name](value) if name in inner else value for name, value in data.items()}
