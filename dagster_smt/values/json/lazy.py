"""Decodes JSON without a schema lazily. Only the parts that a chain reads are decoded.

For example, ``{"a": 1, "b": {"c": 2}}`` becomes a ``dict`` with two ``msgspec.Raw`` values. ``look(value, "b")``
decodes one more level, and replaces the raw value with the decoded object. Unread values are written back byte for byte
(difference D5). A number without a fraction is a Long (``int``), any other number a Double (``float``).

Nesting: Connect reads 1,000 levels (Jackson's limit), and Python's default recursion limit is 1,000 frames. Records are
rarely nested, so this module first works with the default limit. If Python raises ``RecursionError``, the module counts
the levels of the JSON. JSON with more than 1,000 levels is rejected, so the stack stays bounded. Otherwise the module
raises the limit of the process, and tries again. The limit stays raised, because other code will write the same value
later.
"""

import json
import math
import re
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from dagster_smt.errors import DataError, data_error
from dagster_smt.model.runtime import JavaDouble, JavaFloat, kind_of
from dagster_smt.model.schema import JavaDate
from dagster_smt.values.numbers import float_text

Raw = msgspec.Raw
Value = TypeVar("Value")
_objects = msgspec.json.Decoder(dict[str, msgspec.Raw])
_arrays = msgspec.json.Decoder(list[msgspec.Raw])
_scalars = msgspec.json.Decoder()
_OPEN_OBJECT, _OPEN_ARRAY, _QUOTE = ord("{"), ord("["), ord('"')
_OPENERS = (_OPEN_OBJECT, _OPEN_ARRAY)
_NOT_ZERO = re.compile(rb"-[0.]*[1-9]")
_BLANKS = b" \t\r\n"
_FIRST_BYTES = b"\0\xef\xfe\xff"
"""The first bytes of JSON in an encoding other than UTF-8: a byte order mark, or the zero byte of big-endian text."""
_FRAMES = 10_000  # the caller's frames, and several for each of 1,000 levels
UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""The errors that the JSON parser raises. ``not_json`` converts them into the error of the record."""
_KINDS = {
    ord('"'): "string",
    _OPEN_OBJECT: "map",
    _OPEN_ARRAY: "array",
    ord("t"): "boolean",
    ord("f"): "boolean",
    ord("n"): "null",
}


def decode(text: bytes | msgspec.Raw) -> Any:
    """Decodes one level of the JSON ``text``. ``{"a": [1]}`` becomes a dict in which ``[1]`` is not decoded yet.

    Raises:
        DataError: SMT411 if ``text`` is not JSON; SMT412 if a number does not fit its type.
    """
    # a ``Raw`` has no index
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
        # Connect reads numbers as BigDecimal, so that -0.0 becomes 0.0; only -1e-400 and similar numbers become -0.0
        if not value:
            if _NOT_ZERO.match(text):
                return value
            return 0.0
    return value


MAX_DEPTH = 1000
"""The largest number of nested levels in JSON. Jackson, Connect's JSON reader, has this limit."""
_STRINGS = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"?', re.DOTALL)
_NO_BRACKETS = re.compile(rb"[^\[\]{}]+")


def check_depth(text: bytes) -> None:
    """Raises an error if ``text`` has more nested levels than Connect allows. Call the function before decoding
    ``text``.

    With Python's default recursion limit, the function does nothing: decoding then fails at this depth by itself, and
    the function ``deeper`` raises the error.

    Raises:
        DataError: SMT411.
    """
    if sys.getrecursionlimit() > MAX_DEPTH and text.count(b"{") + text.count(b"[") > MAX_DEPTH:
        _refuse_depth(text)


def deeper(text: bytes, decode: Callable[[bytes], Any], error: Exception) -> Any:
    """Calls ``decode`` again with a larger stack, after ``decode`` has failed with ``error``. Only a ``RecursionError``
    leads to a second call.

    Raises:
        DataError: SMT411 or SMT412 in three cases. ``error`` is not a ``RecursionError``; the JSON has more levels than
            Connect allows; or the second call fails.
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
    """Raises Python's recursion limit, so that all nesting that Connect allows fits on the stack."""
    sys.setrecursionlimit(max(sys.getrecursionlimit(), _FRAMES))


def with_room(function: Callable[[Any], Any], value: Any) -> Any:
    """Returns the result of ``function`` for ``value``, which may be nested. If the stack is too small, calls the
    function again with a larger stack.
    """
    try:
        return function(value)
    except RecursionError:
        make_room()
        return function(value)


def _refuse_depth(text: bytes) -> None:
    # Brackets inside strings are no levels. A string without an end contains all brackets that follow.
    depth = 0
    for bracket in _NO_BRACKETS.sub(b"", _STRINGS.sub(b"", text)):
        depth += 1 if bracket in _OPENERS else -1
        if depth > MAX_DEPTH:
            raise not_json(RecursionError())


def kind_at(container: Any, key: Any) -> str:
    """Returns the kind of the value at ``key`` in ``container``: ``string``, ``map``, ``array``, ``boolean``, ``null``,
    or the Connect type of a number, such as ``int64``. Strings, objects and arrays are not decoded.
    """
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
"""The problem code for a number that is too large for its type, a double or a 64-bit integer."""


def not_json(error: Exception | None = None) -> DataError:
    """Returns the error for JSON that the parser has rejected with ``error``."""
    if isinstance(error, msgspec.ValidationError):
        return data_error(TOO_LARGE, "a number that a double cannot hold")
    if isinstance(error, RecursionError):
        return data_error("SMT411", "the JSON is nested too deeply", "check the record's dead letter")
    return data_error("SMT411", "the text is not valid JSON in UTF-8", "check the record's dead letter")


def decode_whole(text: bytes) -> Any:
    """Decodes the first level of ``text``, the JSON of a whole record, and checks that the whole text is UTF-8. If
    ``text`` is empty, the result is null. JSON in another encoding, such as UTF-16, is converted to UTF-8.
    """
    if not text:
        return None
    return in_any_encoding(text, _decode_utf8)


def in_any_encoding(text: bytes, decode: Callable[[bytes], Value]) -> Value:
    """Returns the result of ``decode`` for the JSON ``text``. If ``decode`` fails and ``text`` is in UTF-16, for
    example, converts ``text`` to UTF-8 and calls ``decode`` again.

    Raises:
        DataError: The error of ``decode``. SMT411 if ``text`` is invalid in its own encoding.
    """
    try:
        return decode(text)
    except DataError:
        converted = converted_to_utf8(text)
        if converted is None:
            raise
        return decode(converted)


def converted_to_utf8(text: bytes) -> bytes | None:
    """Returns the JSON ``text`` in UTF-8, if the text is in UTF-16 or UTF-32, or begins with a byte order mark. Returns
    None for all other text.

    Jackson, Connect's JSON reader, recognizes these encodings by the first bytes (``ByteSourceJsonBootstrapper``). The
    encodings are rare, so call this function only after the parser has rejected ``text``.

    Raises:
        DataError: SMT411 if the text is invalid in the encoding that its first bytes announce.
    """
    encoding = json.detect_encoding(text)
    if encoding == "utf-8":
        return None
    try:
        return text.decode(encoding).encode()
    except UnicodeError as error:
        raise not_json(error) from None


def may_need_utf8(text: bytes | None) -> bool:
    """Returns True if the JSON ``text`` may need ``converted_to_utf8``, which converts JSON from other encodings. If
    the result is False, ``text`` needs no conversion. The function is fast, because it reads only two bytes.
    """
    if not text:
        return False
    # a zero as the second byte is the high half of a character in UTF-16 or UTF-32, little-endian
    return text[0] in _FIRST_BYTES or text[1:2] == b"\0"


def _decode_utf8(text: bytes) -> Any:
    if not text:  # a byte order mark alone
        return None
    check_depth(text)
    if text.isascii() and text[0] == _OPEN_OBJECT:
        try:
            return _objects.decode(text)
        except UNREADABLE as error:
            return deeper(text, _objects.decode, error)
    if not text.isascii():
        try:
            # the parser skips the parts that no stage reads, so it does not check their bytes
            text.decode()
        except UnicodeDecodeError as error:
            raise not_json(error) from None
    return decode(text)


def look(container: Any, key: Any) -> Any:
    """Returns the value at ``key`` in ``container``, after decoding one level of the value. ``key`` is an existing key
    or index.

    A decoded object or array replaces the undecoded JSON in the container, because a stage may change the object in
    place. A string or number stays undecoded in the container, and is written back with its original bytes.
    """
    value = container[key]
    if type(value) is Raw:
        if memoryview(value)[0] == _QUOTE:  # a fast path, because most values are strings
            try:
                return _scalars.decode(value)
            except UNREADABLE as error:
                raise not_json(error) from None
        value = decode(value)
        if type(value) is dict or type(value) is list:
            container[key] = value
    return value


def at(value: Any, steps: tuple[str, ...]) -> Any:
    """Returns the value at the path ``steps``. Returns None if a step is missing, or if a value on the path is not an
    object.
    """
    for step in steps:
        if type(value) is not dict or step not in value:
            return None
        value = look(value, step)
    return value


def is_raw(value: Any) -> bool:
    """Returns True if ``value`` has not been decoded yet."""
    return type(value) is Raw


def is_object(value: Any) -> bool:
    """Returns True if ``value`` is an object, decoded or not."""
    return type(value) is dict or (type(value) is Raw and memoryview(value)[0] == _OPEN_OBJECT)


def whole(value: Any) -> Any:
    """Returns a copy of ``value`` that is decoded at every level."""
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
    """Returns ``value`` with copies of its decoded objects and arrays. Undecoded JSON, strings and numbers are not
    copied, because they never change.
    """
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
    if isinstance(value, int) and not isinstance(value, JavaDate):
        return int(value)
    raise data_error(
        "SMT413",
        "JSON without a schema cannot hold this value",
        "convert dates to string or unix before the record is written",
    )


encoder = msgspec.json.Encoder(enc_hook=_encode_special)


def encode(value: Any) -> bytes | None:
    """Returns ``value`` as JSON. For null, returns None, as Connect's JsonConverter does when schemas are disabled."""
    if value is None:
        return None
    return with_room(encoder.encode, value)
