"""Computes the size in bytes of a record as brokers see it. Brokers compare the size of a batch that contains only this
record with ``max.message.bytes``.

A batch of version 2 has 61 bytes before its records, and each part of a record is preceded by a varint
(``DefaultRecordBatch``, ``DefaultRecord``). The result is the size before compression. The compressed size depends on
the other records in the batch, so the same record could fit in one run but not in the next.
"""

from collections.abc import Mapping, Sequence

from dagster_smt.jvm.availability import CATALOG
from dagster_smt.spark import sql as F
from dagster_smt.spark.sql import Column

BATCH = 61
ESTIMATED = 32
"""The producer estimates the size of a record before it sends the record. The estimate is never too small, and exceeds
the real size by at most this number of bytes.
"""
_FIRST = 3
"""The size in bytes of three fields of a record, one byte each: the attributes, the timestamp minus the batch's first
timestamp, and the offset minus the batch's first offset. For the first record of a batch, the two differences are 0.
"""
_VARINTS = (2**6, 2**13, 2**20, 2**27)
"""From each of these numbers on, a signed varint needs one more byte: one byte below 64, two bytes from 64 on, three
bytes from 8,192 on, and so on.
"""

Headers = Sequence[tuple[str, bytes | None]]


def record_size(key: bytes | None, value: bytes | None, headers: Headers) -> int:
    """Returns the size in bytes of a record with ``key``, ``value`` and ``headers``."""
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


def size_column(
    key: Column, value: Column, headers: Column, more: Mapping[str, Column] | None = None, *, lane: bool = False
) -> Column:
    """Returns the size of a record as an expression.

    Args:
        key, value: The record's key and value, as bytes.
        headers: The record's own headers.
        more: The contents of further headers, by header name. These headers are measured without an array, because
            functions over array elements are slow in Spark.
        lane: True if the Spark session has the JVM lane (this package's Java code). The lane then measures the
            record's own headers. Without the lane, Spark interprets the whole expression instead of compiling it.
    """
    nothing = F.lit(0).cast("bigint")
    further = more or {}
    count = F.greatest(F.coalesce(F.size(headers), F.lit(0)), F.lit(0))  # with some settings, the size of null is -1
    if lane:
        of_headers = Column(f"{CATALOG}.headers_size({headers.text})")
    else:
        of_headers = F.aggregate(
            headers, nothing, lambda sum_, header: sum_ + _part_column(header["key"]) + _part_column(header["value"])
        )
    own = F.when(count > 0, of_headers).otherwise(nothing)
    constant = _FIRST + sum(_part(name.encode()) for name in further)
    body = own + constant + _varint_column(count + len(further)) + _part_column(key) + _part_column(value)
    for content in further.values():
        body = body + _part_column(content)
    return _varint_column(body) + body + BATCH


def _part_column(content: Column) -> Column:
    length = F.octet_length(content)
    return F.coalesce(_varint_column(length) + length, F.lit(1))


def _varint_column(length: Column) -> Column:
    size = F.when(length < _VARINTS[0], 1)
    for bytes_, limit in enumerate(_VARINTS[1:], 2):
        size = size.when(length < limit, bytes_)
    return size.otherwise(len(_VARINTS) + 1)
