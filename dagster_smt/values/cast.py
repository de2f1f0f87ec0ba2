"""Converts values between primitive types as Connect does (class ``Cast`` and ``Values.convertToString``).

Integers keep their low bits, floats are truncated and saturate, strings are parsed as in Java, and dates become their
encoded numbers (days, milliseconds). The time zone is always UTC (difference D3).
"""

import base64
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dagster_smt.errors import DataError, data_error
from dagster_smt.model.runtime import BOXED, box, boxer
from dagster_smt.model.schema import INTEGER_BITS, Type
from dagster_smt.values.java.calendar import DAY
from dagster_smt.values.java.dates import date_format
from dagster_smt.values.numbers import (
    decimal_text,
    float_text,
    low_integer,
    nearest_float32,
    parse_float,
    parse_float32,
    parse_integer,
    plain_floats,
    saturate,
    to_float32,
    wrap,
)
from dagster_smt.values.value_rule import NullStays, ValueRule

TARGETS = (*INTEGER_BITS, Type.FLOAT32, Type.FLOAT64, Type.BOOLEAN, Type.STRING)
INTEGER_KINDS = ("int8", "int16", "int32", "int64")
FLOAT_KINDS = ("float", "double")
DATE_KINDS = ("Date", "Time", "Timestamp")
CASTABLE = (*INTEGER_KINDS, *FLOAT_KINDS, "boolean", "string", "bytes", "Decimal", *DATE_KINDS)


@dataclass(frozen=True, slots=True)
class CastTo(NullStays):
    """A rule that casts values of one kind to a Connect type. The kind is the name of a type or logical type, such as
    ``string``, ``int32`` or ``Date``.

    A date with a schema is first converted into its number of days or milliseconds. A date without a schema cannot be
    cast. ``field`` is the name of the value in problems: the configured path, or empty for the whole key or value.
    """

    kind: str
    target: Type
    field: str = ""

    @property
    def may_fail(self) -> bool:  # type: ignore[override]
        """True if some values of the kind cannot be cast: strings that are not numbers, dates out of range, and
        bytes.
        """
        if self.kind == "string":
            return self.target not in (Type.STRING, Type.BOOLEAN)
        return self.kind in ("Date", "Time") or (self.kind == "bytes" and self.target is not Type.STRING)

    def failure(self) -> DataError:
        name, target = f"'{self.field}'" if self.field else "the value", self.target.name.lower()
        if self.kind == "bytes":
            return data_error(
                "SMT405", f"{name} holds bytes, which cannot be cast to {target}", "cast to string instead"
            )
        if self.kind in ("Date", "Time"):
            return data_error("SMT405", f"{name} is not a valid {self.kind} of Connect")
        hint = (
            "cast to string, or add a predicate that excludes records with other texts; with errors.tolerance=all "
            "such records become dead letters"
        )
        return data_error("SMT404", f"{name} is a string that is not a valid {target}, or is out of range", hint)

    def python(self, value: Any) -> Any:
        if value is None:
            return None
        result = self._cast(value)
        if result is None:
            raise self.failure()
        return result

    def bind(self) -> Callable[[Any], Any]:
        """Returns a function that casts one value, with the same results as the method ``python``. For the most
        frequent casts, from strings to FLOAT64, the function is faster than the method.
        """
        if self.kind != "string" or self.target is not Type.FLOAT64:
            return self.python

        def convert(value: Any) -> Any:
            if value is None:
                return None
            result = parse_float(value)
            if result is None:
                raise self.failure()
            return result

        return convert

    def bind_many(self) -> Callable[[list[Any]], list[Any]]:
        """Returns a function that casts many values in one call. For casts from strings to FLOAT64, one call for all
        values is faster than one call for each value. The function then reads plain decimals with Python's own parser,
        which has the same results as Java's ``parseDouble``.
        """
        slow = ValueRule.bind_many(self)
        if self.kind != "string" or self.target is not Type.FLOAT64:
            return slow
        return lambda values: slow(values) if None in values else plain_floats(values) or slow(values)

    def _cast(self, value: Any) -> Any:
        target = self.target
        if target is Type.STRING:
            return self._text(value)
        if self.kind == "bytes" or (self.kind in ("Date", "Time") and self._invalid(value)):
            return None
        if target is Type.BOOLEAN:
            if self.kind == "string":
                # ``Boolean.parseBoolean``: no string is an error, and "1" and "yes" are false
                return value.lower() == "true"
            return self._truth(value)
        if self.kind == "string":
            return self._parse(value)
        number = self._number(value)
        if target in INTEGER_BITS:
            bits = INTEGER_BITS[target]
            if self.kind in FLOAT_KINDS:
                # Java narrows a double to an int first, and the int to a byte: 3e9 becomes 2147483647, and then -1
                return wrap(saturate(number, max(bits, 32)), bits)
            return wrap(low_integer(number) if self.kind == "Decimal" else int(number), bits)
        if target is Type.FLOAT32:
            if self.kind in FLOAT_KINDS:
                return to_float32(number)
            return nearest_float32(number)
        return float(number)

    def _invalid(self, value: int) -> bool:
        """Returns True if ``value``, a number of milliseconds, is not valid for the rule's kind: a Date must be a whole
        day, and a Time must be within a day.
        """
        if self.kind == "Date":
            return value % DAY != 0
        return not 0 <= value <= DAY

    def _number(self, value: Any) -> Any:
        if self.kind == "Date":
            return wrap(value // DAY, 32)
        return value

    def _truth(self, value: Any) -> bool:
        if self.kind in FLOAT_KINDS:
            # Connect tests ``(long) value != 0``, so 0.5 and NaN are false
            return saturate(value, 64) != 0
        return wrap(low_integer(value) if self.kind == "Decimal" else int(self._number(value)), 64) != 0

    def _parse(self, text: str) -> Any:
        if self.target in INTEGER_BITS:
            return parse_integer(text, INTEGER_BITS[self.target])
        if self.target is Type.FLOAT64:
            return parse_float(text)
        return parse_float32(text)

    def _text(self, value: Any) -> str:
        if self.kind == "boolean":
            if value:
                return "true"
            return "false"
        if self.kind in FLOAT_KINDS:
            return float_text(value, self.kind == "float")
        if self.kind == "bytes":
            return base64.b64encode(value).decode()
        if self.kind == "Decimal":
            return decimal_text(value)
        if self.kind in DATE_KINDS:
            return date_text(value)
        return str(value)

    def column(self, F: Any, value: Any) -> Any:
        from dagster_smt.values.cast_column import cast_column

        return cast_column(F, value, self.kind, self.target)

    @property
    def needs_python(self) -> bool:  # type: ignore[override]
        """True for decimals, unless the target is a float. Catalyst neither keeps the low bits of a larger number nor
        writes decimals as Java does.
        """
        return self.kind == "Decimal" and self.target is not Type.FLOAT64 and self.target is not Type.FLOAT32


@dataclass(frozen=True, slots=True)
class CastBoxed(CastTo):
    """A rule like ``CastTo`` for a value without a schema. If the result is a number, its Python class stands for its
    Java type. For example, a ``JavaFloat`` stands for a Float.
    """

    def python(self, value: Any) -> Any:
        return box(CastTo.python(self, value), self.target)

    def bind(self) -> Callable[[Any], Any]:
        one = CastTo.bind(self)
        if self.target not in BOXED:
            return one
        boxed = boxer(self.target)
        return lambda value: boxed(one(value))

    def bind_many(self) -> Callable[[list[Any]], list[Any]]:
        if self.target not in BOXED:
            return CastTo.bind_many(self)
        slow = ValueRule.bind_many(self)
        if (self.kind, self.target) != ("string", Type.FLOAT64):
            return slow
        # plain decimals are finite, so these doubles need no separate class
        return lambda values: slow(values) if None in values else plain_floats(values) or slow(values)


def date_text(milliseconds: int) -> str:
    """Returns a date or time as a string: ``1970-02-01`` for a whole day, ``1970-02-01T12:00:00.000Z`` for other
    instants. An instant before 1970-01-02 has no date: ``12:00:00.000Z``.

    As in ``Values.dateFormatFor``, the logical type does not matter.
    """
    if milliseconds < DAY:
        pattern = "HH:mm:ss.SSS'Z'"
    else:
        if milliseconds % DAY:
            pattern = "yyyy-MM-dd'T'HH:mm:ss.SSS'Z'"
        else:
            pattern = "yyyy-MM-dd"
    return date_format(pattern).format(milliseconds)
