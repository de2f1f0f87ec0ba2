"""Fills the demo's topics: publishes the shipped files to a broker, and appends copies of pushes."""

from collections.abc import Iterable

from dagster_smt import FileTopics, KafkaTopics
from dagster_smt.tables.kafka.producer import send
from dagster_smt.tables.sources import open_source
from dagster_smt.tables.sources.file_writer import NewRecord, append_records
from dagster_smt.tables.sources.segments import SegmentRow, list_segments, read_rows, to_bytes
from definitions import demo

PUSHES = "github.push"


def shipped(topic: str) -> list[NewRecord]:
    """Returns the records of ``topic``, one of the topics that this package contains for the demo."""
    rows = (row for segment in list_segments(demo.SHIPPED, topic)[0] for row in read_rows(segment))
    return [_record(row) for row in rows]


def _record(row: SegmentRow) -> NewRecord:
    headers = tuple((header.key, to_bytes(header.value)) for header in row.headers or ())
    return NewRecord(to_bytes(row.key), to_bytes(row.value), headers, row.timestamp, row.timestampType)


def publish() -> int:
    """Publishes the shipped topics that the broker lacks, and returns the number of published records."""
    place = demo.topics()
    assert isinstance(place, KafkaTopics)
    existing = set(open_source(place).topics())
    new_names = []
    for p in demo.SHIPPED.iterdir():
        if p.is_dir() and p.name not in existing:
            new_names.append(p.name)
    names = sorted(new_names)
    records = 0
    for name in names:
        for count, _ in send(place, name, shipped(name), 0).values():
            records += count
    return records


def append_pushes(count: int) -> tuple[int, int]:
    """Appends ``count`` copies of the shipped pushes to their topic. Returns the number of appended records, and the
    offset of the first of these records.
    """
    # without the timestamps of the shipped records, as if the copies had just arrived
    once = [NewRecord(r.key, r.value) for r in shipped(PUSHES)]
    records: Iterable[NewRecord] = (once * (count // len(once) + 1))[:count]
    place = demo.topics()
    if isinstance(place, FileTopics):
        added = append_records(place, PUSHES, records)
        return added.records, added.start
    ((number, first),) = send(place, PUSHES, records, 0).values()
    return number, first
