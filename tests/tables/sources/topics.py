"""Segments written by hand, windows over them, and records as they must come back: shared by tests of sources."""

import json
from datetime import datetime
from pathlib import Path

from dagster_smt.model.windows.window import Range, Window
from dagster_smt.tables.topic_table import FileTopics

SECRET = "secret-4711"


def line(at: int, **changes) -> str:
    row = {"topic": "orders", "partition": 0, "offset": at, "timestamp": 1, "key": None, "value": SECRET}
    return json.dumps({**row, **changes})


def segment(source: FileTopics, name: str, *lines: str, topic: str = "orders") -> Path:
    path = source.root / topic / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(text + "\n" for text in lines), encoding="utf-8")
    return path


def window(start: int, end: int, topic: str = "orders", partition: int = 0) -> Window:
    return Window((Range(topic, partition, start, end),))


def assert_same(rows, records) -> None:
    """The rows are the records of orders-0, from offset 0 on; the first has the time 1700000000123."""
    assert [r.offset for r in rows] == list(range(len(records)))
    for row, record in zip(rows, records, strict=True):
        assert (row.key, row.value) == (record.key, record.value)
        assert [(h.key, h.value) for h in row.headers] == list(record.headers)
        assert (row.topic, row.partition, row.timestampType) == ("orders", 0, record.timestamp_type)
    assert rows[0].timestamp == datetime(2023, 11, 14, 22, 13, 20, 123000)
