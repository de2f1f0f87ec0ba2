"""Converts a JSON string into a struct. The schema is inferred from the values (``JsonSchemaData`` of Debezium
3.6.1).
"""

import json
from dataclasses import dataclass
from functools import lru_cache, reduce
from typing import Any, NoReturn

from dagster_smt.model.java_text import trim
from dagster_smt.model.schema import INTEGER_BITS, Schema, Type
from dagster_smt.transforms.debezium.events.avro_names import adjusted_name
from dagster_smt.values.value_rule import PythonRule

_LIMITS = tuple((kind, 1 << INTEGER_BITS[kind] - 1) for kind in (Type.INT32, Type.INT64))  # 2^31 and 2^63


class NoSchemaError(ValueError):
    """Raised for a string that is not JSON, and for values without a common schema."""


@dataclass(frozen=True, slots=True)
class ExpandJson(PythonRule):
    """A rule that converts a JSON string into a struct. A null stays null. Apply the rule only to strings for which the
    method ``schema`` returns a schema.

    Attributes:
        name: The name of the schema. The schema names of inner structs begin with this name.
        nulls: True if a null becomes a field of optional bytes, False if it is skipped.
        mode: The adjustment of field names to Avro's rules.
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
        """Returns a schema for the JSON object in ``text``. Returns None if ``text`` is not a JSON object, or if no
        schema can be inferred from it.
        """
        try:
            schema, tree = _read(self, text)
            # the schema of an array is inferred from its first element, so the other elements are checked here
            self._value(tree, schema)
            return schema
        except (ValueError, RecursionError):
            return None

    def inferred(self, key: str | None, value: Any) -> Schema | None:
        """Returns an optional schema for ``value``, or None if no schema can be inferred.

        Raises:
            NoSchemaError: The elements of an array have several kinds.
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
        schemas: dict[str, Schema] = {}
        for name, child in value.items():
            field = self._field(name)
            schema = self.inferred(f"{key}.{field}" if key and trim(key) else field, child)
            if schema is not None and not field:
                raise NoSchemaError("a field has no name")
            if schema is not None:
                schemas.setdefault(field, schema)
        return schemas

    def _field(self, name: str) -> str:
        return adjusted_name(name, self.mode, dots=False)

    def _items(self, key: str | None, items: list[Any]) -> Schema:
        """Returns one schema for all elements of the array ``items``. If they are objects, they may have different
        fields.
        """
        present = [item for item in items if item is not None]
        if len(set(map(_kind, present))) > 1:
            raise NoSchemaError("the elements of an array have several kinds")
        if present and isinstance(present[0], dict):
            schemas = dict.fromkeys(self.inferred(key, item) for item in present)
            return reduce(_joined_items, (schema for schema in schemas if schema is not None))
        schema = self.inferred(None, present[0] if present else None)
        if schema is None:
            raise NoSchemaError("the elements of an array have no schema")
        return schema

    def _value(self, value: Any, schema: Schema) -> Any:
        """Returns ``value`` as a value of ``schema``. The schema may come from a different value, such as the first
        element of the same array.

        Raises:
            NoSchemaError: ``value`` does not fit the schema.
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
        """Converts the object ``value`` into a struct of ``schema``.

        If two fields get the same adjusted name, the field that already had the name wins, as in Debezium.
        """
        values: dict[str, Any] = {}
        for name, child in value.items():
            field = self._field(name)
            # a value with a schema replaces a value without a schema
            if field == name or values.get(field) in (None, []):
                values[field] = child
        members = {}
        for name, child in schema.fields:
            members[name] = self._value(values.get(name), child)
        return members


def _unfit() -> NoReturn:
    raise NoSchemaError("a value has another type than the values before it")


def _joined(left: Schema, right: Schema) -> Schema:
    """Returns one schema for a field that has different schemas in two elements of an array.

    The schema of a null (bytes) gives way to the other schema. Two structs become one struct with the fields of both,
    and the elements of two arrays are treated in the same way. In all other cases, the result is ``left``.

    In Debezium, the order of a Java hash set determines which of the two schemas comes first. If the second schema is
    an inner struct with additional fields, Debezium loses these fields.
    """
    if left == right or right.type is Type.BYTES:
        return left
    if left.type is Type.BYTES:
        return right
    if left.type is right.type is Type.STRUCT:
        both = {}
        for name, schema in right.fields:
            both[name] = _joined(left.by_name.get(name, schema), schema)
        return left.with_(fields=tuple((dict(left.fields) | both).items()))
    if left.type is right.type is Type.ARRAY:
        assert left.values is not None and right.values is not None
        return left.with_(values=_joined(left.values, right.values))
    return left


def _joined_items(left: Schema, right: Schema) -> Schema:
    return _joined(left, right).with_(optional=False)


def _no_number(text: str) -> NoReturn:
    raise NoSchemaError("JSON has no such number")


# Python's decoder accepts NaN and Infinity, which JSON does not have
_DECODER = json.JSONDecoder(parse_constant=_no_number)


@lru_cache(maxsize=1)
def _read(rule: ExpandJson, text: str) -> tuple[Schema, Any]:
    """Parses the JSON string ``text``, and returns its schema and its content.

    The result is cached, because each record needs two calls: one for the schema, one for the content.
    """
    if not text.startswith("{"):
        raise NoSchemaError("the text is not an object")
    # more text after the object is ignored, as by Jackson
    tree, _ = _DECODER.raw_decode(text)
    if "\\u" in text:
        json.dumps(tree, ensure_ascii=False).encode()  # raises ValueError if the JSON contains half of a surrogate pair
    schema = rule.inferred(rule.name, tree)
    assert schema is not None
    return schema, tree


def _kind(value: Any) -> Any:
    if isinstance(value, dict | list):
        return type(value)
    return _simple(value)


def _simple(value: Any, huge: bool = True) -> Type:
    """Returns the type of ``value``, which is a string, a boolean or a number.

    A whole number of more than 64 bits has the type double. Without ``huge``, such a number is an error.
    """
    if isinstance(value, str):
        return Type.STRING
    if isinstance(value, bool):
        return Type.BOOLEAN
    if isinstance(value, int):
        kind = next((kind for kind, limit in _LIMITS if -limit <= value < limit), None)
        if kind is None and not huge:
            raise NoSchemaError("a number has more than 64 bits")
        return kind or Type.FLOAT64
    return Type.FLOAT64
