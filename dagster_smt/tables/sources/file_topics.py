"""Reads file topics: topics whose records are in files under a folder.

Such a file is a segment: ``<root>/<topic>/<partition>/<base-offset>.jsonl`` (or ``.parquet``). Its rows have Kafka's
columns; see ``segments``. A writer holds the topic's lock, and assigns offsets without gaps. A complete segment never
changes, except in an erasure.

The driver only locates the records. Executors read and check them.
"""

import difflib
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from dagster_smt.errors import Problem, TableError
from dagster_smt.model.topics.topic_names import is_file_topic
from dagster_smt.model.windows.window import Range, Window, ends_of, not_empty
from dagster_smt.spark.workers import map_in_arrow
from dagster_smt.tables import local
from dagster_smt.tables.sources.base import BaseSource, nothing
from dagster_smt.tables.sources.groups import no_groups
from dagster_smt.tables.sources.kafka_columns import KAFKA_SCHEMA
from dagster_smt.tables.sources.positions import count_records, lines_of, row_groups_of
from dagster_smt.tables.sources.segments import Chunk, Segment, check_rows, json_rows, list_segments
from dagster_smt.tables.topic_table import FileTopics

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ID = ".id"
_BY_HAND = re.compile(r"(\d+)-\d+-\d+")  # the parts are the base offset, the size and the time of the first segment
_CHUNK = 4 << 20  # bytes
_TASK = 128 << 20
_PARALLEL = 16  # tasks with full chunks
_FEW = 4  # chunks; so few chunks get a task each, because more tasks would start Python for nothing
Listing = dict[int, list[Segment]]


class FileTopicsSource(BaseSource):
    """File topics, opened as a source. The source remembers its list of the files of each topic. The method ``ranges``
    lists the files of a topic again.
    """

    knows_times = False

    def __init__(self, spec: FileTopics, session: "SparkSession | None" = None):
        self.spec = spec
        self.session = session
        self.root = local.local_folder(spec.root)
        self._listings: dict[str, Listing] = {}

    def topics(self) -> list[str]:
        """Returns the sorted names of the topics under the root. A folder whose name cannot be a topic is skipped.

        Raises:
            TableError: SMT500, the root is missing.
        """
        if not self.root.is_dir():
            raise TableError(_missing("SMT500", str(self.spec.root), "the folder of topics does not exist", self.root))
        with local.coded(self.root):
            names = []
            for p in self.root.iterdir():
                if is_file_topic(p.name) and _is_visible_folder(p):
                    names.append(p.name)
            return sorted(names)

    def identities(self, topics: Iterable[str]) -> dict[str, str]:
        """Returns the identity of each topic in ``topics``: a random string that the first writer has stored in the
        topic's folder.

        For a topic whose files were created by hand, the identity comes from the first segment file.
        """
        topics = self._existing(topics)
        with local.coded(self.root):
            return {topic: self._identity(topic) for topic in topics}

    def _identity(self, topic: str) -> str:
        file = self.root / topic / ID
        if file.is_file():
            return file.read_text(encoding="utf-8").strip()
        firsts = (segments[0] for segments in self._listing(topic).values() if segments)
        for segment in firsts:
            stat = segment.path.stat()
            return f"{segment.base}-{stat.st_size}-{stat.st_mtime_ns}"
        return ""

    def same_topic(self, before: str, now: str) -> bool:
        """Returns True if the identities ``before`` and ``now`` belong to the same topic.

        Usually, the two identities of one topic are equal. In a topic whose files were created by hand, the identity
        comes from the first file. This identity changes if old files are removed, although the topic is still the same.
        """
        first, other = _BY_HAND.fullmatch(before), _BY_HAND.fullmatch(now)
        return before == now or (first is not None and other is not None and int(first[1]) < int(other[1]))

    def sizes(self, topics: Iterable[str]) -> dict[str, int]:
        """Returns the number of bytes in the files of each topic in ``topics``. See ``Source``."""
        with local.coded(self.root):
            results = {}
            for topic in topics:
                size = 0
                for p in self._listing(topic).values():
                    for s in p:
                        size += s.path.stat().st_size
                results[topic] = size
            return results

    def ranges(self, topics: Iterable[str]) -> list[Range]:
        """Returns the offsets of each partition of ``topics``. The function reads only the last segment file of each
        partition.

        Raises:
            TableError: SMT500: the root does not exist; SMT501: the topic does not exist; SMT502: a file is not a
                segment; SMT541: a segment cannot be read; SMT542: two segments begin at one offset.
        """
        ranges: list[Range] = []
        problems: list[Problem] = []
        for topic in self._existing(topics):
            try:
                ranges += self._topic_ranges(topic)
            except TableError as error:
                problems += error.problems
        if problems:
            raise TableError(problems)
        return sorted(ranges)

    def _topic_ranges(self, topic: str) -> Iterator[Range]:
        for partition, segments in self._listing(topic, anew=True).items():
            with local.coded(self.root / topic):
                end = segments[-1].base + count_records(segments[-1]) if segments else 0
            yield Range(topic, partition, segments[0].base if segments else 0, end)

    def offsets_at(self, topics: Iterable[str], millis: int) -> dict[tuple[str, int], int]:
        """Returns the first offset of each topic-partition of ``topics`` at or after the time ``millis``. See
        ``Source``.
        """
        return self.offsets_at_each(topics, [millis])[0]

    def offsets_at_each(self, topics: Iterable[str], moments: Sequence[int]) -> list[dict[tuple[str, int], int]]:
        """Returns one mapping for each time in ``moments``: from each topic-partition to its first offset at or after
        this time. See ``Source``.

        Spark reads the records of the topics once. Lines that are not records are ignored.
        """
        from dagster_smt.tables.sources.chunks import FOUND_SCHEMA, FirstAt

        ranges = self.ranges(topics)
        ends = ends_of(ranges)
        offsets_by_moment = {}
        for millis in moments:
            offsets_by_moment[millis] = dict(ends)
        order = sorted(offsets_by_moment)
        chunks, problems = self._chunks(Window(tuple(not_empty(ranges))), nothing)
        if problems:
            raise TableError(problems)
        frame = map_in_arrow(self._numbers(chunks), FirstAt(chunks, order), FOUND_SCHEMA)
        rows = frame.groupBy("topic", "partition", "moment").min("offset").collect()
        for topic, partition, number, offset in rows:
            offsets_by_moment[order[number]][topic, partition] = offset
        return [offsets_by_moment[millis] for millis in moments]

    def read(self, window: Window, beat: Callable[[], None] = nothing) -> "DataFrame":
        """Returns the records of ``window``, the range of offsets that a run reads. Only the segment files with these
        offsets are opened. See ``Source``.

        Raises:
            TableError: SMT503: a Parquet segment has wrong columns; SMT505: a segment ends before the next one begins;
                SMT510: the topics do not have the window; SMT541: a segment cannot be read.
        """
        from dagster_smt.tables.sources.chunks import ReadChunks

        chunks, problems = self._chunks(window, beat)
        if problems:
            raise TableError(problems)
        return map_in_arrow(self._numbers(chunks), ReadChunks(chunks), KAFKA_SCHEMA)

    def _numbers(self, chunks: "list[Chunk]") -> "DataFrame":
        """Returns a data frame with one row for each of ``chunks``: the chunk's position in the list.

        The number of tasks is usually Spark's default parallelism. If there are few chunks, each chunk has its own
        task. If the chunks are very large, there are more tasks.
        """
        assert self.session is not None, "to read records takes a Spark session"
        full = sum(c.last - c.first for c in chunks) // _TASK
        if len(chunks) < _FEW:
            tasks = max(len(chunks), 1)
        elif full > _PARALLEL:
            tasks = full
        else:
            tasks = None
        return self.session.range(0, len(chunks), 1, tasks)

    def committed(self, group: str) -> dict[tuple[str, int], int]:
        """Raises an error for any ``group``, because file topics have no consumer groups. See ``Source``."""
        raise no_groups(str(self.spec.root))

    def mirror(self, group: str, ends: Mapping[tuple[str, int], int]) -> None:
        """Raises an error for any ``group``, because file topics have no consumer groups. See ``Source``."""
        raise no_groups(str(self.spec.root))

    def count(self, window: Window) -> dict[str, int]:
        """Returns the number of records of each topic in ``window``, which is the number of its offsets. See
        ``Source``.
        """
        return window.records_by_topic

    def verify(self, window: Window, read: Mapping[str, int], beat: Callable[[], None] = nothing) -> list[Problem]:
        """Returns problems if the run has read fewer or more records than ``window`` has offsets. See ``Source``.

        In file topics, every offset of a window has a record.
        """
        if sum(read.values()) == window.records:
            return []
        return self.explain(window, beat)

    def explain(self, window: Window, beat: Callable[[], None] = nothing) -> list[Problem]:
        """Explains why a run has read a wrong number of records from ``window``. To find the fault, the function reads
        the records again, one by one.

        Returns:
            A problem for each fault, with its file and line. SMT503: not a record; SMT504: a different topic or
            partition; SMT505: a gap or duplicate; SMT544: no fault was found.
        """
        hint = "run again; does every executor see the same files below this folder?"
        statement = "Spark read another number of records than the segments hold now"
        try:
            return self.check(window, beat) or [Problem("SMT544", str(self.spec.root), statement, hint)]
        except TableError as error:
            return list(error.problems)

    def check(self, window: Window, beat: Callable[[], None] = nothing) -> list[Problem]:
        """Reads the records of ``window`` one by one, and returns a problem for each invalid record; see
        ``explain``.
        """
        _, problems = self._chunks(window, beat)
        if problems:
            return problems
        for range_ in window.ranges:
            for part in _overlapping(self._listing(range_.topic)[range_.partition], range_):
                with local.coded(part.segment.path):
                    wrong = check_segment(part.segment, part.start, part.end, beat)
                    problems += wrong or _wrong_end(part, beat)
        return problems

    def _existing(self, topics: Iterable[str]) -> tuple[str, ...]:
        topics, listed = tuple(topics), self.topics()
        missing = [t for t in topics if t not in listed]
        if missing:
            raise TableError(_missing("SMT501", t, "the topic does not exist", self.root / t, listed) for t in missing)
        return topics

    def _listing(self, topic: str, anew: bool = False) -> Listing:
        if anew or topic not in self._listings:
            with local.coded(self.root / topic):
                self._listings[topic] = list_segments(self.root, topic)
        return self._listings[topic]

    def _chunks(self, window: Window, beat: Callable[[], None]) -> "tuple[list[Chunk], list[Problem]]":
        chunks: list[Chunk] = []
        problems: list[Problem] = []
        stale = set(self._listings)
        for range_ in window.ranges:
            try:
                chunks += self._chunks_of(range_, beat, stale)
            except TableError as error:
                problems += error.problems
        return chunks, problems

    def _chunks_of(self, range_: Range, beat: Callable[[], None], stale: set[str]) -> "list[Chunk]":
        place = f"{range_.topic}-{range_.partition}"
        there = is_file_topic(range_.topic) and (self.root / range_.topic).is_dir()
        if there:
            segments = self._listing(range_.topic).get(range_.partition, [])
        else:
            segments = []
        chunks: list[Chunk] = []
        at = range_.start
        with local.coded(self.root / range_.topic):
            for part in _overlapping(segments, range_):
                # `at` stays in front of a gap, so nothing behind the gap is read
                pieces = list(_split(part, beat)) if part.start == at else []
                chunks += pieces
                at = pieces[-1].end if pieces else at
        if at >= range_.end:
            return chunks
        if range_.topic in stale:  # the topic was listed earlier, and may have more records now
            stale.discard(range_.topic)
            self._listings.pop(range_.topic, None)
            return self._chunks_of(range_, beat, stale)
        statement = f"offsets {range_.start} to {range_.end} are not all there"
        raise TableError(Problem("SMT510", place, statement, "request a range that the topic still holds"))


class _Part(NamedTuple):
    """The part of a segment file that a run reads, as a range of offsets.

    The field ``following`` is the offset at which the next segment begins. It is None for the last segment.
    """

    segment: Segment
    start: int
    end: int
    following: int | None


def _overlapping(segments: list[Segment], range_: Range) -> Iterator[_Part]:
    for segment, following in zip(segments, [*segments[1:], None], strict=False):
        start = max(segment.base, range_.start)
        end = min(following.base, range_.end) if following else range_.end
        if start < end:
            yield _Part(segment, start, end, following.base if following else None)


def _split(part: _Part, beat: Callable[[], None]) -> Iterator[Chunk]:
    """Splits ``part``, the part of a segment file that a run reads, into chunks of a few megabytes. Tasks then read the
    chunks.

    Raises:
        TableError: SMT503, SMT505 or SMT541.
    """
    beat()
    segment, start, end, following = part
    size = segment.path.stat().st_size
    # a small segment that is read completely is not counted: if it has too few or too many lines, the task notices
    if (start, end) == (segment.base, following) and size <= _CHUNK and not segment.parquet:
        yield Chunk(str(segment.path), segment.topic, segment.partition, start, end, 0, size)
        return
    if problems := _wrong_end(part, beat):
        raise TableError(problems)
    reached = segment.base + count_records(segment, beat)
    if start < reached:
        yield from _pieces(segment, start, min(end, reached), beat)


def _wrong_end(part: _Part, beat: Callable[[], None]) -> list[Problem]:
    reached = part.segment.base + count_records(part.segment, beat)
    # a part up to the next segment needs a segment that ends exactly there; any other part only needs its own records
    if part.following is None or part.end <= reached <= (part.following if part.end == part.following else reached):
        return []
    what = f"ends before offset {reached}, but the next segment begins at {part.following}"
    return [Problem("SMT505", part.segment.place, what, "offsets are dense: restore the missing segment")]


def _pieces(segment: Segment, start: int, end: int, beat: Callable[[], None]) -> Iterator[Chunk]:
    base, place = segment.base, (str(segment.path), segment.topic, segment.partition)
    if segment.parquet:
        from dagster_smt.tables.sources.parquet_rows import schema_problem

        groups = row_groups_of(segment, beat)
        if problem := schema_problem(groups.schema):
            hint = "a segment has Kafka's columns; see the docs"
            raise TableError(Problem("SMT503", segment.place, problem, hint))
        cuts = []
        for cut in groups.ends:
            if start < base + cut < end:
                cuts.append(base + cut)
        for low, high in itertools.pairwise([start, *cuts, end]):
            yield Chunk(*place, low, high, low - base)
        return
    lines = lines_of(segment, beat)
    first, last = lines.position(start - base), lines.position(end - base)
    count = min((last - first) // _CHUNK + 1, end - start)
    cuts = []
    for n in range(1, count):
        cuts.append(start + (end - start) * n // count)
    bounds = [(start, first), *((cut, lines.position(cut - base)) for cut in cuts), (end, last)]
    for (low, first_byte), (high, last_byte) in itertools.pairwise(bounds):
        yield Chunk(*place, low, high, first_byte, last_byte)


def check_segment(segment: Segment, start: int, end: int, beat: Callable[[], None] = nothing) -> list[Problem]:
    """Reads the rows of a segment file one by one, and returns the problems of these rows.

    Args:
        segment: The file.
        start: The offset of the first row to read.
        end: The offset after the last row to read.
        beat: Is called every few thousand rows. An error that it raises stops the reading.

    Returns:
        The first problems: SMT503 not a record, SMT504 a different topic or partition, SMT505 a gap or duplicate.
    """
    first = start - segment.base
    if segment.parquet:
        from dagster_smt.tables.sources.parquet_rows import checked_rows

        return check_rows(checked_rows(segment, first, end - start), segment, start, beat)
    lines = lines_of(segment, beat)
    return check_rows(json_rows(segment, lines.position(first), first, end - start), segment, start, beat)


def _is_visible_folder(path: Path) -> bool:
    return not path.name.startswith(".") and path.is_dir()


def _missing(code: str, place: str, statement: str, path: Path, names: Iterable[str] | None = None) -> Problem:
    if names is None:
        if path.parent.is_dir():
            names = []
            for p in path.parent.iterdir():
                if p.is_dir():
                    names.append(p.name)
        else:
            names = []
    similar = difflib.get_close_matches(path.name, list(names), 3)
    if similar:
        hint = f"did you mean {' or '.join(similar)}?"
    else:
        hint = "look for the folder that holds the topics"
    if code == "SMT501" and not similar:
        hint = f"topics there: {', '.join(sorted(names)[:10]) or 'none'}"
    return Problem(code, place, statement, hint)
