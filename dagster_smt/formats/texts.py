"""Values that stand as texts in messages of databases and lines of CSV, read as what a column is declared."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from dagster_smt.errors import data_error
from dagster_smt.formats.json import Convert, misfit, reader
from dagster_smt.model.schema import FLOATS, INTEGERS, Schema, Type
from dagster_smt.model.topics.format import Format
from dagster_smt.values.numbers import parse_big_decimal, parse_float, parse_float32, parse_integer
from dagster_smt.values.times.moment_texts import clock_of, days_of, millis_of

_BOOLEANS = {"1": True, "0": False, "true": True, "false": False}
_INFINITE = ("Infinity", "+Infinity", "-Infinity")


def parsed_text(text: str, schema: Schema, where: str) -> Any:
    """A text as the JSON value that ``codec.reader`` expects for a type; decimals as ``NUMERIC``.

    Numbers are those of Java: ``1_000`` is none.

    Raises:
        DataError: SMT414, it is none.
    """
    found = _parsed(text, schema)
    if found is None:
        raise misfit(schema, where)
    return found


def _parsed(text: str, schema: Schema) -> Any:
    if schema.logical == "Timestamp":
        return millis_of(text)
    if schema.logical == "Date":
        return days_of(text)
    if schema.logical == "Time":
        return clock_of(text)
    if schema.logical == "Decimal":
        return parse_big_decimal(text)
    if schema.type in INTEGERS:
        return parse_integer(text, 64)
    if schema.type is Type.BOOLEAN:
        return _BOOLEANS.get(text.lower())
    return text


def parsed_float(text: str, schema: Schema) -> float | None:
    """A text as a number of a float's type; None if it is none, or too great."""
    if schema.type is Type.FLOAT32:
        found = parse_float32(text)
    else:
        found = parse_float(text)
    if found is not None and math.isinf(found) and text not in _INFINITE:
        return None
    return found


def text_reader(schema: Schema, form: Format, where: str) -> Convert:
    """As ``codec.reader``, but texts are read as what the schema declares."""
    exactly = reader(schema.with_(optional=True, default=None), replace(form, decimal_format="NUMERIC"), where)
    if schema.type in FLOATS:
        return _float_reader(schema, exactly, where)
    return lambda data: exactly(parsed_text(data, schema, where)) if isinstance(data, str) else exactly(data)


def _float_reader(schema: Schema, exactly: Convert, where: str) -> Convert:
    def read(data: Any) -> Any:
        if not isinstance(data, str):
            return exactly(data)
        found = parsed_float(data, schema)
        if found is None:
            raise misfit(schema, where)
        return found

    return read


def null_or(data: Any, schema: Schema, name: str, convert: Callable[[Any], Any]) -> Any:
    """A field's value; null only where the schema has it.

    Raises:
        DataError: SMT401.
    """
    if data is None and not schema.optional:
        raise data_error("SMT401", f"null in the required field '{name}'")
    if data is None:
        return None
    return convert(data)
