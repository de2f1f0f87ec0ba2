"""Reads and writes numbers and booleans as Kafka's serializers do. Each type has a fixed number of bytes."""

import struct
from collections.abc import Callable
from typing import Any

LETTERS = {"short": "h", "integer": "i", "long": "q", "float": "f", "double": "d"}


def number_codec(kind: str, *, little: bool = False) -> tuple[Callable[[bytes], Any], Callable[[Any], bytes]]:
    """Returns a reader and a writer for numbers of the type ``kind``.

    Args:
        kind: ``short``, ``integer``, ``long``, ``float`` or ``double``.
        little: True if the lowest byte comes first. Kafka's serializers write the highest byte first.

    Returns:
        Two functions. The reader converts bytes to a number, and raises ``ValueError`` if there are too few or too many
        bytes: a ``long`` has 8 bytes. The writer converts a number to bytes, and raises ``ValueError`` if the number
        does not fit the type.
    """
    layout = struct.Struct(("<" if little else ">") + LETTERS[kind])

    def read(data: bytes) -> Any:
        if len(data) != layout.size:
            raise ValueError(f"the bytes are not a {kind}, which has {layout.size} bytes")
        return layout.unpack(data)[0]

    def write(value: Any) -> bytes:
        try:
            return layout.pack(value)
        except (struct.error, OverflowError):  # an OverflowError only for a float that is too large for 32 bits
            raise ValueError(f"the value does not fit a {kind}") from None

    return read, write


def read_boolean(data: bytes) -> bool:
    """Converts ``data`` to a boolean as ``org.apache.kafka.common.serialization.BooleanDeserializer`` does. Raises
    ``ValueError`` unless the bytes are a single byte, 0 or 1.
    """
    if data not in (b"\0", b"\1"):
        raise ValueError("the bytes are not a boolean, which is one byte, 0 or 1")
    return data == b"\1"


def write_boolean(value: bool) -> bytes:
    """Converts ``value`` to bytes as ``org.apache.kafka.common.serialization.BooleanSerializer`` does."""
    if value:
        return b"\1"
    return b"\0"
