"""Converts JSON Schema into Connect schemas, by the rules of Confluent's ``JsonSchemaData.toConnectSchema``.

A document is first converted into Connect's own schema JSON, which ``model.schema_json`` reads. That module also
interprets names, versions, defaults and logical types. Values are read as in Connect's JSON converter, except unions
and maps whose keys are not strings, or are optional strings.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from dagster_smt.errors import ConfigError, Problem
from dagster_smt.formats.json import Convert, reader, resolve_defaults
from dagster_smt.formats.json_schema.pointer import part_at
from dagster_smt.formats.parsing import converted, has_decimals
from dagster_smt.model.schema import Schema
from dagster_smt.model.schema_json import schema_from_json
from dagster_smt.model.schema_size import MAX_LEVELS, excess
from dagster_smt.model.topics.format import Format

ONE_OF = "io.confluent.connect.json.OneOf"
"""The name of the struct that represents a union (``JsonSchemaData``). The fields of the struct are called ``<this
name>.field.0``, ``<this name>.field.1`` and so on.
"""
_NUMBERS = ("int8", "int16", "int32", "int64", "float32", "float64", "bytes")
_PLAIN = {"boolean": "boolean", "string": "string", "integer": "int64", "number": "double"}
_CONNECT = {"float32": "float", "float64": "double"}
_PYTHON: dict[str, tuple[type, ...]] = {
    "boolean": (bool,),
    "string": (str,),
    "int64": (int,),
    "int32": (int,),
    "double": (int, float, Decimal),
    "struct": (dict,),
    "array": (list,),
}
Prepare = Callable[[Any], Any]
Node = tuple[dict[str, Any], Prepare | None]
"""The result for one node (subschema) of a JSON Schema: Connect's schema JSON, and a function that prepares the values
of the node for the JSON reader. None means that the values need no preparation.
"""


@dataclass(frozen=True)
class JsonSchema:
    """A JSON Schema with its Connect schema and a reader.

    Attributes:
        schema: The Connect schema.
        name: The title of the schema; None if the schema has no title.
        read: A function from JSON to the value; it raises ``DataError``.
    """

    schema: Schema
    name: str | None
    read: Callable[[bytes], Any]


def json_schema_of(text: str, references: Mapping[str, str], form: Format, place: str) -> JsonSchema:
    """Converts the document ``text`` into a schema with a reader.

    Args:
        text: The document.
        references: Maps the names that ``$ref`` uses to the texts of other documents.
        form: The format of the values.
        place: The name of the schema in messages.

    Raises:
        ConfigError: SMT273 if the document is not JSON Schema, or if this package cannot read a part of it.
    """
    optional = form.settings.get("use.optional.for.nonrequired", "").lower() == "true"
    try:
        documents = {}
        for name, other in {**references, "": text}.items():
            documents[name] = json.loads(other)
    except (ValueError, RecursionError):
        raise ConfigError(_problem(place, "it is not JSON")) from None
    connect, prepare = _NodeReader(documents, optional, place).read(documents[""], "", ())
    schema = resolve_defaults(schema_from_json(connect, place=place), form)
    reason, exact = excess(schema), has_decimals(schema)
    if reason is not None:
        raise ConfigError(_problem(place, reason))
    convert = reader(schema, form)
    whole: Convert = convert if prepare is None else lambda data: convert(prepare(data))
    return JsonSchema(schema, schema.name, lambda data: converted(whole, data, exact))


def _problem(place: str, statement: str) -> Problem:
    return Problem("SMT273", place, f"the JSON Schema cannot be used: {statement}", "register another schema")


class _NodeReader:
    """A reader that converts the nodes (subschemas) of a JSON Schema into Connect's schema JSON. For each node, it also
    returns a function that prepares the values of the node for the JSON reader.
    """

    def __init__(self, documents: Mapping[str, Any], optional: bool, place: str):
        self.documents, self.optional, self.place = documents, optional, place

    def read(self, node: Any, document: str, around: tuple[str, ...]) -> Node:
        """Returns Connect's schema JSON for ``node``, and a function that prepares the values of the node.

        Args:
            node: A subschema.
            document: The name of the document that contains the node.
            around: One string per level above the node, to find cycles: the ``$ref`` that led to the level, or "".
        """
        if len(around) > MAX_LEVELS:
            raise ConfigError(_problem(self.place, f"it has more than {MAX_LEVELS} levels"))
        if not isinstance(node, dict):
            raise ConfigError(_problem(self.place, "a schema is not an object"))
        if "$ref" in node:
            return self._referred(str(node["$ref"]), document, around)
        branches = _branches(node)
        if branches is not None:
            schema, prepare = self._union(node, branches, document, around)
        else:
            schema, prepare = self._typed(node, document, (*around, ""))
        return {**schema, **_about(node, schema)}, prepare

    def _referred(self, reference: str, document: str, around: tuple[str, ...]) -> Node:
        name, _, pointer = reference.partition("#")
        name = name or document
        if f"{name}#{pointer}" in around:
            raise ConfigError(_problem(self.place, f"{reference} contains itself"))
        node = part_at(self.documents.get(name), pointer)
        if node is None:
            raise ConfigError(_problem(self.place, f"{reference} is unknown"))
        return self.read(node, name, (*around, f"{name}#{pointer}"))

    def _union(self, node: Mapping[str, Any], branches: Sequence[Any], document: str, around: tuple[str, ...]) -> Node:
        """Returns Connect's schema JSON for ``node``, a union, and a function that prepares its values. ``branches``
        contains the types of the union, as subschemas.

        A union of null and one type becomes an optional type. A union of several types becomes a struct with one
        optional field per type.
        """
        others = []
        for branch in branches:
            if not (isinstance(branch, dict) and branch.get("type") == "null"):
                others.append(branch)
        nullable = len(others) < len(branches)
        if len(others) == 1:
            schema, prepare = self.read(others[0], document, (*around, ""))
            return {**schema, "optional": nullable or schema.get("optional", False)}, _unless_null(prepare)
        fields, choices = [], []
        for number, branch in enumerate(others):
            schema, prepare = self.read(branch, document, (*around, ""))
            name = f"{ONE_OF}.field.{number}"
            fields.append({**schema, "optional": True, "field": name})
            choices.append((name, schema, prepare))
        union = {"type": "struct", "name": ONE_OF, "optional": nullable, "fields": fields}
        return union, lambda data: None if data is None else _chosen(data, choices)

    def _typed(self, node: Mapping[str, Any], document: str, around: tuple[str, ...]) -> Node:
        kind, connect = node.get("type"), node.get("connect.type")
        if kind is None:
            kind = _implied(node)
        if kind in ("integer", "number") and connect in _NUMBERS:
            return {"type": _CONNECT.get(str(connect), connect)}, None
        if kind == "string" and connect == "bytes":
            return {"type": "bytes"}, None
        if kind in _PLAIN and connect in (None, "string", "boolean"):
            return {"type": _PLAIN[str(kind)]}, None
        if kind == "array" and connect == "map":
            return self._map_of_entries(node, document, around)
        if kind == "array":
            items, prepare = self.read(node.get("items"), document, around)
            return {"type": "array", "items": items}, _of_list(prepare)
        if kind == "object" and connect == "map":
            values, prepare = self.read(node.get("additionalProperties"), document, around)
            return {"type": "map", "keys": {"type": "string"}, "values": values}, _of_values(prepare)
        if kind == "object":
            return self._struct(node, document, around)
        raise ConfigError(_problem(self.place, f"the type {kind} has no Connect type"))

    def _map_of_entries(self, node: Mapping[str, Any], document: str, around: tuple[str, ...]) -> Node:
        entry = node.get("items")
        properties = entry.get("properties") if isinstance(entry, dict) else None
        if not isinstance(properties, dict) or not {"key", "value"} <= properties.keys():
            raise ConfigError(_problem(self.place, "a map has no properties key and value"))
        keys, of_key = self.read(properties["key"], document, around)
        values, of_value = self.read(properties["value"], document, around)

        def pairs(data: Any) -> Any:
            if not isinstance(data, list):
                return data
            entries = []
            for item in data:
                if not isinstance(item, dict):
                    return data
                key, value = item.get("key"), item.get("value")
                entries.append([of_key(key) if of_key else key, of_value(value) if of_value else value])
            return entries

        # ``pairs`` leaves an object as it is: JsonSchemaData reads a map as an object if its keys are required strings
        return {"type": "map", "keys": keys, "values": values}, _unless_null(pairs)

    def _struct(self, node: Mapping[str, Any], document: str, around: tuple[str, ...]) -> Node:
        properties = node.get("properties")
        required = node.get("required")
        names = required if isinstance(required, list) else []
        fields, prepares = [], {}
        for name, child in _sorted(properties if isinstance(properties, dict) else {}):
            schema, prepare = self.read(child, document, around)
            if self.optional and name not in names:
                schema = {**schema, "optional": True}
            fields.append({**schema, "field": name})
            if prepare is not None:
                prepares[name] = prepare
        return {"type": "struct", "fields": fields}, _of_fields(prepares)


def _branches(node: Mapping[str, Any]) -> Sequence[Any] | None:
    """Returns the types of ``node`` if it is a union, else None. ``{"type": ["null", "string"]}`` is also a union."""
    for word in ("oneOf", "anyOf"):
        if isinstance(node.get(word), list):
            return list(node[word])
    kinds = node.get("type")
    if isinstance(kinds, list):
        rest = {}
        for k, v in node.items():
            if k not in ("type", "title", "default", "description"):
                rest[k] = v
        branches = []
        for kind in kinds:
            branches.append({"type": kind} if kind == "null" else {**rest, "type": kind})
        return branches
    return None


def _implied(node: Mapping[str, Any]) -> str | None:
    """Returns the type of a subschema ``node`` that does not name its type. The type is ``string`` if all values in the
    subschema's ``enum`` or ``const`` are strings, or ``object`` if the subschema has ``properties``. Otherwise returns
    None.
    """
    values = node.get("enum")
    if values is None and "const" in node:
        values = [node["const"]]
    if isinstance(values, list) and all(isinstance(value, str) for value in values):
        return "string"
    if "properties" in node:
        return "object"
    return None


def _sorted(properties: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Returns ``properties`` sorted by ``connect.index``. Properties without an index follow, sorted by name."""

    def order(entry: tuple[str, Any]) -> tuple[float, str]:
        index = entry[1].get("connect.index") if isinstance(entry[1], dict) else None
        return (index if type(index) is int else float("inf"), entry[0])

    return sorted(properties.items(), key=order)


def _about(node: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the metadata of ``node`` in Connect's schema JSON: name, version, doc, parameters and default."""
    about: dict[str, Any] = {}
    for key, word in (("name", "title"), ("doc", "description"), ("version", "connect.version")):
        # the struct of a union keeps its own name, ``ONE_OF``, by which Connect recognizes the union
        if word in node and not (key == "name" and "name" in schema):
            about[key] = node[word]
    parameters = node.get("connect.parameters")
    if isinstance(parameters, dict):
        texts = {}
        for name, value in parameters.items():
            texts[name] = str(value)
        about["parameters"] = texts
    if node.get("default") is not None and schema["type"] not in ("struct", "map", "array"):
        about["default"] = node["default"]
    return about


def _unless_null(prepare: Prepare | None) -> Prepare | None:
    if prepare is None:
        return None
    return lambda data: None if data is None else prepare(data)


def _of_list(prepare: Prepare | None) -> Prepare | None:
    if prepare is None:
        return None
    return lambda data: [prepare(item) for item in data] if isinstance(data, list) else data


def _of_values(prepare: Prepare | None) -> Prepare | None:
    if prepare is None:
        return None
    return lambda data: {k: prepare(v) for k, v in data.items()} if isinstance(data, dict) else data


def _of_fields(prepares: Mapping[str, Prepare]) -> Prepare | None:
    if not prepares:
        return None

    def prepare(data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        changed = dict(data)
        for name, own in prepares.items():
            if name in changed:
                changed[name] = own(changed[name])
        return changed

    return prepare


def _chosen(data: Any, choices: Sequence[tuple[str, Mapping[str, Any], Prepare | None]]) -> Any:
    """Converts ``data``, a value of a union, into the struct that represents the union. Only one field of the struct is
    set: the field of the first item in ``choices`` whose schema fits ``data``. If no item fits, returns ``data``
    unchanged.

    Each item of ``choices`` is a triple: the name of a field, the schema of the field, and a function that prepares the
    value for the field.
    """
    for name, schema, prepare in choices:
        kinds = _python_types(schema)
        # a bool is an int in Python, but JSON's true is not a number
        fits = isinstance(data, kinds) and not (isinstance(data, bool) and bool not in kinds)
        if fits and _has_fields(data, schema):
            return {name: prepare(data) if prepare else data}
    return data  # the reader of the struct rejects this value


def _python_types(schema: Mapping[str, Any]) -> tuple[type, ...]:
    """Returns the Python types of the values of ``schema`` in parsed JSON."""
    if schema["type"] == "map":
        keys = schema["keys"]
        # a list of entries, unless the keys are required strings
        return (dict,) if keys["type"] == "string" and not keys.get("optional") else (list,)
    # any other type is a number, or bytes and decimals, which are strings or numbers in JSON
    return _PYTHON.get(str(schema["type"]), (str, int, float, Decimal))


def _has_fields(data: Any, schema: Mapping[str, Any]) -> bool:
    if schema["type"] != "struct" or not isinstance(data, dict):
        return True
    needed = set()
    for field in schema["fields"]:
        if not field.get("optional"):
            needed.add(field["field"])
    return needed <= data.keys()
