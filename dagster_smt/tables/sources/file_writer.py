"""Appends records to file topics. Each writer holds the lock of its topic.

The records become a new segment file. Readers see the file only when it is complete and contains no invalid record.
"""

import os
import secrets
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from dagster_smt.errors import Problem, TableError
from dagster_smt.model.topics.topic_names import is_file_topic
from dagster_smt.model.windows.window import Range
from dagster_smt.tables import local
from dagster_smt.tables.sources.file_topics import ID
from dagster_smt.tables.sources.positions import count_records
from dagster_smt.tables.sources.segments import (
    LINES,
    MAX_LINE,
    HeaderRow,
    Segment,
    SegmentRow,
    encode_row,
    list_segments,
    to_text,
)
from dagster_smt.tables.topic_table import FileTopics

STAGING = ".staging"
MOST_PARTITION = 2**31 - 1
Say = Callable[[str], None]


def silent(line: str) -> None:
    """Does nothing with ``line``. Callers that show no progress pass this function."""


@dataclass(frozen=True, slots=True)
class NewRecord:
    """A record to append. Its ``timestamp`` is in milliseconds; ``None`` stands for the current time."""

    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    timestamp: int | None = None
    timestamp_type: int = 0


def append_records(
    source: FileTopics, topic: str, records: Iterable[NewRecord], partition: int = 0, say: Say = silent
) -> Range:
    """Appends ``records`` to a topic-partition. They become one new segment file. If one record fails, no record is
    appended.

    If the root, the topic or the partition is missing, it is created. The function waits for other writers of the
    topic.

    Returns:
        The offsets of the new records; empty if there were no records.

    Raises:
        TableError: SMT507: the name of the topic or the number of the partition is wrong; SMT541: the topic's last
            segment cannot be read; SMT543: a reader would reject a record. In all cases, nothing was appended.
    """
    check_place(topic, partition)
    with writing(source, topic, say) as writer:
        return writer.append(records, partition)


def check_place(topic: str, partition: int) -> None:
    """Raises an error if ``topic`` or ``partition`` is not a valid name or number.

    Raises:
        TableError: SMT507.
    """
    if not is_file_topic(topic):
        hint = "Kafka allows up to 249 letters, digits, dots, underscores and hyphens; here a dot is not the first"
        raise TableError(Problem("SMT507", topic, "cannot be the name of a topic", hint))
    if not 0 <= partition <= MOST_PARTITION:
        raise TableError(Problem("SMT507", topic, f"{partition} cannot be a partition", f"use 0 to {MOST_PARTITION}"))


def encode(record: NewRecord, topic: str, partition: int, offset: int) -> bytes:
    """Returns ``record`` as a JSON line of a segment file.

    Raises:
        ValueError: A reader would reject the record. The message contains the reason, without any value.
    """
    if record.timestamp is None:
        timestamp = time.time_ns() // 1_000_000
    else:
        timestamp = record.timestamp
    if not -(2**63) <= timestamp < 2**63:
        raise ValueError("the timestamp does not fit into 64 bits")
    if record.timestamp_type not in (-1, 0, 1):
        raise ValueError("the timestamp type is not -1, 0 or 1")
    headers = []
    for k, v in record.headers:
        headers.append(HeaderRow(k, to_text(v)))
    row = SegmentRow(topic, partition, offset, timestamp, to_text(record.key), to_text(record.value))
    row.timestampType, row.headers = record.timestamp_type, headers
    try:
        line = encode_row(row)
    except UnicodeEncodeError:
        raise ValueError("the key of a header cannot be written as UTF-8") from None
    if len(line) > MAX_LINE:
        raise ValueError(f"as a line it is longer than {MAX_LINE} bytes")
    return line


def refused(place: str, why: str) -> Problem:
    """Returns the problem SMT543 for a record that cannot be appended.

    Args:
        place: The location of the record.
        why: The reason for which a reader would reject the record.
    """
    return Problem("SMT543", place, f"a record cannot be appended: {why}", "nothing was appended: fix the record")


@dataclass(frozen=True)
class TopicWriter:
    """A writer of one topic, which holds the topic's lock. The function ``writing`` creates the writer."""

    root: Path
    topic: str
    segments: dict[int, list[Segment]] = field(default_factory=dict)

    def end(self, partition: int = 0) -> int:
        """Returns the offset that the next record of ``partition`` will get.

        Raises:
            TableError: SMT541, the last segment cannot be read.
        """
        segments = self.segments.get(partition)
        with local.coded(self.root / self.topic):
            if segments:
                return segments[-1].base + count_records(segments[-1])
            return 0

    def append(self, records: Iterable[NewRecord], partition: int = 0) -> Range:
        """Appends ``records`` to a partition of the topic, as one new segment file. Returns the offsets of the records.

        See ``append_records`` for the errors.
        """
        check_place(self.topic, partition)
        start = end = self.end(partition)
        folder = self.root / self.topic / str(partition)
        # list_segments() skips hidden files, and writing() removes what a killed writer has left
        temporary = folder / f".{os.getpid()}.tmp"
        with local.coded(folder):
            local.make_folder(folder)
            try:
                with temporary.open("wb") as file:
                    for record in records:
                        file.write(self._line(record, partition, end, end - start))
                        end += 1
                if end > start:
                    self.publish(temporary, Range(self.topic, partition, start, end))
            finally:
                temporary.unlink(missing_ok=True)
        return Range(self.topic, partition, start, end)

    def _line(self, record: NewRecord, partition: int, offset: int, number: int) -> bytes:
        try:
            return encode(record, self.topic, partition, offset)
        except ValueError as error:
            place = f"{self.topic}-{partition} record {number + 1} of those to append"
            raise TableError(refused(place, str(error))) from None

    def publish(self, file: Path, range_: Range) -> None:
        """Gives ``file`` the name of a segment, so that it becomes the next segment of its partition.

        Args:
            file: A finished file with JSON lines.
            range_: The topic, the partition and the offsets of the lines.
        """
        folder = self.root / self.topic / str(range_.partition)
        local.make_folder(folder)
        # before the file gets its name: after a power failure, readers must not see an incomplete segment
        local.sync(file)
        # 20 digits, as in the names of Kafka's segment files
        segment = Segment(range_.start, folder / f"{range_.start:020d}{LINES}", self.topic, range_.partition)
        local.publish(file, segment.path, exclusive=True)
        self.segments.setdefault(range_.partition, []).append(segment)


@contextmanager
def writing(source: FileTopics, topic: str, say: Say = silent) -> Iterator[TopicWriter]:
    """Holds the lock of ``topic`` while the block runs, and yields a writer. Waits until other writers have released
    the lock.

    Unfinished files of killed writers are removed. This is safe, because no other writer can write while the lock is
    held.

    Args:
        source: The topics.
        topic: The topic. It is created if it does not exist.
        say: Receives a line when a wait begins. An error that it raises ends the wait.

    Raises:
        TableError: SMT507: the name cannot be a topic; SMT550 to SMT553: the file system denies the operation.
    """
    check_place(topic, 0)
    root = local.local_folder(source.root)
    folder = root / topic
    with ExitStack() as held:
        with local.coded(folder):
            local.make_folder(folder)
            held.enter_context(local.locked(folder / ".lock", _holder(), wait=True, say=say))
            for left in (*folder.glob(".*.tmp"), *folder.glob("*/.*.tmp")):
                left.unlink(missing_ok=True)
            segments = list_segments(root, topic)
            # a topic whose files were created by hand keeps the identity of its first file; with a new one, it would be
            # another topic
            if not any(segments.values()) and not (folder / ID).exists():
                _name(folder)
        # outside of coded(), which would convert errors of the caller's block as well
        yield TopicWriter(root, topic, segments)


def _holder() -> str:
    return f"process {os.getpid()}"


def _name(folder: Path) -> None:
    """Stores an identity (a random string) in ``folder``, the folder of a new topic.

    If the topic is deleted and created again, it gets a different identity.
    """
    temporary = folder / f"{ID}.tmp"
    temporary.write_text(secrets.token_hex(16), encoding="utf-8")
    local.sync(temporary)
    local.publish(temporary, folder / ID, exclusive=False)


@contextmanager
def staging(root: Path, say: Say = silent) -> Iterator[Path]:
    """Yields a new folder under ``root`` for unfinished files. The folder is removed at the end of the block.

    First, the function removes the folders of dead writers. A living writer holds the lock of its folder. So a folder
    whose lock is free belongs to a dead writer.
    """
    folder = root / f"{STAGING}-{secrets.token_hex(8)}"
    lock = folder.with_name(f"{folder.name}.lock")
    with ExitStack() as held:
        with local.coded(root):
            local.make_folder(root)
            # without this lock, another writer could remove the new lock file before this writer holds it
            with local.locked(root / f"{STAGING}.lock", _holder(), wait=True, say=say):
                for other in root.glob(f"{STAGING}-*.lock"):
                    _remove_dead(other)
                held.enter_context(local.locked(lock, _holder(), wait=False))
            # only this user may read the rows as long as they are not published
            folder.mkdir(mode=0o700)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            # after the folder, because a folder without a lock file would never be removed
            lock.unlink(missing_ok=True)


def _remove_dead(lock: Path) -> None:
    with suppress(local.LockTaken), local.locked(lock, wait=False):
        shutil.rmtree(lock.with_suffix(""), ignore_errors=True)
        lock.unlink(missing_ok=True)
