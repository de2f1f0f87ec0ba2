"""Values of many records side by side: gathered into one JSON array, and found in one again."""

import numpy as np

from dagster_smt.interpret.compiled.json_scan import after_value
from dagster_smt.interpret.compiled.native import compiled, copy_bytes

OTHER, TEXT, WHOLE = 0, 1, 2
"""What a value is, as far as its bytes say: a text, a whole number that 64 bits hold, or neither."""
_DIGITS = 18


@compiled
def class_of(data, start, end):  # type: ignore[no-untyped-def]
    if data[start] == 0x22:
        return TEXT
    if end - start > _DIGITS:
        return OTHER
    for at in range(start, end):
        if data[at] < 0x30 or data[at] > 0x39:
            return OTHER
    return WHOLE


@compiled
def classify(data, starts, ends, classes):  # type: ignore[no-untyped-def]
    """Say what each value is."""
    for n in range(len(starts)):
        classes[n] = class_of(data, starts[n], ends[n])


@compiled
def gather(data, starts, ends, out):  # type: ignore[no-untyped-def]
    """Write values as a JSON array."""
    at = np.int64(0)
    for n in range(len(starts)):
        out[at] = 0x5B if n == 0 else 0x2C
        copy_bytes(out, at + 1, data, starts[n], ends[n] - starts[n])
        at += 1 + ends[n] - starts[n]
    out[at] = 0x5D


@compiled
def spread(data, starts, ends):  # type: ignore[no-untyped-def]
    """Find the values of a JSON array without blanks, which has as many as there is room for."""
    at = np.int64(1)
    for n in range(len(starts)):
        starts[n] = at
        ends[n] = after_value(data, at, len(data))
        at = ends[n] + 1
