"""Erases the records of people from topics that runs have written: file topics, and topics of a Kafka cluster.

A record of a file topic is emptied. Its offset stays, because offsets in file topics have no gaps. The headers that
name its source record also stay, so that no later run writes the record again. Each line keeps its length, so running
readers keep their position.

Only the brokers can remove a record from a Kafka cluster. In a compacted topic, the brokers remove a record after a
tombstone for its key. In any other topic, the record stays until the topic's retention time has passed.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dagster_smt.errors import EngineError, Problem, needs_extras
from dagster_smt.interpret.preview import Sample
from dagster_smt.model.windows.offsets import offsets_of
from dagster_smt.model.windows.window import Range, not_empty
from dagster_smt.tables import local
from dagster_smt.tables.erasure.matching import RecordMatch
from dagster_smt.tables.erasure.needles import Needles
from dagster_smt.tables.samples import records_of_broker
from dagster_smt.tables.sources.file_writer import NewRecord, writing
from dagster_smt.tables.sources.segments import SegmentRow, decode_row, encode_row, list_segments, to_bytes
from dagster_smt.tables.topic_table import FileTopics

if TYPE_CHECKING:
    from dagster_smt.tables.kafka.spec import KafkaTopics

_KEPT_HEADERS = ("__connect.errors.", "dagster_smt.")
# the message and the stack trace of a Java exception may quote a value of the record
_DROPPED_HEADERS = ("__connect.errors.exception.message", "__connect.errors.exception.stacktrace")
_MOST_RANGES = 20
_BEAT = 10_000
Say = Callable[[str], None]


@dataclass(frozen=True)
class TopicOutcome:
    """The result of an erasure in one topic.

    Attributes:
        records: The number of records that contain the id of a person.
        action: The action on these records: ``emptied``, ``tombstones sent``, ``nothing`` or ``nothing to do``.
        waits: Descriptions of the records that stay until the brokers remove them.
        read: The number of records that the scan read.
        bytes: The size of the records that the scan read.
        left: For each partition, the number of people's values that the topic still contains: ``("partition 0", 3)``.
        unread: The segments that could not be rewritten.
    """

    records: int = 0
    action: str = "nothing to do"
    waits: tuple[str, ...] = ()
    read: int = 0
    bytes: int = 0
    left: tuple[tuple[str, int], ...] = ()
    unread: tuple[str, ...] = ()


def file_topics(topics: FileTopics) -> list[str]:
    """Returns the names of the topics in the folder ``topics``. If the folder does not exist, the list is empty."""
    from dagster_smt.tables.sources.file_topics import FileTopicsSource

    if not local.local_folder(topics.root).is_dir():
        return []
    return FileTopicsSource(topics).topics()


def erase_in_files(topics: FileTopics, topic: str, match: RecordMatch, needles: Needles, say: Say) -> TopicOutcome:
    """Empties the records of people in the file topic ``topic``. Then scans the files of the topic for values that are
    left.

    Args:
        topics: The folder of the topics.
        topic: The name of the topic.
        match: The people, and the paths at which records contain their ids.
        needles: The values to search for.
        say: Is called while the function waits or rewrites records. An error that it raises stops the function.
    """
    emptied, unread = 0, []
    with writing(topics, topic, say) as writer, local.coded(writer.root / topic):
        for segments in list_segments(writer.root, topic).values():
            for segment in segments:
                if segment.parquet:
                    unread.append(f"{segment.place}: a segment of Parquet, which other tools wrote, is not rewritten")
                    continue
                emptied += _rewritten(segment.path, match, say)
        read, size, left = 0, 0, []
        for partition, segments in list_segments(writer.root, topic).items():
            count = 0
            for segment in segments:
                data = segment.path.read_bytes()
                read += data.count(b"\n")
                size += len(data)
                count += needles.in_bytes(data)
            if count:
                left.append((f"partition {partition}", count))
    action = "emptied" if emptied else "nothing to do"
    return TopicOutcome(emptied, action, (), read, size, tuple(left), tuple(unread))


def _rewritten(path: Path, match: RecordMatch, say: Say) -> int:
    """Empties the records of people in one file of a file topic, and returns the number of these records. An emptied
    record has no key and no value.

    The new file replaces the old file in one step. Each line keeps its length.

    Args:
        path: The file, a segment of a partition.
        match: The people, and the paths at which records contain their ids.
        say: Is called every 10,000 lines. An error that it raises stops the function.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    emptied = 0
    try:
        with path.open("rb") as lines, temporary.open("wb") as file:
            for number, line in enumerate(lines):
                if number % _BEAT == 0:
                    say("")
                row = decode_row(line)
                if match(_sample(row)):
                    emptied += 1
                    line = _empty(row, len(line))
                file.write(line)
        if emptied:
            local.sync(temporary)
            local.publish(temporary, path, exclusive=False)
    finally:
        temporary.unlink(missing_ok=True)
    return emptied


def _sample(row: SegmentRow) -> Sample:
    headers = tuple((header.key, to_bytes(header.value)) for header in row.headers or ())
    return Sample(row.topic, row.partition, row.offset, row.timestamp, to_bytes(row.key), to_bytes(row.value), headers)


def _empty(row: SegmentRow, length: int) -> bytes:
    """Returns the line of a file topic that replaces the line of ``row``. The new line contains no key and no value.
    Only two kinds of headers stay: the headers of this package, and Connect's error headers (``__connect.errors.…``)
    without the message and the stack trace. The line is padded with spaces to ``length`` bytes, the length of the old
    line.
    """
    row.key = row.value = None
    headers = []
    for header in row.headers or ():
        if header.key.startswith(_KEPT_HEADERS) and header.key not in _DROPPED_HEADERS:
            headers.append(header)
    row.headers = headers or None
    line = encode_row(row)
    return line[:-1].ljust(length - 1) + b"\n"


def erase_in_kafka(topics: "KafkaTopics", topic: str, match: RecordMatch, needles: Needles, say: Say) -> TopicOutcome:
    """Searches a topic of a Kafka cluster for the records of people. In a compacted topic, sends a tombstone for the
    key of each such record, so that the brokers remove the record. In any other topic, only lists the offsets of these
    records.

    Args:
        topics: The cluster.
        topic: The name of the topic.
        match: The people, and the paths at which records contain their ids.
        needles: The values to search for.
        say: Is called between records. An error that it raises stops the function.

    Raises:
        EngineError: SMT628, the user may not read the settings of the topic.
    """
    with needs_extras():
        from dagster_smt.tables.kafka.client import KafkaClient
        from dagster_smt.tables.kafka.producer import send

    client = KafkaClient(topics)
    demands = client.demands([topic]).get(topic)
    if demands is None:
        statement = "its settings cannot be read, so nobody knows whether a tombstone removes a record"
        hint = "grant DescribeConfigs on the topic, and launch the erasure again"
        raise EngineError(Problem("SMT628", topic, statement, hint))
    compacted = demands.keys
    ranges = not_empty(client.ranges([topic]))
    places, keys, read, size, left = [], dict[tuple[int, bytes], None](), 0, 0, dict[str, int]()
    for sample in records_of_broker(topics, ranges):
        if read % _BEAT == 0:
            say("")
        read += 1
        headers = [content for _, content in sample.headers]
        contents = [data for data in (sample.key, sample.value, *headers) if data]
        size += sum(map(len, contents))
        count = sum(map(needles.in_bytes, contents))
        if not match(sample) and not count:
            continue
        if sample.value is None and compacted:
            continue  # brokers remove a tombstone later
        left[f"partition {sample.partition}"] = left.get(f"partition {sample.partition}", 0) + max(count, 1)
        places.append(Range(topic, sample.partition, sample.offset, sample.offset + 1))
        if sample.key is not None:
            keys[sample.partition, sample.key] = None
    if not places:
        return TopicOutcome(0, "nothing to do", (), read, size)
    listed = _listed(places)
    if not compacted:
        waits = f"only the retention of the topic, or delete-records up to an offset, removes {listed}"
        return TopicOutcome(len(places), "nothing", (waits,), read, size, tuple(left.items()))
    for partition in sorted({partition for partition, _ in keys}):
        # the tombstone must be in the partition of its record, which a partitioner might not choose
        own = []
        for number, key in keys:
            if number == partition:
                own.append(NewRecord(key, None))
        send(topics, topic, own, partition)
    waits = f"the brokers remove {listed} when they compact the topic, and the tombstones after delete.retention.ms"
    return TopicOutcome(len(places), "tombstones sent", (waits,), read, size, tuple(left.items()))


def _listed(places: Sequence[Range]) -> str:
    ranges = list(offsets_of(places).ranges())
    texts = list(_texts(ranges[:_MOST_RANGES]))
    if len(ranges) > _MOST_RANGES:
        texts.append(f"and {len(ranges) - _MOST_RANGES} more ranges")
    return f"{len(places)} records: {', '.join(texts)}"


def _texts(ranges: Sequence[Range]) -> Iterator[str]:
    for r in ranges:
        yield f"{r.topic}-{r.partition} [{r.start}, {r.end})"
