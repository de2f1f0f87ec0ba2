"""Runs that write many tables, and a judge that knows nothing of the package: it puts each record into its table."""

import json
from pathlib import Path

from deltalake import DeltaTable as DeltaReader

from dagster_smt.chain import parse_chain
from dagster_smt.model.reports.run_report import RunReport
from dagster_smt.model.topics.format import Format
from dagster_smt.run.batch import run
from dagster_smt.run.run_spec import RunSpec
from dagster_smt.tables.ddl import parse_ddl
from dagster_smt.tables.sink_options import DeltaSink, TableSink
from dagster_smt.tables.sinks import open_table
from dagster_smt.tables.sources.file_writer import NewRecord, append_records
from dagster_smt.tables.topic_table import FileTopics, TopicTable

BY_FIELD = {
    "transforms": "table",
    "transforms.table.type": "io.confluent.connect.transforms.ExtractTopic$Value",
    "transforms.table.field": "table",
}
COLUMNS = Format("json_schema", parse_ddl("id INT, table STRING, amount BIGINT"))
PATH = "{topic}"


def row(number: int, table: str, amount: object = 5) -> NewRecord:
    value = json.dumps({"id": number, "table": table, "amount": amount}).encode()
    return NewRecord(json.dumps({"id": number}).encode(), value, (), 1700000000000 + number)


class ManyWorld:
    """A folder with topics and many tables."""

    def __init__(self, folder: Path, session):
        self.folder, self.session = folder, session
        self.topics = FileTopics(folder / "topics")
        self.lake = folder / "lake"
        self.lines: list[str] = []

    def add(self, *records: NewRecord, topic: str = "events", partition: int = 0) -> None:
        append_records(self.topics, topic, records, partition)

    def sink(self, **options) -> TableSink:
        return DeltaSink(self.lake / PATH, **options)

    def spec(self, chain=BY_FIELD, kind="columns", value=COLUMNS, key=None, options=None, **changes) -> RunSpec:
        table = TopicTable(self.topics, pattern="events.*", value=value, key=key or Format("string"))
        return RunSpec("events", parse_chain(chain), table, self.sink(kind=kind, **(options or {})), **changes)

    def run(self, *args, **kwargs) -> RunReport:
        return run(self.spec(*args, **kwargs), self.session, self.lines.append)

    def rows(self, table: str) -> list[dict]:
        """The rows of a table, as a reader that is not Spark has them."""
        return DeltaReader(str(self.lake / table)).to_pyarrow_table().to_pylist()

    def ids(self, table: str) -> list[int]:
        return sorted(row["id"] for row in self.rows(table))

    def tables(self) -> list[str]:
        return sorted(folder.name for folder in self.lake.iterdir() if folder.name != "_smt_progress")

    @property
    def state(self):
        return open_table(self.session, self.sink()).state()
