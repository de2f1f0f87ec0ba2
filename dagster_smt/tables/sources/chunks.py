"""Decodes chunks of segment files on Spark's executors into rows with Kafka's columns.

A segment is a file with records of one topic-partition. A chunk is a part of a segment, with the offsets that it must
contain. If a row is not the record with the next expected offset, the chunk ends before this row. The data frame then
has too few rows, and the run asks the source for the reason.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from dagster_smt.tables.sources import arrow_rows
from dagster_smt.tables.sources.parquet_rows import late_rows, parquet_batches
from dagster_smt.tables.sources.segments import (
    MAX_LINE,
    Chunk,
    HeaderRow,
    SegmentRow,
    Tagged,
    decode_row,
    decode_rows,
    to_bytes,
)

_BLOCK = 1 << 19  # bytes: about a thousand records
_FIRST_OFFSETS = pa.schema(
    [("topic", pa.string()), ("partition", pa.int32()), ("moment", pa.int32()), ("offset", pa.int64())]
)
FOUND_SCHEMA = "`topic` STRING, `partition` INT, `moment` INT, `offset` BIGINT"


@dataclass(frozen=True)
class ReadChunks:
    """A function for ``DataFrame.mapInArrow`` that reads chunks (parts of files). Spark sends the object to its
    executors.

    Each input row is a number, such as 2. The function returns the records of ``chunks[2]``.
    """

    chunks: Sequence[Chunk]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number in _numbers(batches):
            yield from _whole(self.chunks[number])


@dataclass(frozen=True)
class FirstAt:
    """A function for ``DataFrame.mapInArrow`` that searches chunks (parts of files) for the first records at or after
    given times. Spark sends the object to its executors.

    Each input row is a number, such as 2, and stands for ``chunks[2]``. For each time, the function returns a row with
    the offset of the first record in this chunk at or after the time. If all records of the chunk are earlier than the
    time, the function returns no row for this chunk and this time.

    Attributes:
        chunks: The chunks.
        moments: The times in milliseconds, in order.
    """

    chunks: Sequence[Chunk]
    moments: Sequence[int]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        firsts = []
        for number in _numbers(batches):
            chunk = self.chunks[number]
            rows = (late_rows if chunk.parquet else _late_lines)(chunk, self.moments)
            place = {"topic": chunk.topic, "partition": chunk.partition}
            offsets = [chunk.start + row for row in rows]
            for n, at in enumerate(offsets):
                if at < chunk.end:
                    firsts.append({**place, "moment": n, "offset": at})
        yield pa.RecordBatch.from_pylist(firsts, schema=_FIRST_OFFSETS)


def _numbers(batches: Iterable[pa.RecordBatch]) -> Iterator[int]:
    return chain.from_iterable(batch.column(0).to_pylist() for batch in batches)


def _whole(chunk: Chunk) -> Iterator[pa.RecordBatch]:
    """Yields the record batches of ``chunk``, a part of a file. The function stops at the first row that is not the
    expected record.

    A batch is yielded only after the next batch has been read without a problem. So if a wrong row follows the last
    expected record, the last batch is not yielded either.
    """
    held = None
    try:
        for rows in parquet_batches(chunk) if chunk.parquet else _line_batches(chunk):
            if rows is None:
                return
            if held is not None:
                yield held
            held = rows
    except (OSError, pa.ArrowException):  # the driver reads the file again, and reports the problem
        return
    if held is not None:
        yield held


def _line_batches(chunk: Chunk) -> Iterator[pa.RecordBatch | None]:
    """Yields the records of ``chunk``, a part of a file with JSON lines, in batches.

    If a batch contains a line that is not the expected record, yields ``None`` instead of the batch, and ends.
    """
    at = chunk.start
    for lines in _blocks(chunk):
        rows = _decoded(lines, decode_rows, decode_row)
        if rows is None or at + len(rows) > chunk.end or not _in_place(rows, chunk, at):
            yield None
            return
        yield _batch(rows)
        at += len(rows)


def _blocks(chunk: Chunk) -> Iterator[bytes]:
    """Yields the lines of ``chunk``, a part of a file, in blocks of a few hundred kilobytes. A block ends at the end of
    a line.
    """
    rest, left = b"", chunk.last - chunk.first
    with open(chunk.path, "rb") as file:
        file.seek(chunk.first)
        # ends at a line that is too long, so that a file without newlines does not fill the memory
        while left > 0 and len(rest) <= MAX_LINE and (more := file.read(min(_BLOCK, left))):
            left -= len(more)
            cut = more.rfind(b"\n") + 1
            if cut:
                yield rest + more[:cut]
                rest = b""
            rest += more[cut:]
    if rest:
        yield rest


def _decoded(lines: bytes, decode_all: Callable[[bytes], list[Any]], decode: Callable[[bytes], Any]) -> Any:
    """Returns one row for each line in ``lines``, or None if a line is invalid.

    If each line looks like one JSON object, a single call of ``decode_all`` decodes all lines, which is faster.
    Otherwise, ``decode`` decodes each line separately.
    """
    count = lines.count(b"\n") + (not lines.endswith(b"\n"))
    try:
        # decode_lines() also accepts two objects on one line, and an object on two lines
        if len(lines) <= MAX_LINE and lines.startswith(b"{") and lines.count(b"\n{") == count - 1:
            rows = decode_all(lines)
            if len(rows) == count:
                return rows
            return None
        texts = lines.removesuffix(b"\n").split(b"\n")
        if any(len(text) >= MAX_LINE for text in texts):
            return None
        return [decode(text) for text in texts]
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _in_place(rows: list[SegmentRow], chunk: Chunk, at: int) -> bool:
    offsets = np.fromiter((row.offset for row in rows), np.int64, len(rows))
    places = {(row.topic, row.partition) for row in rows}
    return places == {(chunk.topic, chunk.partition)} and bool((offsets == np.arange(at, at + len(rows))).all())


def _batch(rows: list[SegmentRow]) -> pa.RecordBatch:
    size = len(rows)
    millis = np.fromiter((row.timestamp for row in rows), np.int64, size)
    types = np.fromiter((row.timestampType for row in rows), np.int32, size)
    return arrow_rows.batch(
        [
            _sides([row.key for row in rows]),
            _sides([row.value for row in rows]),
            pa.array([row.topic for row in rows], pa.string()),
            pa.array(np.fromiter((row.partition for row in rows), np.int32, size)),
            pa.array(np.fromiter((row.offset for row in rows), np.int64, size)),
            *arrow_rows.times(millis, 1, np.zeros(size, bool), types),
            _headers([row.headers or [] for row in rows]),
        ]
    )


def _sides(sides: list[str | Tagged | None]) -> Any:
    try:
        return pa.array(sides, pa.string()).cast(pa.binary())
    except pa.ArrowException:  # some of the values are not strings
        data = [to_bytes(side) for side in sides]
        return pa.array(data, pa.binary())


def _headers(rows: list[list[HeaderRow]]) -> Any:
    flat = list(chain.from_iterable(rows))
    keys = pa.array([header.key for header in flat], pa.string())
    return arrow_rows.headers([len(row) for row in rows], keys, _sides([header.value for header in flat]))


class _Moment(msgspec.Struct, gc=False):
    """A line of a segment file, of which only the timestamp is decoded, because ``offsets_at`` needs only
    this field.
    """

    timestamp: int


_moments = msgspec.json.Decoder(_Moment)


def _late_lines(chunk: Chunk, moments: Sequence[int]) -> list[int]:
    """Returns, for each time in ``moments``, the number of the first line of ``chunk`` at or after this time. Lines are
    counted from 0.

    If all lines are earlier than a time, the result has no number for this time. A line that is not a record is treated
    as a line without a time. The function ``late_rows`` does the same for Parquet.

    Args:
        chunk: A part of a file with JSON lines.
        moments: Times in milliseconds, in order.
    """
    number, numbers = 0, list[int]()
    for lines in _blocks(chunk):
        stamps = _decoded(lines, _moments.decode_lines, _moments.decode)
        if stamps is None:
            stamps = []
            for text in lines.removesuffix(b"\n").split(b"\n"):
                stamps.append(_moment(text))
        for stamp in stamps:
            while stamp is not None and stamp.timestamp >= moments[len(numbers)]:
                numbers.append(number)
                if len(numbers) == len(moments):
                    return numbers
            number += 1
    return numbers


def _moment(text: bytes) -> _Moment | None:
    try:
        return _moments.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
