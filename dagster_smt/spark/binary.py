"""Binary Arrow arrays, as compiled code takes them."""

import numpy as np
import pyarrow as pa

from dagster_smt.interpret.compiled.arrays import Bytes


def is_utf8(values: pa.Array) -> bool:
    """Whether all values of a binary array are UTF-8."""
    try:
        values.cast(pa.string())
    except pa.ArrowInvalid:
        return False
    return True


def bytes_of_array(values: pa.Array) -> Bytes:
    """The buffers of a binary array."""
    _, ends, data = values.buffers()
    first, last = values.offset, values.offset + len(values) + 1
    empty = data is None or not data.size  # all values are empty or null
    return Bytes(np.frombuffer(b"\0" if empty else data, np.uint8), np.frombuffer(ends, np.int32)[first:last])
