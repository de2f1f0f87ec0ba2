"""A schema for JSON that has none: what some of its records look like. For people; no chain is planned with it."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from dagster_smt.model.schema import Schema, Type, optional

_UNKNOWN = Schema(Type.STRING, optional=True, version=-1)
"""Of a field that was null so far: no schema of JSON has a version."""


def inferred_schema(values: Iterable[bytes | None]) -> Schema | None:
    """The schema of some JSON values; None if they are no objects.

    A field that some records lack or have null may be null. Where records differ, whole numbers become doubles beside
    doubles, and all else becomes text.
    """
    found: Schema | None = None
    for value in values:
        try:
            data = json.loads(value) if value is not None else None
        except ValueError:
            return None
        if data is not None:
            schema = _schema(data)
            found = schema if found is None else _both(found, schema)
    if found is not None and found.type is Type.STRUCT:
        return _known(found)
    return None


def _known(schema: Schema) -> Schema:
    """The same with texts where nothing is known."""
    if schema.type is Type.STRUCT:
        return schema.with_(fields=tuple((name, _known(child)) for name, child in schema.fields))
    return schema.with_(version=None, values=_known(schema.values) if schema.values is not None else None)


def _schema(data: Any) -> Schema:
    if data is None:
        return _UNKNOWN
    if isinstance(data, bool):
        return Schema(Type.BOOLEAN)
    if isinstance(data, int | float):
        return Schema(Type.INT64 if isinstance(data, int) else Type.FLOAT64)
    if isinstance(data, Mapping):
        return Schema(Type.STRUCT, fields=tuple((name, _schema(child)) for name, child in data.items()))
    if isinstance(data, list):
        items = _UNKNOWN
        for number, item in enumerate(data):
            items = _schema(item) if number == 0 else _both(items, _schema(item))
        return Schema(Type.ARRAY, values=items)
    return Schema(Type.STRING)


def _both(one: Schema, other: Schema) -> Schema:
    """A schema that fits the values of two."""
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
    found = []
    for name in names:
        mine, theirs = one.by_name.get(name), other.by_name.get(name)
        if mine is not None and theirs is not None:
            found.append((name, _both(mine, theirs)))
        else:
            found.append((name, optional(mine or theirs or _UNKNOWN)))
    return tuple(found)
