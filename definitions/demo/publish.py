"""Filling the demo's topics: from the shipped files to a broker, and copies of pushes as if they had just arrived."""

from collections.abc import Iterable

from dagster_smt import FileTopics, KafkaTopics
from dagster_smt.tables.kafka.producer import send
from dagster_smt.tables.sources import open_source
from dagster_smt.tables.sources.file_writer import NewRecord, append_records
from dagster_smt.tables.sources.segments import Row, list_segments, read_rows, to_bytes
from definitions import demo

PUSHES = "github.push"


def shipped(topic: str) -> list[NewRecord]:
    """The records of a shipped topic."""
    rows = (row for segment in list_segments(demo.SHIPPED, topic)[0] for row in read_rows(segment))
    return [_record(row) for row in rows]


def _record(row: Row) -> NewRecord:
    headers = tuple((header.key, to_bytes(header.value)) for header in row.headers or ())
    return NewRecord(to_bytes(row.key), to_bytes(row.value), headers, row.timestamp, row.timestampType)


def publish() -> int:
    """Publish the shipped topics to the broker; those that it has are left alone. Returns how many records went."""
    place = demo.topics()
    assert isinstance(place, KafkaTopics)
    there = set(open_source(place).topics())
    names = sorted(p.name for p in demo.SHIPPED.iterdir() if p.is_dir() and p.name not in there)
    return sum(count for name in names for count, _ in send(place, name, shipped(name), 0).values())


def append_pushes(count: int) -> tuple[int, int]:
    """Append copies of the shipped pushes to their topic; returns how many, and the offset of the first."""
    once = [NewRecord(r.key, r.value) for r in shipped(PUSHES)]
    records: Iterable[NewRecord] = (once * (count // len(once) + 1))[:count]
    place = demo.topics()
    if isinstance(place, FileTopics):
        added = append_records(place, PUSHES, records)
        return added.records, added.start
    ((number, first),) = send(place, PUSHES, records, 0).values()
    return number, first
