"""Numbers and booleans as Kafka's serializers write them: each type has its length, and nothing else is read."""

import struct
from collections.abc import Callable
from typing import Any

LETTERS = {"short": "h", "integer": "i", "long": "q", "float": "f", "double": "d"}


def number_codec(kind: str, *, little: bool = False) -> tuple[Callable[[bytes], Any], Callable[[Any], bytes]]:
    """The functions that read and write a number.

    Args:
        kind: One of ``LETTERS``.
        little: Whether the lowest byte comes first; Kafka's serializers write the highest first.

    Returns:
        Both raise ``ValueError``: the bytes have another length; the number does not fit.
    """
    layout = struct.Struct(("<" if little else ">") + LETTERS[kind])

    def read(data: bytes) -> Any:
        if len(data) != layout.size:
            raise ValueError(f"the bytes are no {kind}: {layout.size} are expected")
        return layout.unpack(data)[0]

    def write(value: Any) -> bytes:
        try:
            return layout.pack(value)
        except (struct.error, OverflowError):
            raise ValueError(f"the value does not fit a {kind}") from None

    return read, write


def read_boolean(data: bytes) -> bool:
    """``org.apache.kafka.common.serialization.BooleanDeserializer``; raises ``ValueError``."""
    if data not in (b"\0", b"\1"):
        raise ValueError("the bytes are no boolean: one, 0 or 1, is expected")
    return data == b"\1"


def write_boolean(value: bool) -> bytes:
    """``org.apache.kafka.common.serialization.BooleanSerializer``."""
    if value:
        return b"\1"
    return b"\0"
