"""Computes the size of a record in bytes, as brokers compare it with ``max.message.bytes``. This is the size of a batch
that contains only this record.

A batch of version 2 has 61 bytes before its records, and a record has varints before its parts (``DefaultRecordBatch``,
``DefaultRecord``). The result is the size before compression. The compressed size depends on the other records in the
batch, so the same record could fit in one run but not in the next.
"""

from collections.abc import Sequence

from pyspark.sql import Column
from pyspark.sql import functions as F

BATCH = 61
ESTIMATED = 32
"""The greatest difference between the producer's estimate and the real size. The estimate is never too small."""
_FIRST = 3
"""The bytes of three fields of a record: the attributes, and the differences of time and offset to the batch. Both
differences are 0 for a first record.
"""
_VARINTS = (2**6, 2**13, 2**20, 2**27)
"""The numbers from which on a signed varint needs one more byte."""

Headers = Sequence[tuple[str, bytes | None]]


def record_size(key: bytes | None, value: bytes | None, headers: Headers) -> int:
    """Returns the size in bytes of a record with the given key, value and headers."""
    of_headers: list[bytes | None] = []
    for name, content in headers:
        of_headers.extend((name.encode(), content))
    parts = [key, value, *of_headers]
    body = _FIRST + _varint(len(headers)) + sum(map(_part, parts))
    return BATCH + _varint(body) + body


def _part(content: bytes | None) -> int:
    if content is None:
        return 1
    return _varint(len(content)) + len(content)


def _varint(length: int) -> int:
    return 1 + sum(length >= more for more in _VARINTS)


def size_column(key: Column, value: Column, headers: Column) -> Column:
    """Returns a Spark column with the size in bytes of a record, computed from the columns of its parts."""
    of_headers = F.aggregate(
        F.coalesce(headers, F.array()),
        F.lit(0).cast("bigint"),
        lambda sum_, header: sum_ + _part_column(header["key"]) + _part_column(header["value"]),
    )
    count = F.coalesce(F.size(headers), F.lit(0))
    none = F.greatest(count, F.lit(0))  # depending on its settings, Spark returns -1 for the size of null
    body = F.lit(_FIRST) + _varint_column(none) + _part_column(key) + _part_column(value) + of_headers
    return F.lit(BATCH) + _varint_column(body) + body


def _part_column(content: Column) -> Column:
    length = F.octet_length(content).cast("bigint")
    return F.coalesce(_varint_column(length) + length, F.lit(1).cast("bigint"))


def _varint_column(length: Column) -> Column:
    more = []
    for start in _VARINTS:
        more.append((length >= F.lit(start)).cast("bigint"))
    return sum(more, F.lit(1).cast("bigint"))
