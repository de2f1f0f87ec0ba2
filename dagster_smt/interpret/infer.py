"""Infers a schema from a sample of JSON records that have no schema.

The schema is only used in reports; no chain is planned with it.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from dagster_smt.model.schema import Schema, Type, optional

_UNKNOWN = Schema(Type.STRING, optional=True, version=-1)
"""The schema of a field that has been null in all records so far. Other code recognizes this schema by its version -1.
All other inferred schemas have no version.
"""


def inferred_schema(values: Iterable[bytes | None]) -> Schema | None:
    """Returns a schema that fits all ``values``, which are JSON texts. Nulls are ignored. Returns None if a value is
    not a JSON object, or if all values are null.

    A field is optional if it is missing or null in some records. A field with whole numbers in some records and doubles
    in others becomes a double. Any other mixture of types becomes a string.
    """
    schema: Schema | None = None
    for value in values:
        try:
            data = json.loads(value) if value is not None else None
        except ValueError:
            return None
        if data is not None:
            schema = _schema(data) if schema is None else _both(schema, _schema(data))
    if schema is not None and schema.type is Type.STRUCT:
        return _known(schema)
    return None


def _known(schema: Schema) -> Schema:
    """Returns ``schema`` with a string type in place of each unknown type. A type is unknown if a field was null in all
    records.
    """
    if schema.type is Type.STRUCT:
        return schema.with_(fields=tuple((name, _known(child)) for name, child in schema.fields))
    return schema.with_(version=None, values=_known(schema.values) if schema.values is not None else None)


def _schema(data: Any) -> Schema:
    if data is None:
        return _UNKNOWN
    # before ``int``, because Python's booleans are integers
    if isinstance(data, bool):
        return Schema(Type.BOOLEAN)
    if isinstance(data, int | float):
        return Schema(Type.INT64 if isinstance(data, int) else Type.FLOAT64)
    if isinstance(data, Mapping):
        fields = []
        for name, child in data.items():
            fields.append((name, _schema(child)))
        return Schema(Type.STRUCT, fields=tuple(fields))
    if isinstance(data, list):
        items = _UNKNOWN
        for number, item in enumerate(data):
            items = _schema(item) if number == 0 else _both(items, _schema(item))
        return Schema(Type.ARRAY, values=items)
    return Schema(Type.STRING)


def _both(one: Schema, other: Schema) -> Schema:
    """Merges two schemas. The result fits the values of both schemas. For example, the schema of whole numbers and the
    schema of doubles result in the schema of doubles.
    """
    null = one.optional or other.optional
    for known, unknown in ((one, other), (other, one)):
        if unknown == _UNKNOWN:
            return known.with_(optional=True)
    if one.type is other.type is Type.STRUCT:
        return Schema(Type.STRUCT, null, fields=_fields(one, other))
    if one.type is other.type is Type.ARRAY:
        return Schema(Type.ARRAY, null, values=_both(one.values or _UNKNOWN, other.values or _UNKNOWN))
    if one.type is other.type:
        return one.with_(optional=null)
    numbers = {one.type, other.type} == {Type.INT64, Type.FLOAT64}
    return Schema(Type.FLOAT64 if numbers else Type.STRING, null)


def _fields(one: Schema, other: Schema) -> tuple[tuple[str, Schema], ...]:
    names = dict.fromkeys([*one.by_name, *other.by_name])
    fields = []
    for name in names:
        left, right = one.by_name.get(name), other.by_name.get(name)
        if left is not None and right is not None:
            fields.append((name, _both(left, right)))
        else:
            fields.append((name, optional(left or right or _UNKNOWN)))
    return tuple(fields)
