"""Reads values that are strings in database messages and in CSV lines. The declared type of the column determines how a
string is read.
"""

import math
from collections.abc import Callable
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
    """Converts ``text`` to the JSON value that ``formats.json.reader`` expects for ``schema``. For a date,
    ``"1970-01-31"`` becomes 30, the number of days. A decimal becomes a number.

    Numbers have Java's syntax: ``1_000`` is rejected.

    Raises:
        DataError: SMT414 if the string is not a value of the type: for example, ``"abc"`` for a date.
    """
    value = _parsed(text, schema)
    if value is None:
        raise misfit(schema, where)
    return value


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
    """Converts ``text`` to a number of the float type ``schema``. Returns None if the string is not a number, or if the
    number is too large.
    """
    parse = parse_float32 if schema.type is Type.FLOAT32 else parse_float
    number = parse(text)
    # 1e400 is a number that is too large; the word Infinity is an infinity
    if number is not None and math.isinf(number) and text not in _INFINITE:
        return None
    return number


def text_reader(schema: Schema, form: Format, where: str) -> Convert:
    """Returns a function that converts a string to a Python value of the type ``schema``: ``"12"`` to 12, or
    ``"1970-01-31"`` to a ``JavaDate``. A value that is not a string, such as a number, is read as parsed JSON.
    """
    exactly = reader(schema.with_(optional=True, default=None), form, where)
    if schema.type in FLOATS:
        return _float_reader(schema, exactly, where)
    return lambda data: exactly(parsed_text(data, schema, where)) if isinstance(data, str) else exactly(data)


def _float_reader(schema: Schema, exactly: Convert, where: str) -> Convert:
    def read(data: Any) -> Any:
        if not isinstance(data, str):
            return exactly(data)
        number = parsed_float(data, schema)
        if number is None:
            raise misfit(schema, where)
        return number

    return read


def null_or(data: Any, schema: Schema, name: str, convert: Callable[[Any], Any]) -> Any:
    """Returns the result of ``convert`` for ``data``. Returns null if ``data`` is null and ``schema`` is optional.

    Raises:
        DataError: SMT401, naming the field ``name``, if ``data`` is null and ``schema`` is required.
    """
    if data is None and not schema.optional:
        raise data_error("SMT401", f"null in the required field '{name}'")
    if data is None:
        return None
    return convert(data)
