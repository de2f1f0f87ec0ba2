"""Delta tables by path in a session whose current catalog is another one than Spark's own."""

from types import SimpleNamespace

import pytest

from dagster_smt.orchestration.components.table_models import sink_of
from dagster_smt.run.maintenance import maintain
from dagster_smt.tables.maintenance.maintenance_options import SmtMaintenance
from dagster_smt.tables.sinks import open_table
from dagster_smt.tables.sources.table import TableReader
from dagster_smt.tables.sql import name_of_folder
from dagster_smt.tables.topic_table import TableSource
from tests.tables.sinks.kinds import NOTHING, state

OF_DELTA = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
LAYOUTS = [{}, {"cluster_by": ["id"], "comment": "c"}, {"partition_by": ["day(at)"]}]


@pytest.mark.parametrize(
    ("catalog", "current", "name"),
    [
        (OF_DELTA, "spark_catalog", "delta.`/a``b`"),
        (OF_DELTA, "ice", "spark_catalog.delta.`/a``b`"),
        ("com.databricks.sql.managedcatalog.UnityCatalogV2Proxy", "main", "delta.`/a``b`"),
        (None, "ice", "delta.`/a``b`"),
    ],
)
def test_the_name_of_a_folder(catalog, current, name):
    settings = {"spark.sql.catalog.spark_catalog": catalog} if catalog else {}
    session = SimpleNamespace(conf=settings, catalog=SimpleNamespace(currentCatalog=lambda: current))
    assert name_of_folder(session, "/a`b") == name


@pytest.fixture
def other(spark):
    """A session whose current catalog is Iceberg's."""
    spark.catalog.setCurrentCatalog("ice")
    yield spark
    spark.catalog.setCurrentCatalog("spark_catalog")


def rows(spark, *numbers, kind="BIGINT"):
    values = ", ".join(f"({n}, TIMESTAMP '2026-01-0{n} 00:00:00', 'name{n}')" for n in numbers)
    return spark.sql(f"SELECT CAST(id AS {kind}) AS id, at, name FROM VALUES {values} AS t(id, at, name)")


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.parametrize("options", LAYOUTS)
def test_a_table_is_written_and_looked_after(other, tmp_path, options):
    spec = sink_of({"delta": {"path": str(tmp_path / "table"), "kind": "columns", **options}}, tmp_path)
    table = open_table(other, spec)
    table.commit(rows(other, 1, kind="INT"), state(1), NOTHING, None)
    table.commit(rows(other, 2), state(2), NOTHING, state(1))
    table.append_new(rows(other, 2, 3), ["id"])
    assert sorted(row.id for row in table.read().collect()) == [1, 2, 3]
    assert table.state().number == 2
    assert table.layout_warnings(rebuild=False) == []
    maintain(spec, SmtMaintenance(), other)
    source = TableReader(TableSource(path=str(tmp_path / "table")), other)
    assert source._delta_id() == other.sql(f"DESCRIBE DETAIL {table.name}").first().id
