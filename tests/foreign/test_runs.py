"""Foreign stages in runs: from Python and from YAML into tables, with the ledger, dead letters and checks of a run."""

import json

import dagster as dg
import pytest

from dagster_smt.model.windows.window import Window
from dagster_smt.orchestration import SmtTable, build_smt_asset
from dagster_smt.tables.sinks import open_table
from dagster_smt.tables.sources import open_source
from dagster_smt.tables.sources.file_writer import NewRecord, append_records
from dagster_smt.tables.spec import DeltaSink, FileTopics, TopicTable

VALUES = [{"id": n, "name": f"n{n}", **({"marked": True} if n == 2 else {})} for n in range(4)]


@pytest.fixture
def topics(tmp_path):
    source = FileTopics(tmp_path / "topics")
    append_records(source, "orders", [NewRecord(b"k", json.dumps(value).encode()) for value in VALUES])
    return source


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
