"""Reads Parquet segment files: it checks column types, and converts rows into Kafka's columns."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dagster_smt.tables.sources import arrow_rows
from dagster_smt.tables.sources.segments import Chunk, RowsOrProblems, Segment

_ROWS = 2_000
# units of time in a millisecond; 0 stands for seconds
_UNITS = {"s": 0, "ms": 1, "us": 1_000, "ns": 1_000_000}
_COORDINATES = ("topic", "partition", "offset")


def open_parquet(path: Any) -> pq.ParquetFile:
    """Opens the Parquet file ``path``. Timestamps are read in microseconds, not in nanoseconds.

    Spark writes timestamps with 96 bits. As 64-bit numbers of nanoseconds, some of them would be out of range.
    """
    return pq.ParquetFile(path, coerce_int96_timestamp_unit="us")


def schema_problem(schema: pa.Schema) -> str:
    """Checks the columns of a Parquet segment file. Returns a description of the problem, or an empty string."""
    checks = {
        "key": _is_side,
        "value": _is_side,
        "topic": _is_text,
        "partition": pa.types.is_integer,
        "offset": pa.types.is_integer,
        "timestamp": pa.types.is_timestamp,
        "timestampType": pa.types.is_integer,
        "headers": _is_headers,
    }
    optional = {"timestampType", "headers"}
    names = []
    for n in checks:
        if n not in optional or n in schema.names:
            names.append(n)
    wrong = []
    for n in names:
        if schema.names.count(n) != 1 or not checks[n](_plain(schema.field(n).type)):
            wrong.append(n)
    if wrong:
        return f"columns missing or of another type: {', '.join(wrong)}"
    return ""


def _plain(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(kind):
        return kind.value_type
    return kind


def _is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


def _is_side(kind: pa.DataType) -> bool:
    types = pa.types
    binary = types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind)
    return binary or _is_text(kind) or types.is_null(kind)


def _is_headers(kind: pa.DataType) -> bool:
    if pa.types.is_null(kind):
        return True
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind)) or not pa.types.is_struct(kind.value_type):
        return False
    fields = {field.name: field.type for field in kind.value_type}
    # the defaults are types that do not pass: _is_side accepts null, but no boolean
    return len(fields) == 2 and _is_text(fields.get("key", pa.null())) and _is_side(fields.get("value", pa.bool_()))


def parquet_batches(chunk: Chunk) -> Iterator[pa.RecordBatch | None]:
    """Yields the records of ``chunk``, a part of a Parquet file, in batches.

    If a batch contains a row that is not the expected record, yields ``None`` instead of the batch, and ends.
    """
    at = chunk.start
    with open_parquet(chunk.path) as file:
        for rows in _slices(file, chunk.first, chunk.end - chunk.start):
            rows_of_kafka = convert(rows)
            if not _in_place(rows_of_kafka, chunk, at):
                yield None
                return
            yield rows_of_kafka
            at += rows_of_kafka.num_rows


def _slices(file: pq.ParquetFile, first: int, count: int, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
    """Yields ``count`` rows of ``file``, beginning with the row ``first``. Only the row groups that contain these rows
    are read.
    """
    sizes = []
    for n in range(file.metadata.num_row_groups):
        sizes.append(file.metadata.row_group(n).num_rows)
    ends = np.cumsum(sizes)
    groups = []
    for n, end in enumerate(ends):
        if end > first and end - sizes[n] < first + count:
            groups.append(n)
    at = int(ends[groups[0]]) - sizes[groups[0]] if groups else 0
    for batch in file.iter_batches(_ROWS, row_groups=groups, columns=columns):
        low, high = max(first - at, 0), min(first + count - at, batch.num_rows)
        if low < high:
            yield batch.slice(low, high - low)
        at += batch.num_rows


def convert(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Converts ``rows`` into Kafka's columns. The schema of the rows must be valid.

    Raises:
        pa.ArrowInvalid: A value does not fit, such as a partition of more than 32 bits.
    """
    columns = {}
    for name in rows.schema.names:
        columns[name] = _decode(rows.column(name))
    stamps = columns["timestamp"]
    nulls = np.asarray(stamps.is_null())
    counts = np.asarray(stamps.cast(pa.int64()).fill_null(0))
    types = columns.get("timestampType")
    if types is None:
        kinds = np.zeros(len(nulls), np.int32)
    else:
        kinds = np.asarray(types.cast(pa.int32()).fill_null(0))
    return arrow_rows.batch(
        [
            columns["key"].cast(pa.binary()),
            columns["value"].cast(pa.binary()),
            columns["topic"].cast(pa.string()),
            columns["partition"].cast(pa.int32()),
            columns["offset"].cast(pa.int64()),
            *arrow_rows.times(counts, _UNITS[stamps.type.unit], nulls, kinds),
            _headers(columns.get("headers"), len(nulls)),
        ]
    )


def _decode(column: Any) -> Any:
    if pa.types.is_dictionary(column.type):
        return column.dictionary_decode()
    return column


def _headers(column: Any, size: int) -> Any:
    if column is None or pa.types.is_null(column.type):
        return arrow_rows.headers([0] * size, pa.array([], pa.string()), pa.array([], pa.binary()))
    pairs = column.flatten()
    keys, values = pc.struct_field(pairs, "key").cast(pa.string()), pc.struct_field(pairs, "value").cast(pa.binary())
    return arrow_rows.headers(np.asarray(pc.list_value_length(column).fill_null(0)), keys, values)


def _in_place(rows: pa.RecordBatch, chunk: Chunk, at: int) -> bool:
    if any(rows.column(name).null_count for name in _COORDINATES):
        return False
    offsets = np.asarray(rows.column("offset"))
    topics, partitions = rows.column("topic").unique().to_pylist(), rows.column("partition").unique().to_pylist()
    return (topics, partitions) == ([chunk.topic], [chunk.partition]) and bool(
        (offsets == np.arange(at, at + len(offsets))).all()
    )


def late_rows(chunk: Chunk, moments: Sequence[int]) -> list[int]:
    """Returns, for each time in ``moments``, the number of the first row of ``chunk`` at or after this time. Rows are
    counted from 0.

    If all rows are earlier than a time, the result has no number for this time.

    Args:
        chunk: A part of a Parquet file.
        moments: Times in milliseconds, in order.
    """
    number, numbers = 0, list[int]()
    with open_parquet(chunk.path) as file:
        for rows in _slices(file, chunk.first, chunk.end - chunk.start, ["timestamp"]):
            stamps = rows.column(0)
            per_milli = _UNITS[stamps.type.unit]
            # times are compared as 64-bit integers in milliseconds, or in seconds if the column has this coarser unit
            counts = np.asarray(stamps.cast(pa.int64()).fill_null(-(2**63)))
            known = ~np.asarray(stamps.is_null())
            while len(numbers) < len(moments):
                millis = moments[len(numbers)]
                if per_milli == 0:
                    # rounded up: the first full second that is not before the time
                    late = counts >= -(-millis // 1000)
                else:
                    late = counts // per_milli >= millis
                late &= known
                if not late.any():
                    break
                numbers.append(number + int(late.argmax()))
            if len(numbers) == len(moments):
                break
            number += rows.num_rows
    return numbers


def checked_rows(segment: Segment, first: int, count: int) -> RowsOrProblems:
    """Reads ``count`` rows of a Parquet segment file, and yields a pair for each row: its location in messages, and its
    coordinates (topic, partition and offset).

    If the row is not a record, the second item is its problem instead.

    Args:
        segment: The file.
        first: The number of the first row, from 0.
        count: The number of rows.
    """
    with open_parquet(segment.path) as file:
        problem = schema_problem(file.schema_arrow)
        if problem:
            yield segment.place, problem
            return
        number = first
        try:
            for rows in _slices(file, first, count):
                columns = convert(rows)
                for row in zip(*(columns.column(c).to_pylist() for c in _COORDINATES), strict=True):
                    number += 1
                    yield f"{segment.place} row {number}", "topic, partition or offset is null" if None in row else row
        except pa.ArrowException:
            yield f"{segment.place} after row {number}", "the rows cannot be read, or a value does not fit its column"
