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


def ends_of(texts: Sequence[bytes]) -> Array:
    """Where the first of some byte strings begins, and where each ends, one after the other."""
    ends = np.zeros(len(texts) + 1, np.int32)
    np.cumsum([len(text) for text in texts], out=ends[1:])
    return ends


def bytes_of(texts: Sequence[bytes]) -> Bytes:
    """Byte strings as arrays."""
    data, ends = b"".join(texts) or b"\0", ends_of(texts).tobytes()
    return Bytes(np.frombuffer(data, np.uint8), np.frombuffer(ends, np.int32))
