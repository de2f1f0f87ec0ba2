"""The layout of tables: made with the table, kept by a table that is there, made again by a rebuild."""

import json
from itertools import product

import deltalake
import pytest
from pyiceberg.table import StaticTable

from dagster_smt.chain import parse_chain
from dagster_smt.errors import PlanError, TableError, UnsupportedError
from dagster_smt.model.topics.format import Format
from dagster_smt.model.windows.window import Range, Window
from dagster_smt.run.batch import run
from dagster_smt.run.run_spec import RunSpec
from dagster_smt.tables.ddl import parse_ddl
from dagster_smt.tables.sink_options import DeltaSink, IcebergSink
from dagster_smt.tables.sources.file_writer import NewRecord, append_records
from dagster_smt.tables.topic_table import FileTopics, TopicTable
from dagster_smt.tables.window_request import WindowRequest
from tests.run.keyed_table import Keys
from tests.run.keyed_world import History
from tests.run.test_keyed import Runs, upsert

pytestmark = pytest.mark.spark
DDL = (
    "id INT, at TIMESTAMP COMMENT 'when it''s done', name STRING, `it's a \"b` STRING, place STRUCT<city STRING>, "
    "ok BOOLEAN"
)
SINKS = {"delta": DeltaSink, "iceberg": IcebergSink}
DAY = 24 * 3600 * 1000


class Place:
    """A topic, and a table by path or by name."""

    def __init__(self, spark, folder, kind, by="path"):
        self.spark, self.folder, self.kind = spark, folder, kind
        self.topics = FileTopics(folder / "topics")
        self.where = {"path": folder / "table"}
        if by == "name":
            database = f"db_{abs(hash(str(folder))) % 10**8}"
            full = f"ice.{database}" if kind == "iceberg" else database
            spark.sql(f"CREATE DATABASE IF NOT EXISTS {full}")
            self.where = {"table": f"{full}.orders"}

    def add(self, *numbers):
        rows = []
        for n in numbers:
            row = {"id": n, "at": 1767225600000 + n * DAY, "name": f"name{n % 3}", "it's a \"b": f"x{n}"}
            rows.append(NewRecord(None, json.dumps({**row, "place": {"city": "A"}, "ok": True}).encode(), (), n))
        append_records(self.topics, "orders", rows, 0)

    def sink(self, **options):
        return SINKS[self.kind](kind="columns", **self.where, **options)

    def run(self, sink=None, ddl=DDL, chain=(), rebuild=False, window=None, **options):
        value = Format("json_schema", parse_ddl(ddl))
        table = TopicTable(self.topics, ("orders",), value=value)
        sink = sink or self.sink(**options)
        spec = RunSpec("orders", parse_chain(list(chain)), table, sink, window or WindowRequest(), rebuild=rebuild)
        return run(spec, self.spark)

    @property
    def name(self):
        if "table" in self.where:
            return self.where["table"]
        if self.kind == "delta":
            return f"delta.`{self.where['path']}`"
        return f"smt_paths.`{str(self.where['path']).strip('/')}`"

    def ids(self):
        return sorted(row.id for row in self.spark.sql(f"SELECT id FROM {self.name}").collect())

    def path(self):
        if "path" in self.where:
            return self.where["path"]
        detail = self.spark.sql(f"DESCRIBE TABLE EXTENDED {self.name}").where("col_name = 'Location'").collect()
        return type(self.folder)(detail[0].data_type.removeprefix("file:").replace("//", "/"))

    def read(self):
        """The table as a reader sees it that is not Spark."""
        if self.kind == "delta":
            return deltalake.DeltaTable(str(self.path()))
        files = (self.path() / "metadata").glob("v*.metadata.json")
        return StaticTable.from_metadata(str(max(files, key=lambda p: int(p.name[1:-14]))))

    def layout(self):
        """Partitioning, order and properties."""
        if self.kind == "delta":
            detail = self.spark.sql(f"DESCRIBE DETAIL {self.name}").collect()[0]
            return self.read().metadata().partition_columns, list(detail.clusteringColumns)
        table = self.read()
        names = {field.field_id: table.schema().find_column_name(field.field_id) for field in table.schema().fields}
        for field in table.schema().fields:
            for child in getattr(field.field_type, "fields", ()):
                names[child.field_id] = table.schema().find_column_name(child.field_id)
        spec = [f"{f.transform} {names[f.source_id]}" for f in table.spec().fields]
        return spec, [names[f.source_id] for f in table.sort_order().fields]

    def properties(self):
        if self.kind == "delta":
            return self.read().metadata().configuration
        return self.read().properties

    def comment(self):
        if self.kind == "delta":
            return self.read().metadata().description
        return self.read().properties.get("comment")


def codes(report):
    return [problem.code for problem in report.warnings]


@pytest.fixture(params=["path", pytest.param("name", marks=pytest.mark.long)])
def by(request):
    return request.param


ODD = "`it's a \"b`"
LAYOUTS = [
    ("delta", {"partition_by": ["name"]}, (["name"], [])),
    ("delta", {"partition_by": ["day(at)", "name"]}, (["at_day", "name"], [])),
    ("delta", {"partition_by": ["year(at)", "months(at)", "hour(at)"]}, (["at_year", "at_month", "at_hour"], [])),
    ("delta", {"partition_by": [ODD]}, (["it's a \"b"], [])),
    ("delta", {"cluster_by": ["id", "place.city", "name"]}, ([], ["id", "place.city", "name"])),
    ("delta", {"partition_by": ["_source_topic"]}, (["_source_topic"], [])),
    ("iceberg", {"partition_by": ["day(at)", "bucket(16, id)", "truncate(4, name)", "place.city"]},
     (["day at", "bucket[16] id", "truncate[4] name", "identity place.city"], [])),
    ("iceberg", {"partition_by": ["name"], "cluster_by": ["at", "id"]}, (["identity name"], ["at", "id"])),
    ("iceberg", {"partition_by": ["hours(at)"]}, (["hour at"], [])),
    ("iceberg", {"partition_by": [ODD, f"truncate(1, {ODD})"], "cluster_by": [ODD]},
     (["identity it's a \"b", "truncate[1] it's a \"b"], ["it's a \"b"])),
    ("iceberg", {"cluster_by": ["place.city"]}, ([], ["place.city"])),
]  # fmt: skip
LAYOUTS = [(*case, ("path", "name")[number % 2]) for number, case in enumerate(LAYOUTS)]


QUICK_LAYOUTS = (1, 6, 9)
"""Each format with transforms, with clustering and with an odd name; the others are long."""


def layouts():
    for number, case in enumerate(LAYOUTS):
        yield pytest.param(*case, id=f"{case[0]}-{number}", marks=() if number in QUICK_LAYOUTS else pytest.mark.long)


@pytest.mark.parametrize(("kind", "options", "layout", "by"), layouts())
def test_a_new_table_has_its_layout(spark, tmp_path, kind, options, layout, by):
    place = Place(spark, tmp_path, kind, by)
    place.add(1, 2, 3)
    first = place.run(**options)
    assert place.layout() == layout and codes(first) == []
    place.add(4, 5)
    assert codes(place.run(**options)) == []
    window = WindowRequest(explicit=Window((Range("orders", 0, 1, 3),)))
    assert place.run(window=window, **options).records_out == 2
    assert place.ids() == [1, 2, 3, 4, 5] and place.layout() == layout
    if kind == "iceberg":
        assert place.read().scan().to_arrow().num_rows == 5
    else:
        assert place.read().to_pyarrow_table().num_rows == 5


NOTES = {
    "comment": 'it\'s "${env:HOME}" `a` \\ \n;',
    "properties": {"owner's url": "it's ${env:HOME}; \\ \n", "a.b": "7"},
    "target_file_size": "64 MB",
}


QUICK_NOTES = [("delta", 0, "path"), ("delta", 2, "name"), ("iceberg", 1, "name"), ("iceberg", 2, "path")]
"""Every format, layout and form of a table's name at least once; all other combinations are long."""


def notes():
    layouts = [{}, {"partition_by": ["day(at)"]}, {"cluster_by": ["id"]}]
    for kind, number, by in product(("delta", "iceberg"), range(3), ("path", "name")):
        marks = () if (kind, number, by) in QUICK_NOTES else pytest.mark.long
        yield pytest.param(kind, layouts[number], by, id=f"{kind}-{number}-{by}", marks=marks)


@pytest.mark.parametrize(("kind", "more", "by"), notes())
def test_properties_and_comment(spark, tmp_path, kind, more, by):
    escaped = "true" if by == "name" else "false"
    place = Place(spark, tmp_path, kind, by)
    place.add(1, 2)
    spark.conf.set("spark.sql.parser.escapedStringLiterals", escaped)
    try:
        place.run(**NOTES, **more)
        check_notes(place)
        assert codes(place.run(**NOTES, **more)) == []
        place.run(**NOTES, **more, rebuild=True)
        check_notes(place)
    finally:
        spark.conf.unset("spark.sql.parser.escapedStringLiterals")
    assert place.ids() == [1, 2]


def check_notes(place):
    assert place.comment() == NOTES["comment"]
    assert NOTES["properties"].items() <= place.properties().items()
    size = "delta.targetFileSize" if place.kind == "delta" else "write.target-file-size-bytes"
    assert place.properties()[size] == str(64 * 2**20)
    fields = {f.name: f for f in place.spark.table(place.name).schema.fields}
    assert fields["at"].metadata["comment"] == "when it's done"


@pytest.mark.parametrize("kind", ["delta", pytest.param("iceberg", marks=pytest.mark.long)])
def test_a_table_keeps_its_layout_until_it_is_rebuilt(spark, tmp_path, by, kind):
    place = Place(spark, tmp_path, kind, by)
    place.add(1, 2)
    place.run(partition_by=["name"])
    place.add(3)
    clustered = {"cluster_by": ["id"], "comment": "c", "properties": {"x": "secret"}, "target_file_size": 2**20}
    report = place.run(**clustered)
    assert codes(report) == ["SMT506"]
    text = str(report.warnings[0])
    assert "partition_by (name instead of none); cluster_by (none instead of id); comment; target_file_size" in text
    assert "property x" in text and "secret" not in text
    assert place.layout()[0] and place.ids() == [1, 2, 3]
    assert codes(place.run(**clustered)) == ["SMT506"], "also where nothing is new"
    assert codes(place.run(**clustered, rebuild=True)) == []
    assert place.layout() == ([], ["id"]) and place.comment() == "c" and place.properties()["x"] == "secret"
    place.add(4)
    assert codes(place.run(**clustered)) == []
    assert place.ids() == [1, 2, 3, 4]
    if (kind, by) == ("delta", "name"):
        with pytest.raises(UnsupportedError, match="SMT906"):
            place.run(partition_by=["ok"], rebuild=True)
    else:
        assert codes(place.run(partition_by=["ok"], rebuild=True)) == []
        assert place.layout() == ({"delta": ["ok"], "iceberg": ["identity ok"]}[kind], [])
    assert place.ids() == [1, 2, 3, 4]


@pytest.mark.long
def test_a_rebuild_of_an_iceberg_table_changes_transforms_and_columns(spark, tmp_path):
    place = Place(spark, tmp_path, "iceberg")
    place.add(1, 2)
    place.run(partition_by=["day(at)", "truncate(2, name)"])
    place.run(partition_by=["hour(at)", "bucket(4, id)"], cluster_by=["id"], rebuild=True)
    assert sorted(place.layout()[0]) == ["bucket[4] id", "hour at"] and place.layout()[1] == ["id"]
    place.run(partition_by=["day(at)", "truncate(2, name)"], rebuild=True)
    assert sorted(place.layout()[0]) == ["day at", "truncate[2] name"] and place.layout()[1] == []
    other = DDL.removesuffix(", ok BOOLEAN")
    options = {"partition_by": ["month(at)", "truncate(3, name)", "place.city"], "cluster_by": ["id"]}
    assert codes(place.run(ddl=other, rebuild=True, **options)) == []
    assert sorted(place.layout()[0]) == ["identity place.city", "month at", "truncate[3] name"]
    assert place.layout()[1] == ["id"] and place.ids() == [1, 2]
    place.add(3)
    assert codes(place.run(ddl=other, **options)) == [] and place.ids() == [1, 2, 3]


@pytest.mark.long
def test_generated_columns_follow_their_column(spark, tmp_path, by):
    place = Place(spark, tmp_path, "delta", by)
    place.add(1, 2)
    options = {"partition_by": ["day(at)", "year(at)"]}
    place.run(**options)
    more = DDL.replace("id INT", "id INT, new STRING")
    place.add(3)
    place.run(ddl=more, **options)
    place.run(ddl=more, rebuild=True, **options)
    rows = spark.sql(f"SELECT id, at_day, at_year, CAST(at AS DATE) AS day FROM {place.name}").collect()
    assert len(rows) == 3 and all(row.at_day == row.day and row.at_year == 2026 for row in rows)
    assert place.layout()[0] == ["at_day", "at_year"]
    with pytest.raises(UnsupportedError, match="SMT906"):
        place.run(ddl=more, rebuild=True, partition_by=["month(at)"])
    with pytest.raises(UnsupportedError, match="SMT906"):
        place.run(ddl=more.removesuffix(", ok BOOLEAN"), rebuild=True, **options)
    assert place.ids() == [1, 2, 3]
    assert codes(place.run(ddl=more, rebuild=True, partition_by=["name"])) == []
    assert place.layout()[0] == ["name"] and place.ids() == [1, 2, 3]
    assert "at_day" not in spark.table(place.name).columns
    with pytest.raises(UnsupportedError, match="SMT906"):
        place.run(ddl=more, rebuild=True, **options)


REFUSED = [
    ("delta", {"partition_by": ["nope"]}, "SMT559"),
    ("delta", {"cluster_by": ["place.nope"]}, "SMT559"),
    ("delta", {"partition_by": ["bucket(16, id)"]}, "SMT569"),
    ("delta", {"partition_by": ["truncate(4, name)"]}, "SMT569"),
    ("delta", {"partition_by": ["place.city"]}, "SMT569"),
    ("delta", {"partition_by": ["place"]}, "SMT569"),
    ("delta", {"partition_by": ["day(name)"]}, "SMT569"),
    ("delta", {"partition_by": ["name"], "cluster_by": ["id"]}, "SMT569"),
    ("delta", {"cluster_by": ["id", "at", "name", "place.city", ODD]}, "SMT569"),
    ("delta", {"cluster_by": ["ok"]}, "SMT569"),
    ("delta", {"cluster_by": ["place"]}, "SMT569"),
    ("iceberg", {"partition_by": ["nope"]}, "SMT559"),
    ("iceberg", {"partition_by": ["hour(id)"]}, "SMT569"),
    ("iceberg", {"partition_by": ["bucket(4, ok)"]}, "SMT569"),
    ("iceberg", {"partition_by": ["truncate(4, at)"]}, "SMT569"),
    ("iceberg", {"partition_by": ["day(at)", "hour(at)"]}, "SMT569"),
    ("iceberg", {"partition_by": ["bucket(4, id)", "bucket(8, id)"]}, "SMT569"),
    ("iceberg", {"cluster_by": ["place"]}, "SMT569"),
]


@pytest.mark.parametrize(("kind", "options", "code"), REFUSED)
def test_what_a_format_cannot_do_is_refused_before_reading(spark, tmp_path, kind, options, code):
    place = Place(spark, tmp_path, kind)
    place.add(1)
    with pytest.raises((PlanError, TableError), match=code):
        place.run(**options)
    assert not (tmp_path / "table").exists()


def test_a_column_that_the_partitioning_would_add(spark, tmp_path):
    for kind in SINKS:
        place = Place(spark, tmp_path / kind, kind)
        place.add(1)
        with pytest.raises(PlanError, match="SMT569"):
            place.run(ddl=DDL.replace("ok BOOLEAN", "at_day STRING"), partition_by=["day(at)"])


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_a_table_that_somebody_made_keeps_its_layout(spark, tmp_path, kind):
    place = Place(spark, tmp_path, kind)
    place.add(1, 2)
    if kind == "iceberg":
        place.run(cluster_by=["id"])  # the session gets its catalog of paths
        spark.sql(f"DROP TABLE {place.name}")
    columns = "id INT, name STRING, _source_topic STRING, _source_partition INT, _source_offset BIGINT"
    spark.sql(f"CREATE TABLE {place.name} ({columns}) USING {kind} PARTITIONED BY (name)")
    place.run()
    layout = place.layout()
    assert codes(place.run(cluster_by=["id"])) == ["SMT506"] and place.layout() == layout
    assert place.ids() == [1, 2]


# --- tables with keys ---

KEYED = [
    ("delta", {"partition_by": ["name"]}),
    ("delta", {"partition_by": ["day(at)"]}),
    ("delta", {"cluster_by": ["name", "id"]}),
    ("iceberg", {"partition_by": ["truncate(6, name)"], "cluster_by": ["note"]}),
    ("iceberg", {"partition_by": ["name", "bucket(2, id)"]}),
]
CHAIN = [
    {
        "type": "org.apache.kafka.connect.transforms.InsertField$Value",
        "options": {"timestamp.field": "at"},
    }
]


def test_a_table_that_forbids_changes_takes_new_rows_only(spark, tmp_path):
    place = Place(spark, tmp_path, "delta")
    forbids = {"properties": {"delta.appendOnly": "true"}}
    place.add(1, 2)
    place.run(**forbids)
    place.add(3)
    place.run(**forbids)
    again = WindowRequest(explicit=Window((Range("orders", 0, 0, 2),)))
    with pytest.raises(TableError, match=r"SMT707 .* accepts only new rows"):
        place.run(window=again, **forbids)
    assert place.ids() == [1, 2, 3]


LONG_KEYED = [pytest.param(*case, marks=pytest.mark.long) for case in KEYED]


@pytest.mark.parametrize(("kind", "options"), [KEYED[4], *LONG_KEYED[:4]])
def test_a_key_whose_partition_changes_has_one_row(spark, tmp_path, kind, options):
    keys = Keys(tmp_path, spark, kind, CHAIN, **options)
    for step, name in enumerate(["a", "b", "a", "c"]):
        keys.add([upsert(1, 2 * step, name, millis=1767225600000 + step * DAY), upsert(2, 2 * step + 1, "z")])
        assert codes(keys.run()) == []
        assert {key: row["name"] for key, row in keys.by_key().items()} == {1: name, 2: "z"}


@pytest.mark.long
@pytest.mark.parametrize(("kind", "options"), [KEYED[0], *LONG_KEYED[1:]])
def test_a_partitioned_table_is_the_fold_of_what_was_read(spark, tmp_path, kind, options):
    keys = Keys(tmp_path, spark, kind, CHAIN, **options)
    runs = Runs(keys, History(400), 4)
    for _ in range(10):
        runs.step()
