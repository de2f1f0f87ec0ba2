"""Sinks of each kind: what runs write to, what others do to it, and what is there as other readers see it."""

import json
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from confluent_kafka import Producer
from pyspark.sql import SparkSession

from dagster_smt.tables.kafka.client import KafkaClient
from dagster_smt.tables.sink_options import DeltaSink, FileTopicSink, IcebergSink, KafkaSink, LetterPlace, Sink
from dagster_smt.tables.sources.file_writer import NewRecord, append_records
from dagster_smt.tables.topic_table import FileTopics
from tests.histories.sources import Kafka
from tests.histories.topics import Offset

CONTEXT = "__connect.errors."
FOREIGN = NewRecord(b"k", b'{"id": 0, "name": "of others"}', (), 1)
RECORDS = ("source_topic", "partition", "offset", "value")
COLUMNS = ("_source_topic", "_source_partition", "_source_offset", "id", "name", "note")
Rows = Iterator[tuple[Offset, Any]]


def fields(value: bytes | str) -> tuple[Any, ...]:
    """The fields of a record that was written."""
    data = json.loads(value)
    return tuple(data.get(name) for name in ("id", "name", "note"))


class Table:
    """A table of an open format.

    Args:
        session: The Spark session.
        folder: The folder of the history.
        kind: ``records`` or ``columns``.
    """

    model = "table"
    restores = True

    def __init__(self, session: SparkSession, folder: Path, kind: str):
        self.session, self.folder, self.kind = session, folder / "table", kind

    @property
    def spec(self) -> Sink:
        raise NotImplementedError

    @property
    def name(self) -> str:
        """The table as Spark knows it."""
        raise NotImplementedError

    def arrow(self, columns: tuple[str, ...]) -> Any:
        """The rows, as another reader sees them; None if there is no table."""
        raise NotImplementedError

    def rows(self) -> Rows:
        """Where each row comes from, and its fields."""
        names = COLUMNS if self.kind == "columns" else RECORDS
        data = self.arrow(names)
        if data is None:
            return
        for topic, partition, offset, *rest in zip(*(data.column(n).to_pylist() for n in names), strict=True):
            yield (topic, partition, offset), tuple(rest) if self.kind == "columns" else fields(rest[0])

    def version(self) -> Any:
        """What a restore can name; None if there is no table."""
        raise NotImplementedError

    def restore(self, version: Any) -> None:
        """Go back to a version."""
        raise NotImplementedError

    def upkeep(self) -> bool:
        """What a format's maintenance does; tells whether older versions are gone."""
        raise NotImplementedError

    def erase(self, offset: Offset) -> None:
        """Somebody deletes a row."""
        names = COLUMNS if self.kind == "columns" else RECORDS
        topic, partition, number = names[:3]
        where = f"{topic} = '{offset[0]}' AND {partition} = {offset[1]} AND {number} = {offset[2]}"
        self.session.sql(f"DELETE FROM {self.name} WHERE {where}").collect()


class Delta(Table):
    """A Delta table, read with ``deltalake``."""

    @property
    def spec(self) -> DeltaSink:
        return DeltaSink(self.folder, self.kind)

    @property
    def name(self) -> str:
        return f"delta.`{self.folder}`"

    def arrow(self, columns: tuple[str, ...]) -> Any:
        from deltalake import DeltaTable

        return DeltaTable(str(self.folder)).to_pyarrow_table(columns=[*columns]) if self._there() else None

    def _there(self) -> bool:
        return any((self.folder / "_delta_log").glob("*.json"))

    def version(self) -> Any:
        from deltalake import DeltaTable

        return DeltaTable(str(self.folder)).version() if self._there() else None

    def restore(self, version: Any) -> None:
        self.session.sql(f"RESTORE TABLE {self.name} TO VERSION AS OF {version}").collect()

    def upkeep(self) -> bool:
        self.session.sql(f"OPTIMIZE {self.name}").collect()
        return False


class Iceberg(Table):
    """An Iceberg table by its path, read with ``pyiceberg``."""

    @property
    def spec(self) -> IcebergSink:
        return IcebergSink(self.folder, self.kind)

    def _opened(self) -> Any:
        from dagster_smt.tables.sinks.iceberg import IcebergTable

        return IcebergTable(self.session, self.spec)

    @property
    def name(self) -> str:
        return str(self._opened().name)

    def static(self) -> Any:
        """The table as ``pyiceberg`` reads it; None if there is none."""
        from pyiceberg.table import StaticTable

        files = (self.folder / "metadata").glob("v*.metadata.json")
        versions = [int(f.name[1:].split(".")[0]) for f in files]
        if not versions:
            return None
        return StaticTable.from_metadata(str(self.folder / "metadata" / f"v{max(versions)}.metadata.json"))

    def arrow(self, columns: tuple[str, ...]) -> Any:
        table = self.static()
        return table.scan(selected_fields=columns).to_arrow() if table is not None else None

    def version(self) -> Any:
        table = self.static()
        return table.current_snapshot().snapshot_id if table is not None and table.current_snapshot() else None

    def call(self, procedure: str, arguments: str) -> None:
        """One of Iceberg's procedures."""
        table = self._opened()
        names = f"table => '{table.name}', {arguments}"
        self.session.sql(f"CALL {table.catalog}.system.{procedure}({names})").collect()

    def restore(self, version: Any) -> None:
        self.call("rollback_to_snapshot", f"snapshot_id => {version}")

    def upkeep(self) -> bool:
        self.call("rewrite_data_files", "options => map('rewrite-all', 'true')")
        self.call("expire_snapshots", "older_than => TIMESTAMP '2999-01-01 00:00:00', retain_last => 1")
        return True


class FileSink:
    """File topics, read line by line."""

    model = "files"
    kind = "records"
    restores = False

    def __init__(self, session: SparkSession, folder: Path, kind: str):
        self.folder = folder / "out"

    @property
    def spec(self) -> FileTopicSink:
        return FileTopicSink(self.folder)

    def rows(self) -> Rows:
        for headers, value in file_records(self.folder.glob("*/[0-9]*/*.jsonl")):
            if "dagster_smt.source" in headers:
                yield offset_of(headers["dagster_smt.source"]), fields(value)

    def foreign(self) -> None:
        """Somebody else writes a record to a topic of this sink."""
        append_records(FileTopics(self.folder), "clean.shop.orders", [FOREIGN])


class KafkaTopicsSink:
    """Topics of the broker that the source is on, read with ``confluent_kafka``."""

    model = "kafka"
    kind = "records"
    restores = False

    def __init__(self, source: Kafka):
        self.source = source

    @property
    def spec(self) -> KafkaSink:
        return KafkaSink(self.source.spec, f"group-{self.source.id}")

    def rows(self) -> Rows:
        names = self.source.admin.list_topics(timeout=30).topics
        written = [name for name in names if name.startswith(f"clean.{self.source.id}.")]
        for headers, value in kafka_records(self.source, written):
            if "dagster_smt.source" in headers:
                yield offset_of(headers["dagster_smt.source"]), fields(value)

    def forget(self, topic: str) -> None:
        """Wait until the broker has removed what the group knows of a topic that was deleted."""
        client = KafkaClient(self.source.spec)
        for _ in range(200):
            if self.source.name(topic) not in {place[0] for place in client.committed(self.spec.group)}:
                return
            time.sleep(0.05)
        raise AssertionError(f"the group does not forget {topic}")

    def foreign(self) -> None:
        """Somebody else writes a record to a topic of this sink."""
        produce_foreign(self.source, f"clean.{self.source.id}.shop.orders")


Headers = dict[str, str]


def file_records(segments: Iterable[Path]) -> Iterator[tuple[Headers, Any]]:
    """Headers and value of each record in the lines of some segments."""
    for segment in sorted(segments):
        for line in segment.read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            value = record["value"]
            headers = {header["key"]: header["value"] for header in record["headers"]}
            yield headers, None if value is None else value.encode()


def kafka_records(source: Kafka, topics: Iterable[str]) -> Iterator[tuple[Headers, Any]]:
    """Headers and value of each record of some topics."""
    for message in source.cluster.read(topics):
        headers = {key: value.decode() for key, value in message.headers() or [] if value is not None}
        yield headers, message.value()


def produce_foreign(source: Kafka, topic: str) -> None:
    """Write a record without headers of ours."""
    producer = Producer({"bootstrap.servers": source.spec.servers})
    producer.produce(topic, FOREIGN.value, FOREIGN.key, 0)
    producer.flush()


def offset_of(text: str) -> Offset:
    """The offset that a header names: ``orders-0@17``."""
    place, _, offset = text.rpartition("@")
    topic, _, partition = place.rpartition("-")
    return topic, int(partition), int(offset)


def open_sink(kind: str, session: SparkSession, folder: Path, source: Any) -> Any:
    """A sink of a kind: ``delta records``, ``files`` and so on."""
    name, _, form = kind.partition(" ")
    if name == "kafka":
        return KafkaTopicsSink(source)
    return {"delta": Delta, "iceberg": Iceberg, "files": FileSink}[name](session, folder, form or "records")


class Letters:
    """Where dead letters go: file topics, a broker's topic, or a table.

    Args:
        kind: ``files``, ``kafka`` or ``table``.
        folder: The folder of the history.
        source: The topics that are read.
    """

    def __init__(self, kind: str, folder: Path, source: Any):
        self.kind, self.folder, self.source = kind, folder / "letters", source
        self.topic = f"{source.id}.dead" if kind == "kafka" else "dead"

    @property
    def spec(self) -> LetterPlace:
        if self.kind == "table":
            return DeltaSink(self.folder)
        return self.source.spec if self.kind == "kafka" else FileTopics(self.folder)

    def read(self) -> list[tuple[Offset, bytes | None]]:
        """The record that each letter names, and the letter's value."""
        if self.kind == "table":
            return list(self._of_table())
        if self.kind == "kafka":
            result = kafka_records(self.source, [self.topic])
        else:
            result = file_records((self.folder / self.topic).glob("[0-9]*/*.jsonl"))
        return [(letter_of(headers), value) for headers, value in result if f"{CONTEXT}topic" in headers]

    def foreign(self) -> None:
        """Somebody else, such as a connector, writes a letter to the same topic."""
        if self.kind == "kafka":
            produce_foreign(self.source, self.topic)
        elif self.kind == "files":
            append_records(FileTopics(self.folder), self.topic, [FOREIGN])

    def _of_table(self) -> Iterator[tuple[Offset, bytes | None]]:
        from deltalake import DeltaTable

        if not self.folder.is_dir():
            return
        names = ("source_topic", "source_partition", "source_offset", "value")
        data = DeltaTable(str(self.folder)).to_pyarrow_table(columns=[*names])
        for topic, partition, offset, value in zip(*(data.column(name).to_pylist() for name in names), strict=True):
            yield (topic, partition, offset), value


def letter_of(headers: Headers) -> Offset:
    """The record that a letter is of."""
    topic, partition, offset = (headers[CONTEXT + name] for name in ("topic", "partition", "offset"))
    return topic, int(partition), int(offset)
