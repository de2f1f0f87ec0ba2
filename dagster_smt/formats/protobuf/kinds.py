"""Translates Protobuf types that are single values in Connect: scalars, enums and some messages (``ProtobufData``'s
converters).

Connect has no unsigned numbers. An unsigned 32-bit number becomes INT64. An unsigned 64-bit number becomes the INT64
with the same bits, which is negative for large numbers. The parameter ``io.confluent.connect.protobuf.Type`` contains
Protobuf's type. A value that does not fit the Protobuf type is rejected when it is written, although Connect would
truncate it.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, ROUND_HALF_UP, Context, Decimal
from typing import Any

from dagster_smt.errors import DATA_EXCEPTION, DataError, data_error
from dagster_smt.formats.protobuf.files import CONNECT_TYPE, ENUM, SCALARS, TYPE, field_params
from dagster_smt.model.schema import DECIMAL_PRECISION, JavaDate, Schema, Type, date, decimal, time, timestamp
from dagster_smt.values.java.calendar import CUTOVER, DAY, civil, day_number
from dagster_smt.values.numbers import EXACT, MOST_DIGITS, integer_bytes, scaled_decimal, wrap

Convert = Callable[[Any], Any]
Fill = Callable[[Any, Any], None]
_NARROW = {"int8": Type.INT8, "int16": Type.INT16}
_FIRST, _LAST = -62_135_596_800, 253_402_300_799
"""The first second of the year 1, and the last second of the year 9999. Protobuf's class ``Timestamps`` permits only
these years.
"""
_TOO_BIG = float.fromhex("0x1.ffffffp127")
"""The smallest double that becomes an infinity when it is rounded to 32 bits."""
_NAMES = {number: name for name, number in SCALARS.items()}
_INT32 = ("int32", "sint32", "sfixed32")
_UNSIGNED = {"uint32": 32, "fixed32": 32, "uint64": 64, "fixed64": 64}
_OTHERS = {
    "double": (Type.FLOAT64, float),
    "float": (Type.FLOAT32, float),
    "bool": (Type.BOOLEAN, bool),
    "string": (Type.STRING, str),
    "bytes": (Type.BYTES, bytes),
}


@dataclass(frozen=True)
class Kind:
    """A Protobuf type with its Connect schema, a reader and a writer.

    Attributes:
        schema: The Connect schema.
        read: A function from a value of the Protobuf runtime to Connect's value; None if both are the same.
        write: A function from Connect's value to a value of the Protobuf runtime; raises ``DataError`` SMT440.
        fill: A function that writes Connect's value into a message of the Protobuf runtime; raises ``DataError``
            SMT440. Types that are messages use this function instead of ``write``.
    """

    schema: Schema
    read: Convert | None
    write: Convert | None = None
    fill: Fill | None = None


def unreadable(statement: str = "the bytes do not fit the Protobuf schema") -> DataError:
    """Returns the error for bytes that cannot be read. ``statement`` is the reason."""
    return data_error("SMT416", statement, "check the dead letter, or the schema")


def unwritable(where: str, what: str) -> DataError:
    """Returns the error for a value at the path ``where`` that cannot be written."""
    subject = f"field '{where}'" if where else "the value"
    return data_error("SMT440", f"{subject} {what}", "cast it with Cast, or check the schema", DATA_EXCEPTION)


def scalar(field: Any, where: str, *, checked: bool) -> Kind:
    """Returns the Connect schema, the reader and the writer for the scalar type of ``field``. ``checked`` is true if
    the Protobuf runtime has already checked that strings are UTF-8.
    """
    name = _NAMES[field.type]
    if name in _OTHERS:
        return _other(name, where, checked)
    if name in _INT32:
        narrow = _NARROW.get(field_params(field).get(CONNECT_TYPE, ""))
    else:
        narrow = None
    if narrow is not None:
        bits = 8 if narrow is Type.INT8 else 16
        return Kind(Schema(narrow), lambda value: wrap(value, bits), _integer(narrow.value, bits, where))
    parameters = () if name in ("int32", "int64") else ((TYPE, name),)
    schema = Schema(Type.INT32 if name in _INT32 else Type.INT64, parameters=parameters)
    if _UNSIGNED.get(name) == 64:
        check = _integer(name, 64, where)
        return Kind(schema, lambda value: wrap(value, 64), lambda value: check(value) & 0xFFFFFFFF_FFFFFFFF)
    unsigned = name in _UNSIGNED
    return Kind(schema, None, _integer(name, 32 if "32" in name else 64, where, unsigned=unsigned))


def _integer(name: str, bits: int, where: str, *, unsigned: bool = False) -> Convert:
    low = 0 if unsigned else -(1 << bits - 1)
    high = (1 << bits) - 1 if unsigned else (1 << bits - 1) - 1

    def check(value: Any) -> int:
        if type(value) is bool or not isinstance(value, int) or not low <= value <= high:
            raise unwritable(where, f"is not of type {name}")
        return value

    return check


def _other(name: str, where: str, checked: bool) -> Kind:
    kind, python = _OTHERS[name]

    def check(value: Any) -> Any:
        if not isinstance(value, python):
            raise unwritable(where, f"is not of type {name}")
        return value

    def narrow(value: Any) -> Any:
        if not isinstance(value, float) or (abs(value) >= _TOO_BIG and not math.isinf(value)):
            raise unwritable(where, "is not of type float")
        return value

    def text(value: Any) -> str:
        # for a string of proto2 that is not UTF-8, the runtime returns bytes
        if not isinstance(value, str):
            raise unreadable(f"field '{where}' is not a text in UTF-8")
        return value

    return Kind(Schema(kind), text if name == "string" and not checked else None, narrow if name == "float" else check)


class _Symbols(dict[int, str]):
    """A mapping from the numbers of an enum to its symbols. A number without a symbol gets the name that Java
    generates, such as ``UNKNOWN_ENUM_VALUE_Color_7``.
    """

    def __init__(self, enum: Any):
        super().__init__()
        self.enum = enum.name
        for value in enum.values:
            # with allow_alias, several symbols have one number; the first symbol wins
            self.setdefault(value.number, value.name)

    def __missing__(self, number: int) -> str:
        return f"UNKNOWN_ENUM_VALUE_{self.enum}_{number}"


def enumeration(enum: Any, where: str) -> Kind:
    """Returns the Connect schema, the reader and the writer for ``enum``. In Connect, an enum is a string, and the
    parameters of its schema contain the symbols.
    """
    numbers = {value.name: value.number for value in enum.values}
    parameters = {ENUM: enum.name, **{f"{ENUM}.{name}": str(number) for name, number in numbers.items()}}

    def write(value: Any) -> int:
        number = numbers.get(value) if isinstance(value, str) else None
        if number is None:
            raise unwritable(where, f"is not a symbol of the enum '{enum.name}'")
        return number

    schema = Schema(Type.STRING, name=enum.name, parameters=tuple(sorted(parameters.items())))
    return Kind(schema, _Symbols(enum).__getitem__, write)


def _decimal(params: Mapping[str, str], where: str) -> Kind:
    """Returns the Connect schema, the reader and the writer for ``confluent.type.Decimal`` (``DecimalUtils``). Each
    value has its own scale.
    """
    schema = decimal(_number(params.get("scale")) or 0)
    precision = _number(params.get("precision"))
    if precision is not None:
        schema = schema.with_(parameters=tuple(sorted([*schema.parameters, (DECIMAL_PRECISION, str(precision))])))

    def read(message: Any) -> Decimal:
        raw, most = message.value, message.precision
        # Java's BigInteger rejects empty bytes, and the unsigned precision becomes a negative int in Java
        if not raw or most >= 1 << 31:
            raise unreadable(f"field '{where}' is not a decimal")
        value = scaled_decimal(raw, message.scale)
        if most:
            return Context(most, ROUND_HALF_UP, MIN_EMIN, MAX_EMAX).plus(value)
        return value

    def fill(message: Any, value: Any) -> None:
        if isinstance(value, Decimal):
            exponent = value.as_tuple().exponent
        else:
            exponent = None
        if not isinstance(exponent, int) or not -(1 << 31) <= -exponent < 1 << 31:
            raise unwritable(where, "is not a decimal")
        if len(value.as_tuple().digits) > MOST_DIGITS:
            raise unwritable(where, f"is a decimal of more than {MOST_DIGITS:,} digits")
        message.value = integer_bytes(int(value.scaleb(-exponent, EXACT)))
        message.precision = len(value.as_tuple().digits)
        message.scale = -exponent

    return Kind(schema, read, fill=fill)


def _number(text: str | None) -> int | None:
    """Parses ``text`` as Java's ``Integer.parseInt`` does. Returns None for a string that is not a number, because
    Connect ignores such a string.
    """
    try:
        # ``int`` alone would also accept spaces and underscores
        if text is not None and text.strip("+-0123456789") == "":
            value = int(text)
        else:
            value = None
    except ValueError:
        return None
    if value is not None and -(1 << 31) <= value < 1 << 31:
        return value
    return None


def _date(params: Mapping[str, str], where: str) -> Kind:
    """Returns the Connect schema, the reader and the writer for ``google.type.Date``. The value is a day in Java's
    calendar, which is Julian before 15 October 1582.
    """

    def read(message: Any) -> JavaDate:
        parts = year, month, day = message.year, message.month, message.day
        if year < 1 or not 1 <= month <= 12 or not 1 <= day <= 31:
            raise unreadable(f"field '{where}' is not a date")
        number = day_number(year, month, day, julian=False)
        if number < CUTOVER:
            number = day_number(year, month, day, julian=True)
        # 31 February becomes a day in March, and the days of October 1582 that were left out become others
        if civil(number) != parts or number * DAY >= 1 << 63:
            raise unreadable(f"field '{where}' is not a date")
        return JavaDate(number * DAY)

    def fill(message: Any, value: Any) -> None:
        number, rest = divmod(_moment(value, where), DAY)
        year, month, day = civil(number)
        if rest or year < 1:
            raise unwritable(where, "is a Date with a time of day, or before the year 1")
        message.year, message.month, message.day = year, month, day

    return Kind(date(), read, fill=fill)


def _time(params: Mapping[str, str], where: str) -> Kind:
    """Returns the Connect schema, the reader and the writer for ``google.type.TimeOfDay``. Connect rejects 24:00 and
    leap seconds.
    """

    def read(message: Any) -> JavaDate:
        hours, minutes, seconds, nanos = message.hours, message.minutes, message.seconds, message.nanos
        if not (0 <= hours < 24 and 0 <= minutes < 60 and 0 <= seconds < 60 and 0 <= nanos < 1_000_000_000):
            raise unreadable(f"field '{where}' is not a time of day")
        return JavaDate(((hours * 60 + minutes) * 60 + seconds) * 1000 + nanos // 1_000_000)

    def fill(message: Any, value: Any) -> None:
        if not 0 <= _moment(value, where) < DAY:
            raise unwritable(where, "is a Time with a date")
        seconds, millis = divmod(int(value), 1000)
        message.hours, message.minutes = divmod(seconds // 60, 60)
        message.seconds, message.nanos = seconds % 60, millis * 1_000_000

    return Kind(time(), read, fill=fill)


def _timestamp(params: Mapping[str, str], where: str) -> Kind:
    """Returns the Connect schema, the reader and the writer for ``google.protobuf.Timestamp``. Only the years 1 to 9999
    are permitted, as in ``Timestamps``.
    """

    def read(message: Any) -> JavaDate:
        seconds, nanos = message.seconds, message.nanos
        if not (_FIRST <= seconds <= _LAST and 0 <= nanos < 1_000_000_000):
            raise unreadable(f"field '{where}' is not a timestamp of the years 1 to 9999")
        return JavaDate(seconds * 1000 + nanos // 1_000_000)

    def fill(message: Any, value: Any) -> None:
        seconds, millis = divmod(int(_moment(value, where)), 1000)
        if not _FIRST <= seconds <= _LAST:
            raise unwritable(where, "is not a timestamp of the years 1 to 9999")
        message.seconds, message.nanos = seconds, millis * 1_000_000

    return Kind(timestamp(), read, fill=fill)


def _moment(value: Any, where: str) -> int:
    if not isinstance(value, int) or type(value) is bool:
        raise unwritable(where, "is not a moment")
    return value


LOGICAL: dict[str, tuple[dict[str, str], Callable[[Mapping[str, str], str], Kind]]] = {
    "confluent.type.Decimal": ({"value": "bytes", "precision": "uint32", "scale": "int32"}, _decimal),
    "google.type.Date": (dict.fromkeys(("year", "month", "day"), "int32"), _date),
    "google.type.TimeOfDay": (dict.fromkeys(("hours", "minutes", "seconds", "nanos"), "int32"), _time),
    "google.protobuf.Timestamp": ({"seconds": "int64", "nanos": "int32"}, _timestamp),
}
"""The messages that are single values in Connect. Maps the full name of such a message to a pair: the types of its
fields, and the function that returns its Connect schema, reader and writer.
"""


def is_published(descriptor: Any, fields: Mapping[str, str]) -> bool:
    """Returns True if ``descriptor`` has exactly the fields ``fields`` (a dict from field name to type). A schema could
    define a different message with the name of a published message, such as ``google.type.Date``.
    """
    types = {field.name: field.type for field in descriptor.fields}
    types_of_class = {}
    for name, kind in fields.items():
        types_of_class[name] = SCALARS[kind]
    return types == types_of_class
