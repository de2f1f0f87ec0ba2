"""Declared strings whose JSON is no string: ``from_json`` keeps the text of any token, and so hides a misfit.

A second parse knows: it reads every declared string as an interval, a type that takes any string token (mostly as null)
and no other one. It is slow, so it runs only for records where some string looks like the text of another token
and does not stand in quotes behind its name. What that overlooks: the same name and text, once bare and once in quotes.
"""

import json
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as T

from dagster_smt.model.schema import Schema, Type

_NUMBER = r'\A(?:-?[0-9][-+.0-9Ee]*|"-?Infinity")\z'


def strings_only(schema: Schema, opaque: Any) -> T.DataType | None:
    """The type of the second parse: declared strings and what is around them; None if there are none.

    ``opaque`` says which schemas are read in another way.
    """
    if opaque(schema) or schema.logical:
        return None
    if schema.type is Type.STRING:
        return T.CalendarIntervalType()
    if schema.type is Type.STRUCT:
        found = [(name, strings_only(child, opaque)) for name, child in schema.fields]
        fields = [T.StructField(name, kind) for name, kind in found if kind is not None]
        return T.StructType(fields) if fields else None
    below = strings_only(schema.values, opaque) if schema.values else None
    if below is None:
        return None
    return T.ArrayType(below) if schema.type is Type.ARRAY else T.MapType(T.StringType(), below)


def suspicious(parsed: Column, schema: Schema, text: Column, opaque: Any, field_of: Any) -> Column | None:
    """Where a declared string can be the text of another token; None if there are no declared strings."""
    if opaque(schema) or schema.logical:
        return None
    if schema.type is Type.STRING:
        return _looks_bare(parsed)
    checks = []
    if schema.type is Type.STRUCT:
        for name, child in schema.fields:
            column = field_of(parsed, schema, name)
            check = suspicious(column, child, text, opaque, field_of)
            if check is not None:
                checks.append(check & ~_in_quotes(column, name, text) if child.type is Type.STRING else check)
    elif schema.values is not None:
        item = schema.values
        values = parsed if schema.type is Type.ARRAY else F.map_values(parsed)
        if suspicious(F.lit(None), item, text, opaque, lambda *_: F.lit(None)) is not None:
            checks.append(F.exists(values, lambda v: _sure(suspicious(v, item, text, opaque, field_of))))
    found = None
    for check in checks:
        check = F.coalesce(check, F.lit(False))
        found = check if found is None else found | check
    return found


def _sure(check: Column | None) -> Column:
    return F.lit(False) if check is None else F.coalesce(check, F.lit(False))


def _looks_bare(value: Column) -> Column:
    """Like a number (these texts sort before the colon), a literal, an object or an array."""
    number = (value < F.lit(":")) & value.rlike(_NUMBER)
    return number | value.isin("true", "false") | value.startswith("{") | value.startswith("[")


def _in_quotes(value: Column, name: str, text: Column) -> Column:
    """Whether the text has the field with this value (of objects and arrays: its first character) in quotes."""
    first = F.substring(value, 1, 1)
    start = F.when(first.isin("{", "["), first).otherwise(F.concat(value, F.lit('"')))
    key = json.dumps(name, ensure_ascii=False)
    return F.contains(text, F.concat(F.lit(f'{key}:"'), start)) | F.contains(text, F.concat(F.lit(f'{key}: "'), start))
