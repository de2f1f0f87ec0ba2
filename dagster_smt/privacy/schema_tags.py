"""Reads tags from schemas. In Avro and JSON Schema, the key ``confluent:tags`` contains the tags; in Protobuf,
Confluent's field option contains them.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from google.protobuf.descriptor_pb2 import DescriptorProto

from dagster_smt.errors import ConfigError, Problem
from dagster_smt.formats.json_schema.pointer import part_at
from dagster_smt.formats.protobuf.files import ENTRY, MESSAGE, field_tags, message_of, pool_of
from dagster_smt.model.schema_size import MAX_LEVELS, MAX_NODES
from dagster_smt.privacy.field_paths import EVERY, Steps

TAGS = "confluent:tags"


@dataclass(frozen=True, slots=True)
class SchemaField:
    """A field of a schema.

    Attributes:
        steps: The path of the field.
        name: The full name of the field, such as ``shop.Order.email``. A registry's metadata names fields in this way.
        tags: The field's tags in the schema.
        is_leaf: True if the field has no inner fields.
    """

    steps: Steps
    name: str
    tags: tuple[str, ...]
    is_leaf: bool


def avro_fields(text: str, references: Sequence[str] = (), place: str = "avro") -> list[SchemaField]:
    """Returns the fields of the Avro schema ``text`` as Connect sees them. For example, a union of ``null`` and one
    other type is an optional field.

    A union of several types is one field. It has the tags of all fields inside the union, because a policy cannot
    address these fields separately.

    Raises:
        ConfigError: SMT763 if the string is not such a schema.
    """
    walk = _Avro(place)
    with _well_formed(place):
        for reference in references:
            walk.names_in(_json(reference, place))
        schema = _json(text, place)
        walk.names_in(schema)
        fields = list(walk.fields(schema, (), ()))
    return fields


def json_fields(text: str, place: str = "json") -> list[SchemaField]:
    """Returns the fields of the JSON Schema ``text``. A reference to another document has no fields.

    Raises:
        ConfigError: SMT763 if the string is not such a schema.
    """
    document = _json(text, place)
    with _well_formed(place):
        fields = list(_JsonSchema(document, place).fields(document, (), "$", ()))
    return fields


def protobuf_fields(files: Sequence[bytes], message: str | Sequence[int], place: str) -> list[SchemaField]:
    """Returns the fields of a Protobuf message as Connect sees them. For example, a oneof is a struct.

    Args:
        files: The descriptors of the Protobuf files.
        message: The full name of the message, or its position in the last file, such as ``(1,)`` for the second
            message.
        place: The location of the schema, for errors.

    Raises:
        ConfigError: SMT273 if the files are not a Protobuf schema.
    """
    pool, file = pool_of(files, place)
    return list(_message(message_of(pool, file, message, place), (), ()))


def _json(text: str, place: str) -> Any:
    try:
        return json.loads(text)
    # deeply nested JSON exceeds Python's recursion limit
    except (ValueError, RecursionError):
        raise _unreadable(place, "it is not JSON") from None


@contextmanager
def _well_formed(place: str) -> Iterator[None]:
    """Raises SMT763 if a part of a schema has a wrong JSON type, such as a number in place of the list of fields."""
    try:
        yield
    except (AttributeError, TypeError):
        raise _unreadable(place, "a part of it has the wrong type") from None


def _unreadable(place: str, statement: str) -> ConfigError:
    hint = "fix the schema at its source, or write its tags into a file of paths"
    return ConfigError(Problem("SMT763", place, f"no tags can be read from the schema: {statement}", hint))


def _texts(tags: Any) -> tuple[str, ...]:
    if isinstance(tags, str):
        return (tags,)
    return tuple(map(str, tags)) if isinstance(tags, list) else ()


class _Avro:
    def __init__(self, place: str):
        self.place = place
        self.types: dict[str, tuple[Any, str]] = {}
        self.count = 0

    def names_in(self, schema: Any, space: str = "", level: int = 0) -> None:
        """Stores the named types in ``schema`` under their full names, such as ``shop.Order``, so that later references
        to them can be resolved.
        """
        if level > 3 * MAX_LEVELS:
            raise _unreadable(self.place, "it has too many levels")
        if isinstance(schema, list):
            for member in schema:
                self.names_in(member, space, level + 1)
        if not isinstance(schema, dict):
            return
        if isinstance(schema.get("type"), dict | list):
            self.names_in(schema["type"], space, level + 1)
        if schema.get("name") and schema.get("type") in ("record", "error", "enum", "fixed"):
            full, space = _full_name(schema, space)
            self.types[full] = (schema, space)
        for field in schema.get("fields") or ():
            if isinstance(field, dict):
                self.names_in(field.get("type"), space, level + 1)
        for inner in ("items", "values"):
            self.names_in(schema.get(inner), space, level + 1)

    def fields(self, schema: Any, above: Steps, around: tuple[str, ...], space: str = "") -> Iterator[SchemaField]:
        """Yields the fields of the Avro type ``schema``, and the fields inside them.

        Args:
            schema: The type.
            above: The path of the field that has this type; empty for the whole value.
            around: The full names of the Avro records that enclose the type.
            space: The namespace in which names without a namespace are resolved.
        """
        schema, space = self._resolved(schema, space)
        kind = schema.get("type") if isinstance(schema, dict) else schema
        if kind in ("array", "map"):
            inner = schema.get("items" if kind == "array" else "values")
            yield from self._of_type(inner, (*above, EVERY), around, space)
        if kind not in ("record", "error"):
            return
        full, space = _full_name(schema, space)
        if full in around or len(around) > MAX_LEVELS:
            return  # Connect has no schema for this type
        for field in schema.get("fields") or ():
            yield from self._field(field, schema, full, above, (*around, full), space)

    def _field(
        self, field: Any, record: Any, full: str, above: Steps, around: tuple[str, ...], space: str
    ) -> Iterator[SchemaField]:
        if not isinstance(field, dict) or not isinstance(field.get("name"), str):
            raise _unreadable(self.place, "a field has no name")
        steps, kind = (*above, field["name"]), field.get("type")
        inherited = _texts(record.get(TAGS))
        tags = _unique((*inherited, *_texts(field.get(TAGS)), *self._in_union(kind, around, space)))
        inner = list(self._of_type(kind, steps, around, space))
        yield self._counted(SchemaField(steps, f"{full}.{field['name']}", tags, not inner))
        yield from inner

    def _of_type(self, kind: Any, steps: Steps, around: tuple[str, ...], space: str) -> Iterator[SchemaField]:
        members = _members(kind)
        if len(members) == 1:
            yield from self.fields(members[0], steps, around, space)

    def _in_union(self, kind: Any, around: tuple[str, ...], space: str) -> Iterator[str]:
        """Yields the tags of all fields inside the union ``kind``. Yields nothing if the union has only one type
        besides ``null``.
        """
        members = _members(kind)
        if len(members) > 1:
            for member in members:
                for field in self.fields(member, (), around, space):
                    yield from field.tags

    def _resolved(self, schema: Any, space: str) -> tuple[Any, str]:
        # Avro permits types inside types: {"type": {"type": "string"}} is a string
        while isinstance(schema, dict) and isinstance(schema.get("type"), dict):
            schema = schema["type"]
        if isinstance(schema, dict) and isinstance(schema.get("type"), str) and "fields" not in schema:
            name = schema["type"]
        else:
            name = schema if isinstance(schema, str) else ""
        if "." not in name and f"{space}.{name}" in self.types:
            name = f"{space}.{name}"
        # as in Avro's Java library, a name that is unknown in its namespace means the type without a namespace
        return self.types.get(name, (schema, space))

    def _counted(self, field: SchemaField) -> SchemaField:
        self.count += 1
        # a type is expanded at each of its uses, so a few lines of a schema can describe billions of fields
        if self.count > MAX_NODES:
            raise _unreadable(self.place, f"it has more than {MAX_NODES} fields")
        return field


def _full_name(schema: Mapping[str, Any], space: str) -> tuple[str, str]:
    """Returns the full name of an Avro type, and the namespace of the types inside it. A type ``Order`` in the
    namespace ``shop`` gives ``("shop.Order", "shop")``.

    Args:
        schema: The type.
        space: The namespace around the type.
    """
    name = str(schema.get("name", ""))
    # as in Avro's Java library, null is no namespace of its own
    if schema.get("namespace") is not None:
        space = str(schema["namespace"])
    if "." in name:
        return name, name.rpartition(".")[0]
    return (f"{space}.{name}" if space else name), space


def _members(kind: Any) -> list[Any]:
    members = kind if isinstance(kind, list) else [kind]
    return [member for member in members if member != "null"]


def _unique(tags: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(tags))


class _JsonSchema:
    def __init__(self, document: Any, place: str):
        self.document, self.place, self.count = document, place, 0

    def fields(self, schema: Any, above: Steps, name: str, around: tuple[str, ...]) -> Iterator[SchemaField]:
        """Yields the fields of the JSON Schema ``schema``, and the fields inside them.

        Args:
            schema: The schema of a field, or of the whole value.
            above: The path of this field; empty for the whole value.
            name: The full name of this field.
            around: An item for each step that led to ``schema``. If the step is a reference, the item is its text, such
                as ``#/$defs/address``. For other steps, it is an empty string.
        """
        if not isinstance(schema, dict) or len(around) > MAX_LEVELS:
            return
        reference = schema.get("$ref")
        if isinstance(reference, str) and reference not in around:
            yield from self.fields(self._at(reference), above, name, (*around, reference))
        for property_, child in (schema.get("properties") or {}).items():
            yield from self._property(property_, child, above, name, around)
        for word in ("items", "additionalProperties"):
            yield from self.fields(schema.get(word), (*above, EVERY), name, (*around, ""))
        for word in ("oneOf", "anyOf", "allOf"):
            for member in schema.get(word) or ():
                yield from self.fields(member, above, name, (*around, ""))

    def _property(
        self, property_: str, child: Any, above: Steps, name: str, around: tuple[str, ...]
    ) -> Iterator[SchemaField]:
        self.count += 1
        if self.count > MAX_NODES:
            raise _unreadable(self.place, f"it has more than {MAX_NODES} fields")
        steps, full = (*above, property_), f"{name}.{property_}"
        inner = list(self.fields(child, steps, full, (*around, "")))
        tags = _texts(child.get(TAGS)) if isinstance(child, dict) else ()
        yield SchemaField(steps, full, tags, not inner)
        yield from inner

    def _at(self, reference: str) -> Any:
        if not reference.startswith("#"):
            return None
        return part_at(self.document, reference[1:])


def _message(descriptor: Any, above: Steps, around: tuple[str, ...]) -> Iterator[SchemaField]:
    """Yields the fields of the Protobuf message ``descriptor``, and the fields inside them.

    Args:
        descriptor: The descriptor of the message.
        above: The path of the field that has this message as its type; empty for the whole value.
        around: The full names of the enclosing messages.
    """
    if descriptor.full_name in around or len(around) > MAX_LEVELS:
        return
    around = (*around, descriptor.full_name)
    for field in descriptor.fields:
        oneof = field.containing_oneof
        place = above
        if oneof is not None and not _is_synthetic(oneof):
            # Confluent's converter turns a oneof into a struct with this name
            place = (*above, f"{oneof.name}_{oneof.index}")
        steps = (*place, field.name)
        inner = list(_values(field, steps, around))
        yield SchemaField(steps, field.full_name, field_tags(field), not inner)
        yield from inner


def _values(field: Any, steps: Steps, around: tuple[str, ...]) -> Iterator[SchemaField]:
    if field.type != MESSAGE:
        return
    message = field.message_type
    if message.GetOptions().map_entry and message.name.endswith(ENTRY):
        yield from _values(message.fields_by_name["value"], (*steps, EVERY), around)
        return
    if message.full_name.startswith(("google.", "confluent.")):
        return  # Connect converts this message to a single value
    yield from _message(message, (*steps, EVERY) if field.is_repeated else steps, around)


def _is_synthetic(oneof: Any) -> bool:
    """Returns True if ``oneof`` was added by the Protobuf compiler for an ``optional`` field of proto3, and is not in
    the schema's text.
    """
    message = DescriptorProto()
    oneof.containing_type.CopyToProto(message)
    optional = {field.name for field in message.field if field.proto3_optional}
    return all(field.name in optional for field in oneof.fields)
