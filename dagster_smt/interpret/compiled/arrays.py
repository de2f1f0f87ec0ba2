"""Byte strings side by side, as Arrow has them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dagster_smt.interpret.compiled.places import Array


@dataclass(frozen=True)
class Bytes:
    """Byte strings one after the other: number ``n`` is ``data[ends[n]:ends[n + 1]]``. Read-only arrays."""

    data: Array
    ends: Array


def bytes_of(texts: Sequence[bytes]) -> Bytes:
    """Byte strings as arrays."""
    ends = np.zeros(len(texts) + 1, np.int32)
    np.cumsum([len(text) for text in texts], out=ends[1:])
    return Bytes(np.frombuffer(b"".join(texts) or b"\0", np.uint8), np.frombuffer(ends.tobytes(), np.int32))
