"""Take-overs of a connector that writes several tables, with a real worker, a real broker and Apache's sink."""

import pytest

from dagster_smt.connect.iceberg_catalog import catalog_conf
from dagster_smt.connect.takeover.connector_table import TakeOverTable
from dagster_smt.connect.takeover.definition import Definition
from dagster_smt.errors import TableError
from dagster_smt.run.batch import run
from tests.connect.takeover.workers import Worker
from tests.connect.takeover.world import TwoTables

pytestmark = [pytest.mark.spark, pytest.mark.long]
KINDS = ("a", "b", "c")


class Routed(TwoTables):
    """The same with a session of this process."""

    def run_asset(self, kind, spark):
        return run(Definition(self.folder(kind)).spec, spark)

    def ids(self, kind, spark):
        rows = spark.sql(f"SELECT id FROM {self.catalog}.shop.of_{kind}").collect()
        return sorted(row.id for row in rows)


@pytest.fixture
def world(spark, broker, tmp_path):
    world = Routed(tmp_path, broker.servers, "two", "several", KINDS)
    conf = catalog_conf(world.config)
    before = spark.conf.get("spark.sql.defaultCatalog", None)
    with Worker(tmp_path / "worker", broker.servers, name="several") as worker:
        world.worker = worker
        world.produce(60)
        world.connect(worker)
        worker.until(lambda: world.snapshot_rows("of_a") == 20 and world.snapshot_rows("of_b") == 20)
        yield world
    if before is None:
        spark.conf.unset("spark.sql.defaultCatalog")
    for name in conf:
        spark.conf.unset(name)
    spark.catalog.setCurrentCatalog("spark_catalog")


def test_all_tables_or_none(spark, world, monkeypatch, capsys):
    url = world.worker.url
    assert world.run("shadow", url) == 0
    assert capsys.readouterr().out.count("same rows") == 2
    assert world.run("takeover", url, "--dry-run") == 0
    assert world.worker.status("two")[0] == "RUNNING"

    take = TakeOverTable.take
    taken = []

    def dies_at_the_second(self, *arguments):
        if taken:
            raise KeyboardInterrupt
        taken.append(self)
        return take(self, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(TakeOverTable, "take", dies_at_the_second)
        with pytest.raises(KeyboardInterrupt):
            world.run("takeover", url)
    world.produce(9)
    world.run_asset("a", spark)  # somebody starts the asset of the table that is taken over already
    assert world.run("takeover", url) == 0
    assert world.worker.status("two") == ("STOPPED", [])

    assert world.run("takeover", url, "--back") == 1
    assert "SMT796" in capsys.readouterr().err
    world.run_asset("b", spark)
    assert world.run("takeover", url, "--back") == 0
    for kind in "ab":
        with pytest.raises(TableError, match="SMT786"):
            world.run_asset(kind, spark)
    world.produce(12)
    world.worker.until(lambda: world.snapshot_rows("of_a") == 27 and world.snapshot_rows("of_b") == 27)
    assert world.run("takeover", url) == 0
    world.produce(6)
    for kind in "ab":
        world.run_asset(kind, spark)
        assert world.ids(kind, spark) == world.expected(kind)
