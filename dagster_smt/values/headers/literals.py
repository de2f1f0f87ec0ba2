"""Converts header values from strings and to strings, as Connect's ``Values.parseString`` and
``Values.convertToString`` do.

Connect's default header converter, ``SimpleHeaderConverter``, uses both methods. The spelling determines the type of a
value. A whole number gets the narrowest integer type. Other possible types are a float, a decimal, a boolean, null, an
ISO 8601 date in UTC, an array and a map. Anything else is a string. As in Connect, text after an array or map is
dropped. Text after a number or date is dropped if it begins with a delimiter such as a comma: ``1,2`` is the integer 1.
Other text stays whole: ``a,2`` is the string ``a,2``.
"""

import base64
import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any, NoReturn

from dagster_smt.model.java_text import BLANKS
from dagster_smt.model.runtime import JavaFloat, OwnStruct, as_key
from dagster_smt.model.schema import (
    BOOLEAN,
    FLOATS,
    INT32,
    INT64,
    INTEGER_BITS,
    INTEGERS,
    STRING,
    JavaDate,
    Schema,
    Type,
    date,
    decimal,
    time,
    timestamp,
)
from dagster_smt.values.cast import DAY, date_text
from dagster_smt.values.java.dates import date_format
from dagster_smt.values.json.lazy import whole
from dagster_smt.values.numbers import decimal_text, float_text, parse_big_decimal, to_float32, wrap

Parsed = tuple[Schema | None, Any]
NULL: Parsed = (None, None)
_DELIMITERS = ':,{}[]"'
_WIDTHS = (*INTEGERS, *FLOATS)
_INTEGER_SCHEMAS = (Schema(Type.INT8), Schema(Type.INT16), INT32, INT64)
_FLOAT32, _FLOAT64 = Schema(Type.FLOAT32), Schema(Type.FLOAT64)
_TEMPORAL = {
    10: (date(), "yyyy-MM-dd"),
    13: (time(), "HH:mm:ss.SSS'Z'"),
    24: (timestamp(), "yyyy-MM-dd'T'HH:mm:ss.SSS'Z'"),
}


def parse_literal(text: str) -> Parsed:
    """Returns the schema and the value of the literal ``text``. For the string ``null``, both are None."""
    if not text:
        return STRING, text
    return _LiteralParser(text).parse(embedded=False)


def parse_simple_header(data: bytes | None) -> Parsed:
    """Returns the schema and the value of a header with the bytes ``data``. If ``data`` is None, both are None."""
    if data is None:
        return NULL
    try:
        return parse_literal(data.decode(errors="replace"))
    except RecursionError:  # too many nested brackets
        return Schema(Type.BYTES), data


def simple_header_bytes(schema: Schema | None, value: Any) -> bytes | None:
    """Returns the bytes of a header with the value ``value``; None for null."""
    if value is None:
        return None
    return literal_text(schema, value).encode()


class _NotParsable(Exception):
    """Raised if a string cannot be parsed as an array, a map or an element. The string is then an ordinary string."""


class _LiteralParser:
    """A parser for one string. The parser splits the string into tokens: delimiters such as ``,``, and the text between
    delimiters.

    A delimiter after a backslash is not a token of its own. ``at`` is the position of the next token.
    """

    def __init__(self, text: str):
        self.text, self.at = text, 0

    def _end(self) -> int:
        escaped = False
        for position in range(self.at, len(self.text)):
            char = self.text[position]
            if char in _DELIMITERS and not escaped:
                # a delimiter at the beginning is a token of its own
                return max(position, self.at + 1)
            escaped = char == "\\" and not escaped
        return len(self.text)

    @property
    def _more(self) -> bool:
        return self.at < len(self.text)

    def _next(self) -> str:
        start, self.at = self.at, self._end()
        return self.text[start : self.at]

    def _take(self, expected: str) -> bool:
        """Skips blank tokens. If the next token is ``expected``, such as ``,``, also skips this token and returns True.
        Otherwise returns False.
        """
        while self._more:
            end = self._end()
            token = self.text[self.at : end].strip(BLANKS)
            if not token and end < len(self.text):
                self.at = end
                continue
            if token == expected:
                self.at = end
                return True
            return False
        return False

    def _take_literal(self, literal: str, embedded: bool) -> bool:
        start = self.at
        # as in Connect, ``true}`` is a string: outside of arrays and maps, the literal must be the whole string
        if self._take(literal) and (embedded or not self._more):
            return True
        self.at = start
        return False

    def parse(self, *, embedded: bool) -> Parsed:
        """Returns the schema and the value of the whole string. With ``embedded``, returns the schema and the value of
        the next element of an array or map.
        """
        if not self._more:
            return NULL
        if embedded and self._take('"'):
            return self._quoted()
        if self._take_literal("null", embedded):
            return NULL
        for literal in ("true", "false"):
            if self._take_literal(literal, embedded):
                return BOOLEAN, literal == "true"
        start = self.at
        try:
            if self._take("["):
                return self._array()
            if self._take("{"):
                return self._map()
        except _NotParsable:
            self.at = start
        token = self._next()
        if token.strip(BLANKS):
            return self._scalar(token.strip(BLANKS), embedded)
        return (STRING, token)

    def _scalar(self, token: str, embedded: bool) -> Parsed:
        parsed = None
        if token[0].isdecimal():
            # the colons of a time are delimiters, unless they have a backslash: ``12\:30\:00.000Z`` is a single token
            parsed = self._split_temporal(token) or _temporal(token)
        if parsed is None and (token[0].isdecimal() or token[0] in "+-"):
            parsed = _number(token)
        if parsed is None and embedded:
            raise _NotParsable
        return parsed or (STRING, self.text)

    def _split_temporal(self, token: str) -> Parsed | None:
        """Returns the schema and the value of the time or timestamp that begins with ``token``. ``12:30:00.000Z``
        consists of five tokens: the two colons, and the parts around them. Returns None if the next tokens are neither
        a time nor a timestamp.
        """
        start = self.at
        for _ in range(4):
            if not self._more:
                self.at = start
                return None
            self._next()
        parsed = _temporal(token + self.text[start : self.at])
        if parsed is None:
            self.at = start
        return parsed

    def _quoted(self) -> Parsed:
        content = ""
        while self._more and not self._take('"'):
            content += self._next()
        # as in Connect, a quoted date in an array or map is a date
        return _temporal(content) or (STRING, content)

    def _array(self) -> Parsed:
        items: list[Any] = []
        common = _Common()
        while self._more:
            if self._take("]"):
                convert = common.converter()
                return Schema(Type.ARRAY, values=common.schema), [convert(item) for item in items]
            # an element is missing: ``[,1]``
            if self._take(","):
                break
            schema, item = self.parse(embedded=True)
            common.merge(schema)
            items.append(item)
            start = self.at
            # the next round takes the bracket and returns the array
            if self._take("]"):
                self.at = start
            elif not self._take(","):
                break
        raise _NotParsable

    def _map(self) -> Parsed:
        entries: dict[Any, Any] = {}
        booleans: dict[Any, bool] = {}
        keys, values = _Common(), _Common()
        while self._more:
            if self._take("}"):
                return _map_of(keys, values, entries)
            if self._take(","):
                break
            key_schema, key = self.parse(embedded=True)
            if key is None or not self._take(":"):
                break
            value_schema, value = self.parse(embedded=True)
            key = as_key(key)
            is_boolean = isinstance(key, bool)
            # a Python dict treats 1 and true as the same key, unlike Java's maps
            if booleans.setdefault(key, is_boolean) is not is_boolean:
                break
            entries[key] = value
            # as in Connect, the comma between two entries may be missing: ``{"a":1 "b":2}``
            self._take(",")
            keys.merge(key_schema)
            values.merge(value_schema)
        raise _NotParsable


def _map_of(keys: "_Common", values: "_Common", entries: dict[Any, Any]) -> Parsed:
    if keys.schema is None:
        return Schema(Type.MAP), entries
    to_key = keys.converter()
    to_value = values.converter()
    schema = Schema(Type.MAP, keys=keys.schema, values=values.schema)
    return schema, {to_key(k): to_value(v) for k, v in entries.items()}


class _Common:
    """The schema that all elements of an array or map have in common. ``schema`` is None if there is no element yet, or
    if the elements have no common schema.
    """

    def __init__(self) -> None:
        self.schema: Schema | None = None
        self._clash = False

    def merge(self, latest: Schema | None) -> None:
        """Widens the common schema, so that it also fits one more element. ``latest`` is the schema of the element; a
        null has no schema.
        """
        if latest is None or self._clash:
            return
        if self.schema is None:
            self.schema = latest
        else:
            self.schema = _wider(self.schema, latest)
        self._clash = self.schema is None

    def converter(self) -> Callable[[Any], Any]:
        """Returns a function that converts an element to the common schema. The function raises an error for null. If
        there is no common schema, the function returns every element unchanged.
        """
        schema = self.schema
        if schema is None:
            return lambda value: value
        return lambda value: _aligned(schema, value)


def _wider(one: Schema, other: Schema) -> Schema | None:
    """Returns the wider of two number types: for INT8 and INT32, INT32. If both types are the same, returns ``other``.
    If the types differ and one of them is not a number type, returns None.
    """
    if one.type is other.type:
        # for arrays and maps, the schema of the later element applies: ``[[1],[300]]`` is an array of arrays of INT16
        return other
    if one.type not in _WIDTHS or other.type not in _WIDTHS:
        return None
    return max(one, other, key=lambda schema: _WIDTHS.index(schema.type))


def _aligned(schema: Schema, value: Any) -> Any:
    """Returns ``value`` converted to ``schema``, as ``Values.convertTo`` does. Only conversions between types that
    ``_wider`` combines are supported.
    """
    if value is None:
        raise _NotParsable
    # A date is an INT32 or INT64 in Connect, so numbers and dates have a common schema: ``[2020-01-01,1]`` is an array
    # of dates, whose second element is 1970-01-02.
    is_date, to_date = type(value) is JavaDate, schema.logical in ("Date", "Time", "Timestamp")
    if is_date != to_date and schema.type in _WIDTHS:
        if to_date:
            return _dated(schema, int(value))
        return _fail()
    if schema.type in FLOATS:
        if schema.type is Type.FLOAT32:
            return JavaFloat(to_float32(float(value)))
        return float(value)
    return value


def _dated(schema: Schema, number: int) -> JavaDate:
    if schema.logical == "Timestamp":
        return JavaDate(number)
    number = wrap(number, 32)
    if schema.logical == "Time" and not 0 <= number <= DAY:
        _fail()
    return JavaDate(number * DAY if schema.logical == "Date" else number)


def _fail() -> NoReturn:
    raise _NotParsable


def _temporal(token: str) -> Parsed | None:
    token = token.replace("\\:", ":")
    schema, pattern = _TEMPORAL.get(len(token), (None, ""))
    instant = date_format(pattern).parse(token) if schema else None
    if instant is None:
        return None
    return (schema, JavaDate(instant))


def _number(token: str) -> Parsed | None:
    """Returns the number in ``token`` with its narrowest type. Returns None if ``token`` is not a number.

    A whole number of at most 64 bits, such as ``1`` or ``1.0``, becomes the narrowest integer type. Any other number
    with a fraction or an exponent, such as ``1.5``, becomes a 32-bit float, even if digits are lost. If the number is
    too large for a 32-bit float, it becomes a double or a decimal. A longer whole number without an exponent becomes a
    decimal.
    """
    value = parse_big_decimal(token)
    if value is None:
        return None
    exponent = value.as_tuple().exponent
    assert isinstance(exponent, int)
    # ``adjusted`` comes first: ``int`` would compute all digits of 1e999999999
    if not value or (value.adjusted() < 19 and exponent > -10_000 and value == value.to_integral_value()):
        whole_number = int(value) if value else 0
        for schema in _INTEGER_SCHEMAS:
            limit = 1 << (INTEGER_BITS[schema.type] - 1)
            if -limit <= whole_number < limit:
                return schema, whole_number
    if exponent != 0:
        double = float(value)
        single = JavaFloat(to_float32(double))
        for schema, number in ((_FLOAT32, single), (_FLOAT64, double)):
            if math.isfinite(number):
                return schema, number
    return decimal(-exponent), value


def literal_text(schema: Schema | None, value: Any, *, embedded: bool = False) -> str:
    """Converts ``value`` to a string, as ``Values.convertToString`` does. ``embedded`` is True for a value inside an
    array or map: strings are then quoted, but dates are not.
    """
    if value is None:
        return "null"
    if isinstance(value, str):
        if embedded:
            return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
        return value
    # before the test for int, because a bool is also an int, as is a ``JavaDate`` below
    if isinstance(value, bool):
        if value:
            return "true"
        return "false"
    if isinstance(value, bytes):
        encoded = base64.b64encode(value).decode()
        if embedded:
            return f'"{encoded}"'
        return encoded
    if isinstance(value, float):
        return float_text(value, isinstance(value, JavaFloat) or (schema is not None and schema.type is Type.FLOAT32))
    if isinstance(value, Decimal):
        return decimal_text(value)
    if isinstance(value, JavaDate):
        return date_text(value)
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, OwnStruct):
        return _container(value.schema, value)
    return _container(schema, whole(value))


def _container(schema: Schema | None, value: Any) -> str:
    item = schema.values if schema else None
    if isinstance(value, list):
        return "[" + ",".join(literal_text(item, element, embedded=True) for element in value) + "]"
    if schema is not None and schema.type is Type.STRUCT:
        # as ``Struct.get`` does, a null becomes the default of the field
        pairs: list[tuple[Any, Any, Any, Any]] = [
            (STRING, n, child, child.default if value.get(n) is None else value[n]) for n, child in schema.fields
        ]
    else:
        pairs = []
        for k, v in value.items():
            pairs.append((schema.keys if schema else None, k, item, v))
    texts = (literal_text(ks, k, embedded=True) + ":" + literal_text(vs, v, embedded=True) for ks, k, vs, v in pairs)
    return "{" + ",".join(texts) + "}"
