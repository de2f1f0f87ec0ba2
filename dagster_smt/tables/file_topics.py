"""File topics: topics as folders of segment files, with dense offsets that only our locked writer gives out.

``<root>/<topic>/<partition>/<base-offset>.jsonl`` (or ``.parquet``), rows with Kafka's columns, see ``segments``.
A segment never changes once it has its name.
"""

import difflib
import functools
import operator
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from dagster_smt.errors import Problem, TableError
from dagster_smt.model.window import Range, Window
from dagster_smt.tables import local
from dagster_smt.tables.segments import (
    HeaderRow,
    Row,
    Segment,
    check_segment,
    count_records,
    encode_row,
    parse_name,
    read_rows,
    to_text,
)
from dagster_smt.tables.spec import FileTopics

_TOPIC = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._-]{1,249}")
_LINE_SCHEMA = (
    "topic STRING, partition INT, offset BIGINT, timestamp BIGINT, key VARIANT, value VARIANT, timestampType INT, "
    "headers ARRAY<STRUCT<key: STRING, value: VARIANT>>"
)
_PARQUET_SCHEMA = (
    "topic STRING, partition INT, offset BIGINT, timestamp TIMESTAMP, key BINARY, value BINARY, timestampType INT, "
    "headers ARRAY<STRUCT<key: STRING, value: BINARY>>"
)
_KAFKA_COLUMNS = ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers")
_LONGEST_TEXT = str(2**31 - 1)


@dataclass(frozen=True, slots=True)
class NewRecord:
    """A record to append. ``timestamp`` is in milliseconds; ``None`` is now."""

    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    timestamp: int | None = None
    timestamp_type: int = 0


def list_topics(source: FileTopics) -> list[str]:
    """The topics below the root, sorted. Folders whose names cannot be topics are passed over.

    Raises:
        TableError: SMT500, the root is missing.
    """
    root = local.local_folder(source.root)
    if not root.is_dir():
        raise TableError(_missing("SMT500", str(source.root), "the folder of topics does not exist", root))
    return sorted(p.name for p in root.iterdir() if p.is_dir() and not p.name.startswith(".") and is_topic(p.name))


def is_topic(name: str) -> bool:
    """Whether Kafka accepts the name for a topic."""
    return _TOPIC.fullmatch(name) is not None


def topic_ranges(source: FileTopics, topics: Iterable[str]) -> list[Range]:
    """The offsets that there are: earliest and end of each topic-partition. Reads only the last segment of each.

    Raises:
        TableError: SMT500 no root, SMT501 no such topic, SMT502 a file that is not a segment.
    """
    listed = list_topics(source)
    root = local.local_folder(source.root)
    topics = tuple(topics)
    missing = [_missing("SMT501", t, "the topic does not exist", root / t, listed) for t in topics if t not in listed]
    if missing:
        raise TableError(missing)
    found = []
    for topic in topics:
        for partition, segments in _segments(root, topic).items():
            end = segments[-1].base + count_records(segments[-1]) if segments else 0
            found.append(Range(topic, partition, segments[0].base if segments else 0, end))
    return sorted(found)


def read_window(
    session: SparkSession, source: FileTopics, window: Window, beat: Callable[[], None] = lambda: None
) -> DataFrame:
    """Read the records of a window, with Kafka's columns. Only the segments that overlap it are read.

    Args:
        session: The Spark session.
        source: The topics.
        window: What to read.
        beat: Called now and then while the segments are checked here; it may raise to stop.

    Raises:
        TableError: SMT503 to SMT505, a segment holds something else than its records, naming file and line; SMT510,
            the window is not there.
    """
    root = local.local_folder(source.root)
    segments: list[Segment] = []
    problems: list[Problem] = []
    for wanted in window.ranges:
        found, wrong = _overlapping(root, wanted, beat)
        segments += found
        problems += wrong
    if problems:
        raise TableError(problems)
    frames = [_read_lines(session, [s.path for s in segments if s.path.suffix == ".jsonl"])]
    frames.append(_read_parquet(session, [s.path for s in segments if s.path.suffix == ".parquet"]))
    present = [f for f in frames if f is not None]
    if not present:
        return session.createDataFrame([], _PARQUET_SCHEMA).select(*_KAFKA_COLUMNS)
    frame = present[0] if len(present) == 1 else present[0].unionByName(present[1])
    return frame.where(_within(window))


def append_records(source: FileTopics, topic: str, records: Iterable[NewRecord], partition: int = 0) -> Range:
    """Append records to a topic-partition, as one new segment that appears whole or not at all.

    Creates root, topic and partition where they are missing. Waits for other writers of the topic.

    Returns:
        The offsets given out; empty if there were no records.

    Raises:
        TableError: SMT507, not a topic's name or not a partition's number.
    """
    with writing(source, topic) as writer:
        return writer.append(records, partition)


@dataclass(frozen=True)
class TopicWriter:
    """Appends to one topic, whose lock it holds. Made by ``writing``."""

    root: Path
    topic: str

    def end(self, partition: int = 0) -> int:
        """The next offset."""
        segments = _segments(self.root, self.topic).get(partition)
        return segments[-1].base + count_records(segments[-1]) if segments else 0

    def append(self, records: Iterable[NewRecord], partition: int = 0) -> Range:
        """See ``append_records``."""
        if partition < 0:
            raise TableError(Problem("SMT507", self.topic, f"{partition} cannot be a partition", "use 0 or more"))
        folder = self.root / self.topic / str(partition)
        local.make_folder(folder)
        start = end = self.end(partition)
        temporary = folder / f".{os.getpid()}.tmp"
        with temporary.open("wb") as file:
            for record in records:
                file.write(encode_row(_row(record, self.topic, partition, end)))
                end += 1
        if end == start:
            temporary.unlink()
        else:
            local.sync(temporary)
            local.publish(temporary, folder / f"{start:020d}.jsonl", exclusive=True)
        return Range(self.topic, partition, start, end)

    def find_header(self, name: str, value: str, start: int, partition: int = 0) -> bool:
        """Whether a record at offset ``start`` or later carries the header. Reads the JSON segments from there on."""
        return any(
            header.key == name and header.value == value
            for segment in _segments(self.root, self.topic).get(partition, [])
            if segment.path.suffix == ".jsonl" and segment.base + count_records(segment) > start
            for row in read_rows(segment)
            for header in row.headers or ()
        )


@contextmanager
def writing(source: FileTopics, topic: str) -> Iterator[TopicWriter]:
    """Hold a topic's lock while the block runs; waits for other writers.

    Raises:
        TableError: SMT507, not the name of a topic.
    """
    if not is_topic(topic):
        hint = "Kafka allows up to 249 letters, digits, dots, underscores and hyphens"
        raise TableError(Problem("SMT507", topic, "cannot be the name of a topic", hint))
    root = local.local_folder(source.root)
    local.make_folder(root / topic)
    with local.locked(root / topic / ".lock", wait=True):
        yield TopicWriter(root, topic)


def _row(record: NewRecord, topic: str, partition: int, offset: int) -> Row:
    timestamp = time.time_ns() // 1_000_000 if record.timestamp is None else record.timestamp
    headers = [HeaderRow(k, to_text(v)) for k, v in record.headers]
    key, value = to_text(record.key), to_text(record.value)
    return Row(topic, partition, offset, timestamp, key, value, record.timestamp_type, headers)


def _segments(root: Path, topic: str) -> dict[int, list[Segment]]:
    """The segments of a topic per partition, in order of their offsets."""
    found: dict[int, list[Segment]] = {}
    problems: list[Problem] = []
    for folder in sorted(p for p in (root / topic).iterdir() if not p.name.startswith(".")):
        if not (folder.is_dir() and folder.name.isdecimal() and str(int(folder.name)) == folder.name):
            problems.append(_stranger(f"{topic}/{folder.name}", "not a partition's folder"))
            continue
        segments = found[int(folder.name)] = []
        for file in folder.iterdir():
            segment = parse_name(file, topic, int(folder.name))
            if segment:
                segments.append(segment)
            elif not file.name.startswith("."):
                problems.append(_stranger(f"{topic}/{folder.name}/{file.name}", "not the name of a segment"))
        segments.sort()
    if problems:
        raise TableError(problems)
    return found


def _overlapping(root: Path, wanted: Range, beat: Callable[[], None]) -> tuple[list[Segment], list[Problem]]:
    """The segments that hold a range, and what is wrong with them."""
    known = _segments(root, wanted.topic) if (root / wanted.topic).is_dir() else {}
    segments = known.get(wanted.partition, [])
    found: list[Segment] = []
    problems: list[Problem] = []
    for segment, following in zip(segments, [*segments[1:], None], strict=False):
        end = following.base if following else segment.base + count_records(segment)
        if segment.base < wanted.end and end > wanted.start:
            found.append(segment)
            problems += check_segment(segment, following.base if following else None, beat)
    reached = found[-1].base + count_records(found[-1]) if found else wanted.start
    if not problems and not (reached >= wanted.end and (not found or found[0].base <= wanted.start)):
        where = f"{wanted.topic}-{wanted.partition}"
        statement = f"offsets {wanted.start} to {wanted.end} are not all there"
        problems.append(Problem("SMT510", where, statement, "ask for a range that the topic still holds"))
    return found, problems


def _read_lines(session: SparkSession, paths: list[Path]) -> DataFrame | None:
    if not paths:
        return None
    reader = session.read.schema(_LINE_SCHEMA).options(lineSep="\n", maxStringLen=_LONGEST_TEXT, encoding="UTF-8")
    frame = reader.json([local.spark_path(p) for p in paths])
    return frame.select(
        _bytes(F.col("key")).alias("key"),
        _bytes(F.col("value")).alias("value"),
        "topic",
        "partition",
        "offset",
        F.timestamp_millis("timestamp").alias("timestamp"),
        F.coalesce("timestampType", F.lit(0)).alias("timestampType"),
        _headers(lambda h: _bytes(h["value"])),
    )


def _read_parquet(session: SparkSession, paths: list[Path]) -> DataFrame | None:
    if not paths:
        return None
    frame = session.read.schema(_PARQUET_SCHEMA).parquet(*(local.spark_path(p) for p in paths))
    kind = F.coalesce("timestampType", F.lit(0)).alias("timestampType")
    return frame.select(*_KAFKA_COLUMNS[:6], kind, _headers(lambda h: h["value"]))


def _headers(value: Callable[[Column], Column]) -> Column:
    """Headers as Kafka's source gives them; a record without any has none, not null."""
    pairs = F.transform("headers", lambda h: F.struct(h["key"].alias("key"), value(h).alias("value")))
    return F.coalesce(pairs, F.array().cast("array<struct<key: string, value: binary>>")).alias("headers")


def _bytes(side: Column) -> Column:
    """Bytes of a text or of tagged base64; the segment check has refused everything else."""
    tagged = F.try_to_binary(F.try_variant_get(side, "$.base64", "string"), F.lit("base64"))
    return F.coalesce(tagged, F.try_variant_get(side, "$", "string").cast("binary"))


def _within(window: Window) -> Column:
    ranges = [
        (F.col("topic") == r.topic)
        & (F.col("partition") == r.partition)
        & (F.col("offset") >= r.start)
        & (F.col("offset") < r.end)
        for r in window.ranges
    ]
    # a balanced tree: a chain of hundreds of ORs overflows the stack of Spark's analyzer
    while len(ranges) > 1:
        ranges = [functools.reduce(operator.or_, ranges[i : i + 2]) for i in range(0, len(ranges), 2)]
    return ranges[0]


def _stranger(place: str, statement: str) -> Problem:
    return Problem("SMT502", place, statement, "a topic's folder holds <partition>/<base-offset>.jsonl or .parquet")


def _missing(code: str, place: str, statement: str, path: Path, names: Iterable[str] | None = None) -> Problem:
    if names is None:
        names = [p.name for p in path.parent.iterdir() if p.is_dir()] if path.parent.is_dir() else []
    similar = difflib.get_close_matches(path.name, list(names), 3)
    hint = f"did you mean {' or '.join(similar)}?" if similar else "look for the folder that holds the topics"
    if code == "SMT501" and not similar:
        hint = f"topics there: {', '.join(sorted(names)[:10]) or 'none'}"
    return Problem(code, place, statement, hint)
