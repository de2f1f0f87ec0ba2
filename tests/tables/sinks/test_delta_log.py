"""What a Delta table's log says of its last commit is what ``DESCRIBE HISTORY`` says."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from pyspark.sql import functions as F

from dagster_smt.tables.sink_options import DeltaSink
from dagster_smt.tables.sinks import delta
from dagster_smt.tables.sinks.delta_history import commit_of
from dagster_smt.tables.sinks.delta_log import is_absent, last_commit, note_vacuum

NAME = "of_log.`a`"
LONG = "ä€😀" * 7_001  # as long as the states of tables with many topics


@pytest.fixture(scope="module")
def tables(spark, tmp_path_factory):
    """A table by path and one by name, with several commits, a checkpoint for the last but one and the last."""
    folder = str(tmp_path_factory.mktemp("delta") / "a b%20c")
    spark.sql("CREATE SCHEMA IF NOT EXISTS of_log")
    for number in range(4):
        writer = spark.range(3).write.format("delta").mode("append").option("delta.checkpointInterval", "2")
        if number != 2:  # one of somebody else
            writer = writer.option("userMetadata", f"commit {number}{LONG}")
        writer.save(folder)
        writer.saveAsTable(NAME)
    spark.sql(f"DELETE FROM delta.`{folder}` WHERE id = 1")
    yield {"path": folder, "name": NAME}
    spark.sql("DROP SCHEMA of_log CASCADE")


def as_history_says(spark, name):
    rows = spark.sql(f"DESCRIBE HISTORY {name} LIMIT 1").withColumn("millis", F.lit(0))
    return [commit_of(row) for row in rows.collect()]


def without_moment(commits):
    """The log says when a commit began, the history when its file was there."""
    return [replace(commit, millis=0) for commit in commits]


@pytest.mark.parametrize("kind", ["path", "name"])
def test_the_last_commit(spark, tables, kind):
    by_name = kind == "name"
    result = last_commit(spark, "." if by_name else tables["path"], tables["name"] if by_name else None)
    assert without_moment([result]) == as_history_says(spark, NAME if by_name else f"delta.`{tables['path']}`")
    assert result.version == (3 if by_name else 4) and result.metrics and result.read_version == result.version - 1
    assert result.user_metadata == (f"commit 3{LONG}" if by_name else None)


@pytest.mark.parametrize(
    ("path", "table"),
    [("/no/such/folder", None), ("", "nothing"), ("", "ice.db.orders"), ("", "not a name")],
)
def test_what_cannot_be_said(spark, path, table):
    assert last_commit(spark, path, table) is None


def test_a_vacuum_is_recorded_where_delta_looks_for_it(spark, tables):
    """The function is silent if a class of Delta has another name, so only the file shows that it has run."""
    note_vacuum(spark, tables["path"], None, 3)
    record = Path(tables["path"]) / "_delta_log/_last_vacuum_info"
    assert json.loads(record.read_text("utf-8"))["latestCommitVersionOutsideOfRetentionWindow"] == 3


def test_an_absent_table_costs_no_exception(spark, tables, tmp_path):
    spark.range(1).write.parquet(str(tmp_path / "of another format"))
    for path in (tmp_path / "nothing", tmp_path, tmp_path / "of another format"):
        assert is_absent(spark, str(path), None)
        assert delta.DeltaTable(spark, DeltaSink(path, "columns")).schema() is None
    assert not is_absent(spark, tables["path"], None)
    assert not is_absent(spark, "", NAME) and not is_absent(spark, "", "nothing")


def test_a_catalog_goes_before_a_database_of_that_name(spark, tables):
    """``of_log.a`` may be a table in a catalog ``of_log``, or in that which is current."""
    try:
        spark.conf.set("spark.sql.catalog.of_log", "org.apache.iceberg.spark.SparkCatalog")
        assert last_commit(spark, "", NAME) is None
        spark.conf.unset("spark.sql.catalog.of_log")
        assert last_commit(spark, "", NAME) is not None
        spark.catalog.setCurrentCatalog("ice")
        assert last_commit(spark, "", NAME) is None
    finally:
        spark.conf.unset("spark.sql.catalog.of_log")
        spark.catalog.setCurrentCatalog("spark_catalog")


def test_a_session_without_these_classes(spark, tables, monkeypatch):
    """Another version of Delta, or a session that has no JVM: SQL is asked."""
    assert last_commit(SimpleNamespace(), tables["path"], None) is None
    monkeypatch.setattr(delta, "last_commit", lambda *where: None)
    table = delta.DeltaTable(spark, DeltaSink(tables["path"]))
    assert without_moment(table._history(1)) == as_history_says(spark, f"delta.`{tables['path']}`")
    assert table.next_number(None) == 6


def test_a_table_that_another_run_creates_between_two_looks_has_its_history(spark, tmp_path, monkeypatch):
    """``DESCRIBE HISTORY`` fails, then the table is there: this is no failure of Spark, but another run that won."""
    table = delta.DeltaTable(spark, DeltaSink(tmp_path / "orders"))
    schema = delta.DeltaTable.schema

    def created_before_the_look(table):
        rows = spark.range(1).write.format("delta").option("userMetadata", "no state")
        rows.save(str(table.spec.path))
        return schema(table)

    assert table._history(1) == []
    monkeypatch.setattr(delta.DeltaTable, "schema", created_before_the_look)
    monkeypatch.setattr(delta, "is_absent", lambda *table: False)  # as over Spark Connect
    assert [commit.user_metadata for commit in table._history(1)] == ["no state"]
