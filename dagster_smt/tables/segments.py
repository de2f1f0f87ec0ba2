"""Segment files of file topics: their names, their rows, and whether they hold what they claim.

A line of a ``.jsonl`` segment is an object with Kafka's columns. ``key``, ``value`` and the value of a header are text
(a JSON string), ``null``, or bytes as ``{"base64": "..."}``. ``timestamp`` is in milliseconds.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec

from dagster_smt.errors import Problem

ROW_PROBLEMS = 5
BEAT = 5_000  # rows
MAX_LINE = 16_000_000  # Spark reads key and value as VARIANT, which holds 16 MiB
_NAME = re.compile(r"(\d{1,20})\.(jsonl|parquet)")
_PARQUET_TYPES = {
    "key": ("binary", "large_binary"),
    "value": ("binary", "large_binary"),
    "topic": ("string", "large_string"),
    "partition": ("int32",),
    "offset": ("int64",),
    "timestamp": ("timestamp",),
}


class Tagged(msgspec.Struct, forbid_unknown_fields=True):
    """Bytes that are not text."""

    base64: bytes


class HeaderRow(msgspec.Struct, forbid_unknown_fields=True):
    key: str
    value: str | Tagged | None = None


class Row(msgspec.Struct, forbid_unknown_fields=True):
    """A line of a segment."""

    topic: str
    partition: Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
    offset: Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
    timestamp: Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
    key: str | Tagged | None
    value: str | Tagged | None
    timestampType: Annotated[int, msgspec.Meta(ge=-1, le=1)] = 0
    headers: list[HeaderRow] | None = None


_decode = msgspec.json.Decoder(Row).decode
_encode = msgspec.json.Encoder().encode


def encode_row(row: Row) -> bytes:
    """The row as a line."""
    return _encode(row) + b"\n"


def to_text(data: bytes | None) -> str | Tagged | None:
    """Bytes as a line holds them: text where they are UTF-8."""
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return Tagged(data)


@dataclass(frozen=True, slots=True, order=True)
class Segment:
    """A file with the records of one topic-partition from ``base`` on."""

    base: int
    path: Path
    topic: str
    partition: int

    @property
    def place(self) -> str:
        """``orders/0/00000000000000000000.jsonl``"""
        return f"{self.topic}/{self.partition}/{self.path.name}"


def parse_name(path: Path, topic: str, partition: int) -> Segment | None:
    """The segment that a file's name stands for, if it is a segment's name."""
    found = _NAME.fullmatch(path.name)
    return Segment(int(found[1]), path, topic, partition) if found else None


def count_records(segment: Segment) -> int:
    """Count the records without reading them. An unreadable Parquet file counts as empty; the check tells why."""
    if segment.path.suffix == ".parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            return pq.read_metadata(segment.path).num_rows
        except pa.ArrowInvalid:
            return 0
    count, block = 0, b"\n"
    with segment.path.open("rb") as file:
        while more := file.read(1 << 20):
            block = more
            count += block.count(b"\n")
    return count + (not block.endswith(b"\n"))


def read_rows(segment: Segment) -> Iterator[Row]:
    """The rows of a JSON segment that is known to be right."""
    with segment.path.open("rb") as file:
        yield from map(_decode, file)


def check_segment(segment: Segment, end: int | None, beat: Callable[[], None] = lambda: None) -> list[Problem]:
    """Read a whole segment and list what is wrong with it.

    Args:
        segment: The segment.
        end: The base offset of the next one, ``None`` for the last.
        beat: Called every few thousand rows; it may raise to stop the reading.

    Returns:
        The first problems: SMT503 not a record, SMT504 another topic or partition, SMT505 a gap or duplicate.
    """
    rows = _parquet_rows(segment) if segment.path.suffix == ".parquet" else _json_rows(segment)
    problems: list[Problem] = []
    expected = segment.base
    for number, (place, row) in enumerate(rows):
        if number % BEAT == 0:
            beat()
        if isinstance(row, str):
            problems.append(Problem("SMT503", place, row, "each line is an object with Kafka's columns; see the docs"))
            expected += 1
        else:
            problems += _misplaced(segment, place, row, expected)
            expected = row[2] + 1
        if len(problems) >= ROW_PROBLEMS:
            return problems
    if not problems and end is not None and expected != end:
        what = f"ends before offset {expected}, but the next segment begins at {end}"
        problems.append(Problem("SMT505", segment.place, what, "offsets are dense: restore the missing segment"))
    return problems


def _misplaced(segment: Segment, place: str, row: tuple[str, int, int], expected: int) -> list[Problem]:
    topic, partition, offset = row
    problems = []
    if (topic, partition) != (segment.topic, segment.partition):
        hint = f"all records below this folder belong to {segment.topic}-{segment.partition}"
        problems.append(Problem("SMT504", place, "the record's topic or partition is not the folder's", hint))
    if offset != expected:
        kind = "a gap" if offset > expected else "a duplicate"
        hint = "offsets are dense; append records only with dagster_smt's writer"
        problems.append(Problem("SMT505", place, f"offset {offset} stands where {expected} belongs: {kind}", hint))
    return problems


def _json_rows(segment: Segment) -> Iterator[tuple[str, tuple[str, int, int] | str]]:
    with segment.path.open("rb") as file:
        for number, line in enumerate(file, 1):
            place = f"{segment.place} line {number}"
            if len(line) > MAX_LINE:
                yield place, f"the line is longer than {MAX_LINE} bytes"
                continue
            try:
                row = _decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                yield place, _why(error)
                continue
            yield place, (row.topic, row.partition, row.offset)


def _why(error: Exception) -> str:
    """The decoder's message unless it names an unknown field: that name may be data."""
    if isinstance(error, UnicodeDecodeError):
        return "the line is not UTF-8"
    text = str(error)
    return "the line has a field that records do not have" if "unknown field" in text else f"not a record: {text}"


def _parquet_rows(segment: Segment) -> Iterator[tuple[str, tuple[str, int, int] | str]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(segment.path)
    except pa.ArrowInvalid:
        yield segment.place, "not a Parquet file"
        return
    wrong = [c for c, types in _PARQUET_TYPES.items() if not _has(file.schema_arrow, c, types)]
    if wrong:
        yield segment.place, f"columns missing or of another type: {', '.join(wrong)}"
        return
    number = 0
    for batch in file.iter_batches(columns=["topic", "partition", "offset"]):
        for row in zip(*(batch.column(c).to_pylist() for c in ("topic", "partition", "offset")), strict=True):
            number += 1
            place = f"{segment.place} row {number}"
            yield place, "topic, partition or offset is null" if None in row else row


def _has(schema: Any, column: str, types: tuple[str, ...]) -> bool:
    index = schema.get_field_index(column)
    return index >= 0 and str(schema.field(index).type).split("[")[0] in types
