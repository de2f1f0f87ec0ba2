"""Reads and writes values without a Connect schema as Avro. The Avro schema, ``AvroData.ANYTHING_SCHEMA``, is a record
that contains one value of any type.

``AvroConverter`` writes a value without a schema as such a record. When the converter reads a record with exactly this
Avro schema, the result is a value without a schema.

This module does not use fastavro, which has no limit for nested values: a value with very many levels would crash the
process. The module reads and writes the bytes itself.
"""

import json
from collections.abc import Callable
from struct import Struct
from typing import Any

from fastavro.schema import parse_schema

from dagster_smt.errors import DATA_EXCEPTION, data_error
from dagster_smt.formats.avro.read import CONNECT_AVRO, unreadable
from dagster_smt.model.runtime import as_key, box, java_class, kind_of
from dagster_smt.model.schema import Type
from dagster_smt.values.json.lazy import MAX_DEPTH, Raw, decode, with_room

NAME = f"{CONNECT_AVRO}Anything"
"""The full name of the Avro record ``Anything``, which contains one value without a schema."""
_SINGLE = ("boolean", "bytes", "double", "float", "int", "long", "string")
_FIELDS = (*_SINGLE, "array", "map")
_SPACE, _, _SHORT = NAME.rpartition(".")
_ENTRY = {"type": "record", "name": "MapEntry", "fields": [{"name": n, "type": _SHORT} for n in ("key", "value")]}
_TYPES = {
    **{name: name for name in _SINGLE},
    "array": {"type": "array", "items": _SHORT},
    "map": {"type": "array", "items": _ENTRY},
}
_SCHEMA = {
    "type": "record",
    "name": _SHORT,
    "namespace": _SPACE,
    "fields": [{"name": name, "type": ["null", _TYPES[name]], "default": None} for name in _FIELDS],
}
TEXT = json.dumps(_SCHEMA, separators=(",", ":"))
"""The Avro schema of the record ``Anything`` as JSON, in Avro's own spelling."""
_DOUBLE, _FLOAT = Struct("<d"), Struct("<f")
_ABSENT, _PRESENT = b"\0", b"\2"
_WHOLE = {"int8": "int", "int16": "int", "int32": "int", "int64": "long"}
"""Maps the name of a Connect integer type to the field of the record ``Anything`` that stores such integers: an
``int16`` is stored in the field ``int``.
"""


def is_anything(text: str) -> bool:
    """Returns True if the Avro schema ``text`` equals ``AvroData.ANYTHING_SCHEMA`` (``Schema.equals``). Docs and
    aliases are ignored.
    """
    try:
        return bool(_plain(parse_schema(json.loads(text), named_schemas={})) == _KNOWN)
    except Exception:  # noqa: BLE001 - an invalid schema is not this one; ``avro_of`` reports its problem
        return False


def _plain(avro: Any) -> Any:
    if isinstance(avro, list):
        return [_plain(item) for item in avro]
    if not isinstance(avro, dict):
        return avro
    plain = {}
    for key, value in avro.items():
        # fastavro adds keys of its own, such as __fastavro_parsed__
        if key not in ("doc", "aliases") and key[:2] != "__":
            plain[key] = _plain(value)
    if plain.keys() == {"type"}:
        return plain["type"]
    return plain


_KNOWN = _plain(parse_schema(json.loads(TEXT), named_schemas={}))


def read_anything(raw: bytes) -> Any:
    """Returns the value in ``raw``, the bytes of a record ``Anything``. The value is in the first field that is not
    null (``AvroData.toConnectData`` without a schema).

    Raises:
        DataError: SMT416 if the bytes do not fit the schema, or if the value is nested more deeply than 1,000 levels.
    """
    return with_room(_read, raw)


def _read(raw: bytes) -> Any:
    reader = _AnythingReader(raw)
    try:
        value = reader.value(0)
    except (IndexError, UnicodeDecodeError):
        raise unreadable() from None
    if reader.at != len(raw):
        raise unreadable()
    return value


class _AnythingReader:
    """A reader of ``data``, the bytes of a record ``Anything`` in Avro's binary encoding. ``at`` is the position of the
    next byte.
    """

    def __init__(self, data: bytes):
        self.data, self.at = data, 0
        self.fields: tuple[Callable[[int], Any], ...] = (
            lambda depth: self.bytes_of(1) == b"\1",
            lambda depth: self.bytes_of(self.long()),
            lambda depth: box(_DOUBLE.unpack(self.bytes_of(8))[0], Type.FLOAT64),
            lambda depth: box(_FLOAT.unpack(self.bytes_of(4))[0], Type.FLOAT32),
            lambda depth: box(self.long(32), Type.INT32),
            lambda depth: self.long(),
            lambda depth: self.bytes_of(self.long()).decode(),
            lambda depth: self.items(self.value, depth),
            lambda depth: dict(self.items(self.entry, depth)),
        )

    def value(self, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise unreadable()
        result = None
        for read in self.fields:
            # each field is a union of null and one type, and the number of the type precedes the value
            branch = self.long()
            if branch not in (0, 1):
                raise unreadable()
            value = read(depth) if branch else None
            # the later fields are read only to skip their bytes
            if result is None:
                result = value
        return result

    def entry(self, depth: int) -> tuple[Any, Any]:
        key = self.value(depth)
        return as_key(key), self.value(depth)

    def items(self, read: Callable[[int], Any], depth: int) -> list[Any]:
        """Reads the items of an array with ``read``, and returns them.

        Items are stored in blocks. A block begins with its number of items; if the number is negative, the size of the
        block in bytes follows.
        """
        items: list[Any] = []
        while count := self.long():
            # the size lets a reader skip the block, which this reader never does
            if count < 0:
                self.long()
            items += [read(depth + 1) for _ in range(abs(count))]
        return items

    def bytes_of(self, size: int) -> bytes:
        start, self.at = self.at, self.at + size
        # the size is part of the record: it may be negative, or larger than the rest of the bytes
        if not start <= self.at <= len(self.data):
            raise unreadable()
        return self.data[start : self.at]

    def long(self, bits: int = 64) -> int:
        """Reads an integer with a variable number of bytes in zigzag encoding, and returns it. The integer has at most
        ``bits`` bits.
        """
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            # seven bits per byte, the lowest first; a set high bit means that another byte follows
            value |= (byte & 0x7F) << shift
            shift += 7
            # ten bytes hold 64 bits; without the limit, a record could contain a number of any length
            if value >> bits or shift > 70:
                raise unreadable()
            if byte < 0x80:
                # zigzag: 0, 1, 2, 3, 4 stand for 0, -1, 1, -2, 2
                return (value >> 1) ^ -(value & 1)


def write_anything(value: Any) -> bytes:
    """Returns the bytes of an Avro record ``Anything`` that contains ``value``. ``AvroData.fromConnectData`` makes the
    same record from a value without a schema.

    Maps keep their key order.

    Raises:
        DataError: SMT440 if ``value`` is or contains bytes, a decimal or a date. Connect cannot write these types as
            Avro if they have no schema.
    """
    return bytes(with_room(_written, value))


def _written(value: Any) -> bytearray:
    out = bytearray()
    _put(out, value)
    return out


def _put(out: bytearray, value: Any) -> None:
    if type(value) is Raw:  # JSON that no stage has decoded
        value = decode(value)
    if value is None:
        out += _ABSENT * len(_FIELDS)
        return
    name = _field_of(value)
    place = _FIELDS.index(name)
    out += _ABSENT * place + _PRESENT
    if name == "map":
        _put_items(out, [part for pair in value.items() for part in pair], len(value))
    elif name == "array":
        _put_items(out, value, len(value))
    else:
        out += _single(name, value)
    out += _ABSENT * (len(_FIELDS) - 1 - place)


def _put_items(out: bytearray, parts: list[Any], count: int) -> None:
    if count:
        out += _long(count)
        for part in parts:
            _put(out, part)
    out += _ABSENT


def _field_of(value: Any) -> str:
    if isinstance(value, dict | list):
        if isinstance(value, dict):
            return "map"
        return "array"
    kind = kind_of(value)
    name = _WHOLE.get(kind, kind)
    if name not in _SINGLE or name == "bytes":
        hint = "add a schema, or write another format than Avro"
        statement = f"Connect cannot write a {java_class(value)} without a schema as Avro"
        raise data_error("SMT440", statement, hint, DATA_EXCEPTION)
    return name


def _single(name: str, value: Any) -> bytes:
    if name in ("int", "long"):
        return _long(value)
    if name == "string":
        text: bytes = value.encode()
        return _long(len(text)) + text
    if name == "boolean":
        if value:
            return b"\1"
        return b"\0"
    return (_FLOAT if name == "float" else _DOUBLE).pack(value)


def _long(value: int) -> bytes:
    # zigzag, as in ``_AnythingReader.long``
    rest, out = (value << 1) ^ (value >> 63), bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)
