"""Converts the bytes of a header into a value, and a value into bytes. Each decoder follows the rules of another
project:

- ``INT_FROM_BYTES``, ``BIGINT_FROM_BYTES``, ``DOUBLE_FROM_BYTES``: the KLIP "Kafka headers", which requires exactly as
  many bytes as the type has.
- ``utf8``, ``ascii``, ``hex``, ``base64``: ksqlDB's ``FROM_BYTES``.
- short, float, boolean and ``uuid``: Kafka's serializers.
- ``simple``: Connect's ``SimpleHeaderConverter``.
"""

import base64
import uuid
from collections.abc import Callable
from typing import Any

from dagster_smt.errors import DataError
from dagster_smt.formats.binary import number_codec, read_boolean, write_boolean
from dagster_smt.formats.json import reader, writer
from dagster_smt.formats.sides import converted
from dagster_smt.model.schema import INTEGERS, Schema, Type
from dagster_smt.model.topics.columns import ORDERS, Decoder
from dagster_smt.model.topics.format import Format
from dagster_smt.values.headers.literals import parse_simple_header, simple_header_bytes
from dagster_smt.values.json.lazy import encoder

Encode = Callable[[Any], bytes]
Decode = Callable[[bytes], Any]
"""A function that converts bytes into a value. The function raises ``ValueError`` for bytes that it cannot decode, and
returns None if there is no value.
"""
_NUMBERS = {
    "short_from_bytes": "short",
    "int_from_bytes": "integer",
    "bigint_from_bytes": "long",
    "float_from_bytes": "float",
    "double_from_bytes": "double",
}
_TEXTS: dict[str, Decode] = {
    "utf8": lambda data: data.decode(),
    "ascii": lambda data: data.decode("ascii"),
    # capitals, as from Spark's hex(), which replaces this function in Catalyst
    "hex": lambda data: data.hex().upper(),
    "base64": lambda data: base64.b64encode(data).decode(),
}


def decode_function(decoder: Decoder, schema: Schema) -> Decode:
    """Returns the function with which ``decoder`` converts a header's bytes into a value of the type ``schema``."""
    if decoder.name in _NUMBERS:
        return _number(decoder)[0]
    if decoder.name in _TEXTS:
        return _TEXTS[decoder.name]
    others: dict[str, Callable[[], Decode]] = {
        "bytes": lambda: bytes,
        "uuid": lambda: _uuid,
        "boolean_from_bytes": lambda: read_boolean,
        "json": lambda: _json(schema),
        "simple": lambda: _simple(schema),
    }
    return others[decoder.name]()


def encode_function(decoder: Decoder, schema: Schema) -> Encode:
    """Returns the function with which ``decoder`` encodes a value of the type ``schema``. The result of
    ``decode_function`` decodes these bytes to the same value.
    """
    if decoder.name in _NUMBERS:
        return _number(decoder)[1]
    encoders: dict[str, Encode] = {
        "bytes": bytes,
        "utf8": lambda text: str(text).encode(),
        "ascii": lambda text: str(text).encode("ascii"),
        "hex": bytes.fromhex,
        # without validate=True, Python skips characters that are not base64
        "base64": lambda text: base64.b64decode(text, validate=True),
        "uuid": lambda text: str(uuid.UUID(text)).encode(),
        "boolean_from_bytes": write_boolean,
        "json": lambda value: encoder.encode(writer(schema, Format())(value)),
        "simple": lambda value: simple_header_bytes(schema, value) or b"",
    }
    return encoders[decoder.name]


def _number(decoder: Decoder) -> tuple[Decode, Encode]:
    return number_codec(_NUMBERS[decoder.name], little=decoder.order != ORDERS[0])


def _uuid(data: bytes) -> str:
    """Decodes ``data`` into a UUID. ``data`` consists of the UUID's 16 bytes, or of the string that Kafka's
    ``UUIDSerializer`` writes.
    """
    return str(uuid.UUID(bytes=data) if len(data) == 16 else uuid.UUID(data.decode("ascii")))


def _json(schema: Schema) -> Decode:
    read = reader(schema, Format("json_schema", schema))

    def decode(data: bytes) -> Any:
        try:
            return converted(read, data)
        except DataError:
            raise ValueError("no JSON of the column's type") from None

    return decode


def _simple(schema: Schema) -> Decode:
    """Returns a function that parses the bytes of a header, such as ``7`` or ``true``. The function follows the rules
    of Connect's ``SimpleHeaderConverter``.

    The function raises ``ValueError`` if the value does not have the type ``schema``. An integer is also accepted for a
    wider integer type, a float for a double, and any value for a string.
    """

    def decode(data: bytes) -> Any:
        parsed_schema, value = parse_simple_header(data)
        if parsed_schema is None:
            return None
        if schema.type is Type.STRING and schema.logical is None:
            return data.decode()
        same = parsed_schema.type is schema.type and parsed_schema.logical == schema.logical
        plain = parsed_schema.logical is None and schema.logical is None
        wider = (
            plain
            and parsed_schema.type in INTEGERS
            and schema.type in INTEGERS
            and INTEGERS.index(parsed_schema.type) < INTEGERS.index(schema.type)
        )
        wider = wider or (plain and parsed_schema.type is Type.FLOAT32 and schema.type is Type.FLOAT64)
        if not same and not wider:
            raise ValueError("a literal of another type")
        return value

    return decode
