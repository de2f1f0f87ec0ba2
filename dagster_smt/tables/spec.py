"""What a run reads and writes: topic tables, formats and sinks, as plain data (no pyspark here)."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from dagster_smt.model.format import Format as Format
from dagster_smt.model.window import Window


@dataclass(frozen=True)
class FileTopics:
    """File topics below a folder: ``<root>/<topic>/<partition>/<base-offset>.jsonl`` (or ``.parquet``)."""

    root: Path


@dataclass(frozen=True)
class TopicTable:
    """What a chain reads: topics by name or pattern (a full-match regular expression), key and value format."""

    source: FileTopics
    topics: tuple[str, ...] = ()
    pattern: str = ""
    key: Format = field(default_factory=lambda: Format("string"))
    value: Format = field(default_factory=Format)


@dataclass(frozen=True)
class ParquetSink:
    """A Parquet table in a folder that this package alone writes.

    Attributes:
        root: The folder.
        kind: ``records`` (Kafka's columns) or ``columns`` (one column per field of the value).
    """

    root: Path
    kind: Literal["records", "columns"] = "records"


@dataclass(frozen=True)
class WindowRequest:
    """Which offsets a run is asked to read.

    Attributes:
        topics: Only these of the table's topics; empty for all.
        explicit: A fixed range, which replaces what the sink holds of it. ``None``: go on after the last commit.
        max_records: At most this many records per topic-partition.
    """

    topics: tuple[str, ...] = ()
    explicit: Window | None = None
    max_records: int | None = None
