"""The kinds of sources that the conformance suite runs over: how to make one of records, and open it.

Another source is one more class here with one more line in ``KINDS``.
"""

import itertools
import shutil
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from dagster_smt.spark.versions import frame_of_arrow
from dagster_smt.tables.kafka.spec import KafkaTopics
from dagster_smt.tables.sources import Source, open_source
from dagster_smt.tables.sources.arrow_rows import SCHEMA
from dagster_smt.tables.sources.file_writer import NewRecord, append_records
from dagster_smt.tables.topic_table import FileTopics, TableSource
from tests.kafka import Topics

Records = Iterable[tuple[str, int, NewRecord]]
"""Topic, partition and record; offsets count from 0, in the order given."""


def arrow(records: Records, first: dict[tuple[str, int], int]) -> pa.Table:
    """The records with Kafka's columns."""
    rows = []
    for topic, partition, record in records:
        offset = first.setdefault((topic, partition), 0)
        first[topic, partition] += 1
        headers = [{"key": k, "value": v} for k, v in record.headers]
        rows.append((record.key, record.value, topic, partition, offset, (record.timestamp or 0) * 1000,
                     record.timestamp_type, headers))  # fmt: skip
    columns = list(zip(*rows, strict=True)) or [[]] * len(SCHEMA)
    return pa.table([pa.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)], schema=SCHEMA)


@dataclass
class Lines:
    """File topics of JSON lines."""

    spark: Any
    folder: Path
    keeps_identity = True
    counts = True
    """Whether it knows how many records a window has."""

    @property
    def spec(self):
        return FileTopics(self.folder / "topics")

    def open(self) -> Source:
        return open_source(self.spec, self.spark)

    def add(self, records: Records) -> None:
        """Append records, and partitions where there are none."""
        for (topic, partition), group in itertools.groupby(sorted(records, key=lambda r: r[:2]), key=lambda r: r[:2]):
            append_records(self.spec, topic, [r for _, _, r in group], partition)

    def possible(self, records: list[NewRecord]) -> list[NewRecord]:
        """The records as they can be there."""
        return records

    def remove(self) -> None:
        """Forget every topic."""
        shutil.rmtree(self.folder)


class ParquetSegments(Lines):
    """File topics of Parquet files."""

    def add(self, records: Records) -> None:
        records = list(records)
        ranges = self.open().ranges(t for t in self.open().topics()) if self.spec.root.is_dir() else []
        ends = {(r.topic, r.partition): r.end for r in ranges}
        for place in sorted({(t, p) for t, p, _ in records}):
            table = arrow([r for r in records if r[:2] == place], ends)
            base = table.column("offset")[0].as_py()
            path = self.spec.root / place[0] / str(place[1]) / f"{base}.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(table, path, row_group_size=3)


@dataclass
class Table(Lines):
    """A table by its path."""

    format: str = "delta"
    counts = False

    def __post_init__(self):
        self.ends: dict[tuple[str, int], int] = {}

    @property
    def keeps_identity(self):
        return self.format != "parquet"

    @property
    def spec(self):
        return TableSource(path=(self.folder / "table").as_uri(), format=self.format)

    def add(self, records: Records) -> None:
        frame = frame_of_arrow(self.spark, arrow(records, self.ends))
        frame.write.format(self.format).mode("append").save(self.spec.path)

    def remove(self) -> None:
        super().remove()
        self.ends.clear()


class Iceberg(Table):
    """An Iceberg table by its path; the test session's catalog makes it."""

    @property
    def name(self):
        return f"ice.d{abs(hash(str(self.folder)))}.events"

    @property
    def spec(self):
        warehouse = Path(self.spark.conf.get("spark.sql.catalog.ice.warehouse"))
        return TableSource(path=(warehouse / self.name.split(".")[1] / "events").as_uri(), format="iceberg")

    def add(self, records: Records) -> None:
        frame = frame_of_arrow(self.spark, arrow(records, self.ends))
        writer = frame.writeTo(self.name)
        writer.append() if self.spark.catalog.tableExists(self.name) else writer.create()

    def remove(self) -> None:
        self.spark.sql(f"DROP TABLE {self.name} PURGE")
        self.ends.clear()


class Kafka(Lines):
    """Topics of a broker; each test has names of its own there."""

    def __init__(self, spark, folder, servers):
        super().__init__(spark, folder)
        self.spec_ = KafkaTopics(servers)
        self.world = Topics(self.spec_)

    @property
    def spec(self):
        return self.spec_

    def possible(self, records: list[NewRecord]) -> list[NewRecord]:
        """The type of timestamps is a setting of the topic."""
        return [replace(record, timestamp_type=0) for record in records]

    def add(self, records: Records) -> None:
        self.world.add(records)

    def remove(self) -> None:
        self.world.remove()


KINDS = {
    "lines": Lines,
    "parquet segments": ParquetSegments,
    "delta": lambda spark, folder: Table(spark, folder, "delta"),
    "iceberg": lambda spark, folder: Iceberg(spark, folder, "iceberg"),
    "parquet": lambda spark, folder: Table(spark, folder, "parquet"),
    "kafka": Kafka,
}
