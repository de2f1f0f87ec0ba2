"""Values that stand as texts in messages of databases and lines of CSV, read as what a column is declared."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

from dagster_smt.errors import data_error
from dagster_smt.interpret.codec import Convert, misfit, reader
from dagster_smt.model.format import Format
from dagster_smt.model.schema import FLOATS, INTEGERS, Schema, Type

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_DAY = 86_400_000
_BOOLEANS = {"1": True, "0": False, "true": True, "false": False}


def parsed_text(text: str, schema: Schema, where: str) -> Any:
    """A text as the JSON value that ``codec.reader`` expects for a type; decimals as ``NUMERIC``.

    Raises:
        DataError: SMT414, it is none.
    """
    try:
        if schema.logical in ("Timestamp", "Date"):
            millis = _millis(text)
            return millis if schema.logical == "Timestamp" else millis // _DAY
        if schema.logical == "Decimal" or schema.type in FLOATS:
            return Decimal(text)
        if schema.type in INTEGERS:
            return int(text)
        if schema.type is Type.BOOLEAN:
            return _BOOLEANS[text.lower()]
    except (ValueError, ArithmeticError, KeyError):
        raise misfit(schema, where) from None
    return text


def _millis(text: str) -> int:
    """``2020-01-01 12:00:00.123``, in UTC where it names no zone."""
    moment = datetime.fromisoformat(text)
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=timezone.utc)
    return (aware - EPOCH) // timedelta(milliseconds=1)


def moment_text(millis: int, *, day: bool) -> str:
    """``2020-01-01 12:00:00.123`` in UTC, or the day alone."""
    moment = (EPOCH + timedelta(milliseconds=millis)).replace(tzinfo=None)
    return moment.date().isoformat() if day else moment.isoformat(" ", "milliseconds").removesuffix(".000")


def text_reader(schema: Schema, form: Format, where: str) -> Convert:
    """As ``codec.reader``, but texts are read as what the schema declares."""
    exactly = reader(schema.with_(optional=True, default=None), replace(form, decimal_format="NUMERIC"), where)
    return lambda data: exactly(parsed_text(data, schema, where)) if isinstance(data, str) else exactly(data)


def null_or(data: Any, schema: Schema, name: str, convert: Callable[[Any], Any]) -> Any:
    """A field's value; null only where the schema has it.

    Raises:
        DataError: SMT401.
    """
    if data is None and not schema.optional:
        raise data_error("SMT401", f"null in the required field '{name}'")
    return None if data is None else convert(data)
