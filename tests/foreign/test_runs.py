"""Foreign stages in runs: from Python and from YAML into tables, with the ledger, dead letters and checks of a run."""

import json

import dagster as dg
import pytest

from dagster_smt.model.topics.format import Format
from dagster_smt.model.windows.window import Window
from dagster_smt.orchestration import SmtTable, build_smt_asset
from dagster_smt.run.batch import run
from dagster_smt.run.run_spec import RunSpec
from dagster_smt.tables.ddl import parse_ddl
from dagster_smt.tables.sink_options import DeltaSink
from dagster_smt.tables.sinks import open_table
from dagster_smt.tables.sources import open_source
from dagster_smt.tables.sources.file_writer import NewRecord, append_records
from dagster_smt.tables.topic_table import FileTopics, TopicTable
from tests.foreign.jar import chain_of

VALUES = [{"id": n, "name": f"n{n}", **({"marked": True} if n == 2 else {})} for n in range(4)]


@pytest.fixture
def topics(tmp_path):
    source = FileTopics(tmp_path / "topics")
    append_records(source, "orders", [NewRecord(b"k", json.dumps(value).encode()) for value in VALUES])
    return source


COLUMN_SCHEMA = parse_ddl("id INT, name STRING")


def world_run(spark, tmp_path, topics, chain, kind="columns", value=None, **more):
    table = TopicTable(topics, ("orders",), value=value or Format())
    lines = []
    report = run(RunSpec("orders", chain, table, DeltaSink(tmp_path / "lake", kind), **more), spark, lines.append)
    return report, lines


def test_a_class_gives_columns(spark, tmp_path, topics, jar):
    report, _ = world_run(spark, tmp_path, topics, chain_of(jar, "Schemas", "Same"))
    table = open_table(spark, DeltaSink(tmp_path / "lake")).read()
    assert report.after is not None and [n for n, _ in report.after.fields][:3] == ["id", "at", "price"]
    row = table.where("id = 1").collect()[0]
    assert str(row.price) == "12.50" and row.tags == ["a", "b"] and row.level == 7 and row.counts == {3: 0.5}
    assert {(line.entry.action, line.entry.path, line.records) for line in report.ledger} >= {
        ("changed", "(any field)", 4),
        ("cast", "(whole)", 4),
    }
    again, _ = world_run(spark, tmp_path, topics, chain_of(jar, "Schemas", "Same"))
    assert again.status == "empty"


@pytest.mark.long
def test_declared_columns_pass_through(spark, tmp_path, topics, jar):
    declared = Format("json_schema", COLUMN_SCHEMA)
    chain = chain_of(jar, "Same", ("InsertField$Value", {"static.field": "x", "static.value": "1"}))
    report, _ = world_run(spark, tmp_path, topics, chain, value=declared)
    table = open_table(spark, DeltaSink(tmp_path / "lake")).read()
    assert sorted((r.id, r.name, r.x) for r in table.collect()) == [(n, f"n{n}", "1") for n in range(4)]
    assert report.before == COLUMN_SCHEMA
    assert any(p.code == "SMT356" for p in report.warnings)  # Same changes nothing


def rows(spark, tmp_path):
    table = open_table(spark, DeltaSink(tmp_path / "lake", "records")).read()
    return {row.offset: json.loads(row.value) for row in table.collect()}


def test_an_asset_of_python(spark, tmp_path, topics, jar):
    stage = {"alias": "up", "type": "acme.Upper", "options": {"option": "name"}}
    table = SmtTable(
        key="people",
        chain=[stage, {"alias": "no", "type": "acme.Throws"}],
        table=TopicTable(topics, ("orders",)),
        sink=DeltaSink(tmp_path / "lake", "records"),
        smt_jars=[jar],
        errors_tolerance="all",
        dead_letter_topic="orders.dead",
    )
    asset = build_smt_asset(table)
    result = dg.materialize([asset], resources={"spark": spark})
    assert result.success
    assert rows(spark, tmp_path) == {n: {"id": n, "name": f"N{n}"} for n in (0, 1, 3)}
    source = open_source(topics, spark)
    (letter,) = source.read(Window(tuple(source.ranges(["orders.dead"])))).collect()
    headers = {h.key: bytes(h.value).decode() for h in letter.headers}
    assert headers["__connect.errors.class.name"] == "acme.Throws"
    assert headers["__connect.errors.exception.class.name"] == "java.lang.IllegalStateException"
    assert headers["__connect.errors.stage"] == "TRANSFORMATION"
    assert "n2" not in headers["__connect.errors.exception.message"]
