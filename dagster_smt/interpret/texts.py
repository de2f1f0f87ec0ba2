"""Values that stand as texts in messages of databases and lines of CSV, read as what a column is declared."""

import math
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from typing import Any

from dagster_smt.errors import data_error
from dagster_smt.interpret.codec import Convert, misfit, reader
from dagster_smt.model.format import Format
from dagster_smt.model.schema import FLOATS, INTEGERS, Schema, Type
from dagster_smt.values.numbers import parse_big_decimal, parse_float, parse_float32, parse_integer

_DAY = 86_400_000
_BOOLEANS = {"1": True, "0": False, "true": True, "false": False}
_EPOCH = date(1970, 1, 1).toordinal()
_CYCLE, _CYCLE_DAYS = 400, 146_097
"""The calendar repeats itself: Python's knows the years 1 to 9999, Connect's values go far beyond."""
_DATE = r"([+-]?\d{4,9})-(\d\d)-(\d\d)"
_DAYS = re.compile(_DATE, re.ASCII)
_MOMENT = re.compile(
    _DATE + r"(?:[ Tt](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?\s*(?:([Zz])|([+-])(\d\d)(?::?(\d\d))?)?)?", re.ASCII
)
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
        return _millis(text)
    if schema.logical == "Date":
        parts = _DAYS.fullmatch(text)
        return None if parts is None else _day_number(*parts.groups())
    if schema.logical == "Decimal":
        return parse_big_decimal(text)
    if schema.type in INTEGERS:
        return parse_integer(text, 64)
    if schema.type is Type.BOOLEAN:
        return _BOOLEANS.get(text.lower())
    return text


def parsed_float(text: str, schema: Schema) -> float | None:
    """A text as a number of a float's type; None if it is none, or too great."""
    found = parse_float32(text) if schema.type is Type.FLOAT32 else parse_float(text)
    return None if found is not None and math.isinf(found) and text not in _INFINITE else found


def _millis(text: str) -> int | None:
    """``2020-01-01 12:00:00.123``, in UTC where it names no zone; the time of day may be missing."""
    parts = _MOMENT.fullmatch(text)
    if parts is None:
        return None
    year, month, day, hour, minute, second, fraction, _, sign, ahead, more = parts.groups()
    days = _day_number(year, month, day)
    clock = int(hour or 0), int(minute or 0), int(second or 0)
    if days is None or clock > (23, 59, 59) or clock[1] > 59 or clock[2] > 59:
        return None
    millis = ((clock[0] * 60 + clock[1]) * 60 + clock[2]) * 1000 + int((fraction or "").ljust(3, "0")[:3])
    offset = (int(ahead or 0) * 60 + int(more or 0)) * 60_000
    return days * _DAY + millis - (-offset if sign == "-" else offset)


def _day_number(year: str, month: str, day: str) -> int | None:
    cycles, within = divmod(int(year) - 2000, _CYCLE)
    try:
        found = date(2000 + within, int(month), int(day))
    except ValueError:
        return None
    return found.toordinal() - _EPOCH + cycles * _CYCLE_DAYS


def moment_text(millis: int, *, day: bool) -> str:
    """``2020-01-01 12:00:00.123`` in UTC, or the day alone; years beyond 0 to 9999 have a sign, as in Java."""
    days, within = divmod(millis, _DAY)
    cycles, rest = divmod(days, _CYCLE_DAYS)
    found = date.fromordinal(_EPOCH + rest)
    year = found.year + cycles * _CYCLE
    text = f"{_year(year)}-{found.month:02}-{found.day:02}"
    if day:
        return text
    seconds, fraction = divmod(within, 1000)
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"{text} {clock}.{fraction:03}" if fraction else f"{text} {clock}"


def _year(year: int) -> str:
    if 0 <= year <= 9999:
        return f"{year:04}"
    return f"{year:+05}"


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
    return None if data is None else convert(data)
