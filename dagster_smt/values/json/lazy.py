"""JSON without schema, decoded only where a chain touches it.

An object is a ``dict`` whose values are ``msgspec.Raw`` until somebody looks at them; a list likewise. What nobody
looked at is written back byte for byte (difference D5). Numbers: integral is a Long (``int``), anything else a Double
(``float``).
"""

import math
import re
import sys
from collections.abc import Callable
from typing import Any

import msgspec

from dagster_smt.errors import DataError, data_error
from dagster_smt.model.runtime import JavaDouble, JavaFloat, kind_of
from dagster_smt.values.numbers import float_text

Raw = msgspec.Raw
_objects = msgspec.json.Decoder(dict[str, msgspec.Raw])
_arrays = msgspec.json.Decoder(list[msgspec.Raw])
_scalars = msgspec.json.Decoder()
_OPEN_OBJECT, _OPEN_ARRAY, _QUOTE = ord("{"), ord("["), ord('"')
_OPENERS = (_OPEN_OBJECT, _OPEN_ARRAY)
_NOT_ZERO = re.compile(rb"-[0.]*[1-9]")
_BLANKS = b" \t\r\n"
_ROOM = 10_000  # frames of the stack: those of the caller, and some for each of 1,000 levels
UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What the JSON parser raises; ``not_json`` makes the record's error of it."""
_KINDS = {
    ord('"'): "string",
    _OPEN_OBJECT: "map",
    _OPEN_ARRAY: "array",
    ord("t"): "boolean",
    ord("f"): "boolean",
    ord("n"): "null",
}


def decode(text: bytes | msgspec.Raw) -> Any:
    """Decode one level of a JSON text.

    Raises:
        DataError: SMT411, not JSON; SMT412, a number that does not fit.
    """
    view = memoryview(text)
    first = view[0] if view.nbytes else 0
    if first in _BLANKS:
        return decode(bytes(view).lstrip(_BLANKS))
    try:
        if first == _OPEN_OBJECT:
            return _objects.decode(text)
        if first == _OPEN_ARRAY:
            return _arrays.decode(text)
        value = _scalars.decode(text)
    except UNREADABLE as error:
        return deeper(bytes(view), decode, error)
    if type(value) is str:
        return value
    return _checked(value, view)


def _checked(value: Any, text: memoryview) -> Any:
    if type(value) is int and not -(2**63) <= value < 2**63:
        raise data_error("SMT412", "an integer that 64 bits cannot hold", "Connect would wrap it silently")
    if type(value) is float:
        if not math.isfinite(value):
            raise data_error("SMT412", "a number that a double cannot hold")
        if not value:  # Connect reads numbers as BigDecimal, which has no -0.0; but -1e-400 becomes one
            if _NOT_ZERO.match(text):
                return value
            return 0.0
    return value


MAX_DEPTH = 1000
"""How deeply JSON may be nested: the limit of Jackson, which Connect reads it with."""
_STRINGS = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"?', re.DOTALL)
_NO_BRACKETS = re.compile(rb"[^\[\]{}]+")


def check_depth(text: bytes) -> None:
    """Refuse JSON that is nested more deeply than Connect reads it, where Python's stack has room for it.

    Raises:
        DataError: SMT411.
    """
    if sys.getrecursionlimit() > MAX_DEPTH and text.count(b"{") + text.count(b"[") > MAX_DEPTH:
        _refuse_depth(text)


def deeper(text: bytes, decode: Callable[[bytes], Any], error: Exception) -> Any:
    """Decode again what Python's stack had no room for.

    Raises:
        DataError: SMT411, SMT412: it failed for another reason, or Connect does not read it either.
    """
    if not isinstance(error, RecursionError):
        raise not_json(error) from None
    _refuse_depth(text)
    make_room()
    try:
        return decode(text)
    except UNREADABLE as again:
        raise not_json(again) from None


def make_room() -> None:
    """Let Python's stack hold what is nested as deeply as Connect allows."""
    sys.setrecursionlimit(max(sys.getrecursionlimit(), _ROOM))


def with_room(function: Callable[[Any], Any], value: Any) -> Any:
    """A function of a nested value, called again with more room if the stack has not enough."""
    try:
        return function(value)
    except RecursionError:
        make_room()
        return function(value)


def _refuse_depth(text: bytes) -> None:
    depth = 0
    for bracket in _NO_BRACKETS.sub(b"", _STRINGS.sub(b"", text)):
        depth += 1 if bracket in _OPENERS else -1
        if depth > MAX_DEPTH:
            raise not_json(RecursionError())


def kind_at(container: Any, key: Any) -> str:
    """The kind of the value under a key (``null`` for null); a text, object or array need not be decoded for it."""
    value = container[key]
    if type(value) is Raw:
        first = memoryview(value)[0]
        if first == _QUOTE:
            return "string"
        kind = _KINDS.get(first)
        if kind is not None:
            return kind
        value = decode(value)
    if value is None:
        return "null"
    return kind_of(value)


TOO_LARGE = "SMT412"
"""The code of a number that its type cannot hold."""


def not_json(error: Exception | None = None) -> DataError:
    """The error of a text that the JSON parser refused."""
    if isinstance(error, msgspec.ValidationError):
        return data_error(TOO_LARGE, "a number that a double cannot hold")
    if isinstance(error, RecursionError):
        return data_error("SMT411", "the JSON is nested too deeply", "look at the record's dead letter")
    return data_error("SMT411", "the text is not valid JSON in UTF-8", "look at the record's dead letter")


def decode_whole(text: bytes) -> Any:
    """Decode the first level of a record's JSON, after checking that it is UTF-8. Empty bytes are null."""
    if not text:
        return None
    check_depth(text)
    if text.isascii() and text[0] == _OPEN_OBJECT:
        try:
            return _objects.decode(text)
        except UNREADABLE as error:
            return deeper(text, _objects.decode, error)
    if not text.isascii():
        try:
            text.decode()
        except UnicodeDecodeError as error:
            raise not_json(error) from None
    return decode(text)


def look(container: Any, key: Any) -> Any:
    """The value under a key or index, decoded one level; the key must exist.

    Objects and arrays are kept so. The bytes of others stay: whoever only looks at a value does not change it.
    """
    value = container[key]
    if type(value) is Raw:
        if memoryview(value)[0] == _QUOTE:  # most are, and they need no more looks
            try:
                return _scalars.decode(value)
            except UNREADABLE as error:
                raise not_json(error) from None
        value = decode(value)
        if type(value) is dict or type(value) is list:
            container[key] = value
    return value


def at(value: Any, steps: tuple[str, ...]) -> Any:
    """The value at a path of keys; None where a step is missing or is no object."""
    for step in steps:
        if type(value) is not dict or step not in value:
            return None
        value = look(value, step)
    return value


def is_raw(value: Any) -> bool:
    """Whether nobody has looked at a value yet."""
    return type(value) is Raw


def is_object(value: Any) -> bool:
    """Whether a value is an object, decoded or not."""
    return type(value) is dict or (type(value) is Raw and memoryview(value)[0] == _OPEN_OBJECT)


def whole(value: Any) -> Any:
    """A copy decoded at every level."""
    return with_room(_whole, value)


def _whole(value: Any) -> Any:
    if type(value) is Raw:
        value = decode(value)
    if type(value) is dict:
        return {k: _whole(v) for k, v in value.items()}
    if type(value) is list:
        return [_whole(v) for v in value]
    return value


def copied(value: Any) -> Any:
    """A copy that shares nothing that could change: raw slices and scalars never do."""
    return with_room(_copied, value)


def _copied(value: Any) -> Any:
    if type(value) is dict:
        return {k: _copied(v) for k, v in value.items()}
    if type(value) is list:
        return [_copied(v) for v in value]
    return value


def _encode_special(value: Any) -> Any:
    if type(value) is JavaFloat:
        if not math.isfinite(value):
            return float_text(value)
        return msgspec.Raw(float_text(value, single=True).encode())
    if type(value) is JavaDouble:
        return float_text(value)
    if isinstance(value, int) and type(value).__name__ != "JavaDate":
        return int(value)
    raise data_error(
        "SMT413",
        "JSON without a schema cannot carry this value",
        "convert dates to string or unix before the value is written",
    )


encoder = msgspec.json.Encoder(enc_hook=_encode_special)


def encode(value: Any) -> bytes | None:
    """Write a value; null becomes no bytes at all, as a schemaless JsonConverter does."""
    if value is None:
        return None
    return with_room(encoder.encode, value)
