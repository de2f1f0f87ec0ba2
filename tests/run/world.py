"""A folder with topics and a table, and runs over them."""

import json
from pathlib import Path

from dagster_smt.chain import parse_chain
from dagster_smt.model.reports.run_report import RunReport
from dagster_smt.model.topics.format import Format
from dagster_smt.model.windows.window import Range, Window
from dagster_smt.run.batch import run
from dagster_smt.run.run_spec import RunSpec
from dagster_smt.tables.ddl import parse_ddl
from dagster_smt.tables.sink_options import DeltaSink, TableSink
from dagster_smt.tables.sinks import open_table
from dagster_smt.tables.sources import open_source
from dagster_smt.tables.sources.file_writer import NewRecord, append_records
from dagster_smt.tables.topic_table import FileTopics, TopicTable

SECRET = "secret-4711"
TRANSFORMS = "org.apache.kafka.connect.transforms."
CHAIN = {
    "transforms": "drop,cast,mask",
    "transforms.drop.type": TRANSFORMS + "Filter",
    "transforms.drop.predicate": "gone",
    "transforms.cast.type": TRANSFORMS + "Cast$Value",
    "transforms.cast.spec": "amount:int32",
    "transforms.mask.type": TRANSFORMS + "MaskField$Value",
    "transforms.mask.fields": "name,nickname",
    "predicates": "gone",
    "predicates.gone.type": TRANSFORMS + "predicates.RecordIsTombstone",
}
MASK = {
    "transforms": "mask",
    "transforms.mask.type": TRANSFORMS + "MaskField$Value",
    "transforms.mask.fields": "name",
}
ROUTE = {
    "transforms": "route,mask",
    "transforms.route.type": TRANSFORMS + "RegexRouter",
    "transforms.route.regex": "(.*)",
    "transforms.route.replacement": "clean.$1",
    "transforms.mask.type": TRANSFORMS + "MaskField$Value",
    "transforms.mask.fields": "name",
}
COLUMNS = Format("json_schema", parse_ddl("id INT, name STRING, amount BIGINT"))


def order(number: int, amount: object = 5) -> NewRecord:
    value = json.dumps({"id": number, "name": SECRET, "amount": amount})
    return NewRecord(b"k%d" % number, value.encode(), (("trace", b"\xff%d" % number),), 1700000000000 + number)


def window(start: int, end: int, topic: str = "orders", partition: int = 0) -> Window:
    return Window((Range(topic, partition, start, end),))


class World:
    """A folder with topics and a table.

    Attributes:
        sink_type: The kind of the table. An Iceberg table costs a run about half of what a Delta table does.
    """

    sink_type: type[TableSink] = DeltaSink

    def __init__(self, folder: Path, session):
        self.folder, self.session = folder, session
        self.topics = FileTopics(folder / "topics")
        self.lines: list[str] = []

    def add(self, *records: NewRecord, topic: str = "orders", partition: int = 0) -> Range:
        return append_records(self.topics, topic, records, partition)

    def spec(self, chain=MASK, kind="records", value=None, **changes) -> RunSpec:
        table = TopicTable(self.topics, ("orders",), value=value or Format())
        sink = self.sink_type(self.folder / "table", kind)
        return RunSpec("orders", parse_chain(chain), table, sink, **changes)

    def run(self, *args, **kwargs) -> RunReport:
        return run(self.spec(*args, **kwargs), self.session, self.lines.append)

    def rows(self) -> list:
        return sorted(self.table.read().collect(), key=repr)

    def offsets(self) -> list[int]:
        return sorted(r.offset for r in self.rows())

    def dead(self, topic="orders.dead") -> list:
        source = open_source(self.topics, self.session)
        return source.read(Window(tuple(source.ranges([topic])))).orderBy("partition", "offset").collect()

    @property
    def table(self):
        return open_table(self.session, self.sink_type(self.folder / "table"))

    @property
    def state(self):
        return self.table.state()


def mixed(world: World) -> None:
    """Ten records: 2 and 7 fail, 4 is a tombstone."""
    amounts = {2: SECRET, 7: SECRET}
    world.add(*(order(n, amounts.get(n, n)) if n != 4 else NewRecord(b"k4", None) for n in range(10)))
