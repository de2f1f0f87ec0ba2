"""Finds the positions of records in a segment file without decoding the records.

A position is the number of a byte in a file with JSON lines, or a row group in a Parquet file. A process counts the
records of each file only once. A run then uses the counts several times: for the end of the file, and for parts of it.
"""

import bisect
import os
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dagster_smt.errors import Problem, TableError
from dagster_smt.tables.sources.segments import Segment

_BLOCK = 1 << 20
_MOST_FILES = 10_000  # files; each needs about a thousand bytes of memory


@dataclass(frozen=True)
class Lines:
    """The positions of the lines in a file.

    Attributes:
        path: The file.
        size: The size of the file in bytes.
        records: The number of lines. The last line may lack a newline.
        newlines: One number for each mebibyte of the file: the number of newlines from the beginning of the file to the
            end of this mebibyte.
    """

    path: Path
    size: int
    records: int
    newlines: "array[int]"

    def position(self, line: int) -> int:
        """Returns the position in bytes at which the line with the number ``line`` begins. Lines are counted from 0."""
        if line <= 0 or line >= self.records:
            if line > 0:
                return self.size
            return 0
        # the line begins after as many newlines as its number; this is the first block that reaches this count
        block = bisect.bisect_left(self.newlines, line)
        missing = line - (self.newlines[block - 1] if block else 0)
        with self.path.open("rb") as file:
            file.seek(block * _BLOCK)
            data = file.read(_BLOCK)
        at = -1
        for _ in range(missing):
            at = data.index(b"\n", at + 1)
        return block * _BLOCK + at + 1


@dataclass(frozen=True)
class RowGroups:
    """The row groups of a Parquet file, with the schema.

    For row groups of 100, 100 and 50 rows, the field ``ends`` is ``(100, 200, 250)``.
    """

    ends: tuple[int, ...]
    schema: Any

    @property
    def records(self) -> int:
        if self.ends:
            return self.ends[-1]
        return 0


_known: dict[tuple[str, int, int], Lines | RowGroups] = {}


def _remembered(
    path: Path, look: Callable[[Path, Callable[[], None]], Lines | RowGroups], beat: Callable[[], None]
) -> Lines | RowGroups:
    stat = os.stat(path)
    # an erasure rewrites segments, and then at least the time of the change differs
    key = (str(path), stat.st_size, stat.st_mtime_ns)
    if key not in _known:
        if len(_known) >= _MOST_FILES:
            _known.clear()
        _known[key] = look(path, beat)
    return _known[key]


def lines_of(segment: Segment, beat: Callable[[], None] = lambda: None) -> Lines:
    """Returns the positions of the lines in ``segment``, a file with JSON lines."""
    lines = _remembered(segment.path, _count_lines, beat)
    assert isinstance(lines, Lines)
    return lines


def row_groups_of(segment: Segment, beat: Callable[[], None] = lambda: None) -> RowGroups:
    """Returns the row groups of ``segment``, a Parquet file with records of a topic.

    Raises:
        TableError: SMT541, the file cannot be read.
    """
    import pyarrow as pa

    try:
        groups = _remembered(segment.path, _read_footer, beat)
    except pa.ArrowException:
        hint = "its offsets are taken, so nothing is appended after it: restore the file, or remove it as a whole"
        problem = Problem("SMT541", segment.place, "the segment cannot be read: not a whole Parquet file", hint)
        raise TableError(problem) from None
    assert isinstance(groups, RowGroups)
    return groups


def count_records(segment: Segment, beat: Callable[[], None] = lambda: None) -> int:
    """Returns the number of records in ``segment``. The records are counted without being decoded.

    Raises:
        TableError: SMT541, the segment cannot be read.
    """
    return (row_groups_of(segment, beat) if segment.parquet else lines_of(segment, beat)).records


def _count_lines(path: Path, beat: Callable[[], None]) -> Lines:
    newlines: array[int] = array("q")
    # with this beginning, an empty file has no line
    count, size, block = 0, 0, b"\n"
    with path.open("rb") as file:
        while more := file.read(_BLOCK):
            beat()
            block = more
            size += len(block)
            count += block.count(b"\n")
            newlines.append(count)
    return Lines(path, size, count + (not block.endswith(b"\n")), newlines)


def _read_footer(path: Path, beat: Callable[[], None]) -> RowGroups:
    from dagster_smt.tables.sources.parquet_rows import open_parquet

    with open_parquet(path) as file:
        rows, ends = 0, []
        for number in range(file.metadata.num_row_groups):
            rows += file.metadata.row_group(number).num_rows
            ends.append(rows)
        return RowGroups(tuple(ends), file.schema_arrow)
