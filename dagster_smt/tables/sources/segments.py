"""Segment files, which contain the records of file topics: their names, their rows, and the problems of rows.

A line of a ``.jsonl`` segment is a JSON object with Kafka's columns. The timestamp is in milliseconds. A key, a value
and the value of a header are each a string, ``null`` or bytes. Bytes are written as ``{"base64": "..."}``.
"""

import itertools
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec

from dagster_smt.errors import Problem, TableError

ROW_PROBLEMS = 5
BEAT = 5_000  # rows
MAX_LINE = 16_000_000  # bytes: sixteen times the default limit of a Kafka broker
LINES, PARQUET = ".jsonl", ".parquet"
_NAME = re.compile(r"(\d{1,20})\.(jsonl|parquet)")
DENSE = "offsets are dense; append records only with dagster_smt's writer"


# gc=False: these objects contain no cycles, so Python's garbage collector need not visit each of them
class Tagged(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """Bytes that are not UTF-8. A JSON line contains them as ``{"base64": "..."}``."""

    base64: bytes


class HeaderRow(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A header of a record, as a JSON line of a segment file contains it."""

    key: str
    value: str | Tagged | None = None


class SegmentRow(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A record, as a JSON line of a segment file (a file with the records of one topic-partition) contains it."""

    topic: str
    partition: Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
    offset: Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
    timestamp: Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
    key: str | Tagged | None
    value: str | Tagged | None
    timestampType: Annotated[int, msgspec.Meta(ge=-1, le=1)] = 0
    headers: list[HeaderRow] | None = None


_decoder = msgspec.json.Decoder(SegmentRow)
decode_row = _decoder.decode
decode_rows = _decoder.decode_lines
_encode = msgspec.json.Encoder().encode


def encode_row(row: SegmentRow) -> bytes:
    """Returns ``row`` as a JSON line, in bytes, with a newline at the end."""
    return _encode(row) + b"\n"


def to_bytes(side: str | Tagged | None) -> bytes | None:
    """Converts a key, a value or a header's value from a JSON line into bytes. ``"abc"`` becomes ``b"abc"``."""
    if isinstance(side, Tagged):
        return side.base64
    if side is None:
        return None
    return side.encode()


def to_text(data: bytes | None) -> str | Tagged | None:
    """Converts ``data`` into the form in which a JSON line contains it: a string if the bytes are UTF-8, otherwise
    base64.
    """
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return Tagged(data)


@dataclass(frozen=True, slots=True, order=True)
class Segment:
    """A segment file: a file with records of one topic-partition, in order. The first record has the offset
    ``base``.
    """

    base: int
    path: Path
    topic: str
    partition: int

    @property
    def place(self) -> str:
        """The name of the segment in messages, such as ``orders/0/00000000000000000000.jsonl``."""
        return f"{self.topic}/{self.partition}/{self.path.name}"

    @property
    def parquet(self) -> bool:
        """True if the segment is a Parquet file; False if it consists of JSON lines."""
        return self.path.suffix == PARQUET


def parse_name(path: Path, topic: str, partition: int) -> Segment | None:
    """Returns the segment for the file ``path``. Returns None if the name of the file is not the name of a segment."""
    match = _NAME.fullmatch(path.name)
    if match:
        return Segment(int(match[1]), path, topic, partition)
    return None


def list_segments(root: Path, topic: str) -> dict[int, list[Segment]]:
    """Returns the segment files of ``topic`` by partition, in the order of their offsets.

    Raises:
        TableError: SMT502: a file is not a segment; SMT542: two segments begin at one offset.
    """
    segments_by_partition: dict[int, list[Segment]] = {}
    problems: list[Problem] = []
    for name, is_folder in _entries(root / topic):
        # 1 and 01 would be two folders for one partition
        if not (is_folder and name.isdecimal() and str(int(name)) == name):
            problems.append(_stranger(f"{topic}/{name}", "not a partition's folder"))
            continue
        segments = segments_by_partition[int(name)] = []
        for file, _ in _entries(root / topic / name):
            segment = parse_name(root / topic / name / file, topic, int(name))
            if segment:
                segments.append(segment)
            else:
                problems.append(_stranger(f"{topic}/{name}/{file}", "not the name of a segment"))
        segments.sort()
        problems += _doubles(segments)
    if problems:
        raise TableError(problems)
    return dict(sorted(segments_by_partition.items()))


def _entries(folder: Path) -> list[tuple[str, bool]]:
    with os.scandir(folder) as entries:
        visible = []
        for e in entries:
            if not e.name.startswith("."):
                visible.append((e.name, e.is_dir()))
        return sorted(visible)


def _stranger(place: str, statement: str) -> Problem:
    return Problem("SMT502", place, statement, "a topic's folder holds <partition>/<base-offset>.jsonl or .parquet")


def _doubles(segments: list[Segment]) -> list[Problem]:
    hint = "only one of them can hold the records from there on: remove the other"
    results = []
    for one, two in itertools.pairwise(segments):
        if one.base == two.base:
            results.append(Problem("SMT542", one.place, f"begins at offset {one.base}, as {two.path.name} does", hint))
    return results


def read_rows(segment: Segment) -> Iterator[SegmentRow]:
    """Yields the rows of ``segment``, a file with JSON lines, without checks."""
    with segment.path.open("rb") as file:
        yield from map(decode_row, file)


Coordinates = tuple[str, int, int]
"""The topic, the partition and the offset of a record."""

RowsOrProblems = Iterator[tuple[str, Coordinates | str]]
"""An iterator with a pair for each row of a segment file. The first item is the location of the row in messages.

The second item is the row's coordinates, such as ``("orders", 0, 7)``, or its problem as text.
"""


def check_rows(
    rows: RowsOrProblems, segment: Segment, start: int, beat: Callable[[], None] = lambda: None
) -> list[Problem]:
    """Checks whether ``rows`` are the expected records of ``segment``. Returns a problem for each row that is not the
    expected record.

    Args:
        rows: The rows.
        segment: The file.
        start: The expected offset of the first row. Each following row must have the next offset.
        beat: Is called every few thousand rows. An error that ``beat`` raises stops the reading.

    Returns:
        The first problems. SMT503: not a record; SMT504: a different topic or partition; SMT505: a gap or duplicate.
    """
    problems: list[Problem] = []
    expected = start
    for number, (place, row) in enumerate(rows):
        if number % BEAT == 0:
            beat()
        if isinstance(row, str):
            problems.append(Problem("SMT503", place, row, "each line is an object with Kafka's columns; see the docs"))
            expected += 1
        else:
            problems += _misplaced(segment, place, row, expected)
            # one gap is one problem, not a problem of each record after it
            expected = row[2] + 1
        if len(problems) >= ROW_PROBLEMS:
            break
    return problems


def _misplaced(segment: Segment, place: str, row: Coordinates, expected: int) -> list[Problem]:
    topic, partition, offset = row
    problems = []
    if (topic, partition) != (segment.topic, segment.partition):
        hint = f"all records below this folder belong to {segment.topic}-{segment.partition}"
        problems.append(Problem("SMT504", place, "the record's topic or partition is not the folder's", hint))
    if offset != expected:
        kind = "a gap" if offset > expected else "a duplicate"
        problems.append(Problem("SMT505", place, f"the offset is {offset} instead of {expected}: {kind}", DENSE))
    return problems


def json_rows(segment: Segment, position: int, first: int, count: int) -> RowsOrProblems:
    """Reads ``count`` lines of a JSON segment file, and yields a pair for each line: its location in messages, and its
    coordinates (topic, partition and offset).

    If the line is not a record, the second item is its problem instead.

    Args:
        segment: The file.
        position: The byte at which to start.
        first: The number of the line at this byte, from 0.
        count: The number of lines to read.
    """
    with segment.path.open("rb") as file:
        file.seek(position)
        for number, line in zip(range(first + 1, first + 1 + count), file, strict=False):
            place = f"{segment.place} line {number}"
            if len(line) > MAX_LINE:
                yield place, f"the line is longer than {MAX_LINE} bytes"
                continue
            try:
                row = decode_row(line)
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                yield place, _why(error)
                continue
            yield place, (row.topic, row.partition, row.offset)


def _why(error: Exception) -> str:
    """Returns the reason why a line could not be decoded.

    If the decoder found an unknown field, its message contains the field's name. The reason leaves the name out,
    because it may be data.
    """
    if isinstance(error, UnicodeDecodeError):
        return "the line is not UTF-8"
    text = str(error)
    if "unknown field" in text:
        return "the line has a field that records do not have"
    return f"not a record: {text}"


@dataclass(frozen=True, slots=True)
class Chunk:
    """A part of a segment file, with the records that one task reads.

    Attributes:
        path: The file.
        topic: The topic of all records.
        partition: The partition of all records.
        start: The offset of the first record.
        end: The offset after the last record.
        first: For JSON lines, the first byte of the chunk. For Parquet, the number of the first row.
        last: For JSON lines, the position after the last byte of the chunk. Not used for Parquet, where the offsets
            determine the number of rows.
    """

    path: str
    topic: str
    partition: int
    start: int
    end: int
    first: int = 0
    last: int = 0

    @property
    def parquet(self) -> bool:
        """True if the chunk is part of a Parquet file."""
        return self.path.endswith(PARQUET)
