"""JSON in a text, under the schema that its values have (Debezium 3.6.1, ``JsonSchemaData``)."""

import json
from dataclasses import dataclass
from functools import lru_cache, reduce
from typing import Any, NoReturn

from dagster_smt.model.java_text import trim
from dagster_smt.model.schema import INTEGER_BITS, Schema, Type
from dagster_smt.transforms.debezium.events.avro_names import adjusted_name
from dagster_smt.values.basic import PythonRule

_LIMITS = tuple((kind, 1 << INTEGER_BITS[kind] - 1) for kind in (Type.INT32, Type.INT64))


class Unfit(ValueError):
    """A text is no JSON, or its values have no schema in common."""


@dataclass(frozen=True, slots=True)
class ExpandJson(PythonRule):
    """The struct in a JSON text; null stays null. For texts that have a schema (``schema``).

    Attributes:
        name: The name of the schema; those of structs inside it have it in front of theirs.
        nulls: Whether a null is a field of optional bytes; else it is left out.
        mode: How the names of fields are made to fit Avro's rules.
    """

    name: str
    nulls: bool = False
    mode: str = "none"

    def python(self, text: str | None) -> Any:
        if text is None:
            return None
        schema, tree = _read(self, text)
        return self._value(tree, schema)

    def schema(self, text: str) -> Schema | None:
        """The schema of the object in a text; None if there is none, or none with a schema."""
        try:
            schema, tree = _read(self, text)
            self._value(tree, schema)  # a schema may fit the first of some values only
            return schema
        except (ValueError, RecursionError):
            return None

    def inferred(self, key: str | None, value: Any) -> Schema | None:
        """The schema of a value, always optional; None if it has none.

        Raises:
            Unfit: The elements of an array are not of one kind.
        """
        if isinstance(value, dict):
            return Schema(Type.STRUCT, True, key, fields=tuple(self._fields(key, value).items()))
        if isinstance(value, list):
            if value:
                return Schema(Type.ARRAY, True, values=self._items(key, value))
            return None
        if value is None:
            if self.nulls:
                return Schema(Type.BYTES, True)
            return None
        return Schema(_simple(value), True)

    def _fields(self, key: str | None, value: dict[str, Any]) -> dict[str, Schema]:
        found: dict[str, Schema] = {}
        for name, child in value.items():
            field = self._field(name)
            schema = self.inferred(f"{key}.{field}" if key and trim(key) else field, child)
            if schema is not None and not field:
                raise Unfit("a field has no name")
            if schema is not None:
                found.setdefault(field, schema)
        return found

    def _field(self, name: str) -> str:
        return adjusted_name(name, self.mode, dots=False)

    def _items(self, key: str | None, items: list[Any]) -> Schema:
        """The schema of the elements of an array; objects may differ in their fields."""
        there = [item for item in items if item is not None]
        if len({_kind(item) for item in there}) > 1:
            raise Unfit("the elements of an array are of several kinds")
        if there and isinstance(there[0], dict):
            schemas = dict.fromkeys(self.inferred(key, item) for item in there)
            return reduce(_joined_items, (schema for schema in schemas if schema is not None))
        schema = self.inferred(None, there[0] if there else None)
        if schema is None:
            raise Unfit("the elements of an array have no schema")
        return schema

    def _value(self, value: Any, schema: Schema) -> Any:
        """A value under a schema that was made of one of its kind.

        Raises:
            Unfit: It is of another kind.
        """
        if value is None:
            if schema.optional:
                return None
            return _unfit()
        if schema.type is Type.STRUCT:
            if isinstance(value, dict):
                return self._struct(value, schema)
            return _unfit()
        if schema.type is Type.ARRAY:
            assert schema.values is not None
            if isinstance(value, list):
                return [self._value(v, schema.values) for v in value]
            return _unfit()
        if isinstance(value, dict | list) or _simple(value, False) is not schema.type:
            return _unfit()
        return value

    def _struct(self, value: dict[str, Any], schema: Schema) -> dict[str, Any]:
        """The original looks for the new names of fields, and finds no value where they are not the old ones.

        So of two fields that get one name, the one that has it already counts.
        """
        found: dict[str, Any] = {}
        for name, child in value.items():
            field = self._field(name)
            if field == name or found.get(field) in (None, []):  # what has no schema gives way to what has one
                found[field] = child
        return {name: self._value(found.get(name), child) for name, child in schema.fields}


def _unfit() -> NoReturn:
    raise Unfit("a value is of another type than those before it")


def _joined(left: Schema, right: Schema) -> Schema:
    """One schema for a field that has two: the first of them, unless it says less than the other.

    In the original the order is that of a Java hash set, and what a struct inside has more in the other one is lost.
    """
    if left == right or right.type is Type.BYTES:
        return left
    if left.type is Type.BYTES:
        return right
    if left.type is right.type is Type.STRUCT:
        both = {name: _joined(left.by_name.get(name, schema), schema) for name, schema in right.fields}
        return left.with_(fields=tuple((dict(left.fields) | both).items()))
    if left.type is right.type is Type.ARRAY:
        assert left.values is not None and right.values is not None
        return left.with_(values=_joined(left.values, right.values))
    return left


def _joined_items(left: Schema, right: Schema) -> Schema:
    return _joined(left, right).with_(optional=False)


def _no_number(text: str) -> NoReturn:
    raise Unfit("JSON has no such number")


_DECODER = json.JSONDecoder(parse_constant=_no_number)


@lru_cache(maxsize=1)
def _read(rule: ExpandJson, text: str) -> tuple[Schema, Any]:
    """Schema and content of a text: both are asked for, one after the other, for each record."""
    if not text.startswith("{"):
        raise Unfit("it is no object")
    tree, _ = _DECODER.raw_decode(text)
    if "\\u" in text:
        json.dumps(tree, ensure_ascii=False).encode()  # half of a character can be in no text that is written
    schema = rule.inferred(rule.name, tree)
    assert schema is not None
    return schema, tree


def _kind(value: Any) -> Any:
    if isinstance(value, dict | list):
        return type(value)
    return _simple(value)


def _simple(value: Any, huge: bool = True) -> Type:
    """The type of a text, boolean or number. ``huge``: a whole number beyond 64 bits is a double, as in a schema."""
    if isinstance(value, str):
        return Type.STRING
    if isinstance(value, bool):
        return Type.BOOLEAN
    if isinstance(value, int):
        found = next((kind for kind, limit in _LIMITS if -limit <= value < limit), None)
        if found is None and not huge:
            raise Unfit("a number has more than 64 bits")
        return found or Type.FLOAT64
    return Type.FLOAT64
