"""Take-overs of a table of Apache's Iceberg sink, with real workers and a real broker."""

import itertools
import json
import time
from dataclasses import replace

import pytest

from dagster_smt.cli import main
from dagster_smt.connect.iceberg_catalog import catalog_conf
from dagster_smt.connect.takeover.definition import Definition
from dagster_smt.errors import TableError
from dagster_smt.model.windows.window import Range, Window
from dagster_smt.run.batch import run
from dagster_smt.tables.sources.file_writer import NewRecord
from dagster_smt.tables.window_request import WindowRequest
from tests.connect.takeover.test_parts_of_take_overs import commands
from tests.connect.takeover.workers import Worker
from tests.connect.takeover.world import World, repeated

NUMBERS = itertools.count()
pytestmark = [pytest.mark.spark, pytest.mark.long]


@pytest.fixture(scope="module")
def worker(broker, tmp_path_factory):
    with Worker(tmp_path_factory.mktemp("worker"), broker.servers) as running:
        yield running


@pytest.fixture
def world(spark, broker, tmp_path, request):
    name = request.node.name.removeprefix("test_").split("[")[0][:40].replace("_", "-")
    world = World(tmp_path, broker.servers, name, f"c{next(NUMBERS)}")
    world.config_of_spark = catalog_conf(world.config)
    before = spark.conf.get("spark.sql.defaultCatalog", None)
    yield world
    if before is None:
        spark.conf.unset("spark.sql.defaultCatalog")
    for name, _ in world.config_of_spark.items():
        spark.conf.unset(name)
    spark.catalog.setCurrentCatalog("spark_catalog")


def spec_of(world):
    return Definition(world.defs / world.name.replace("-", "_")).spec


def ids(spark, world):
    return [row.id for row in spark.sql(f"SELECT id FROM {world.table}").collect()]


def record_of(world):
    return json.loads((world.defs / world.name.replace("-", "_") / "takeover.json").read_text())


def connected(world, worker, rows=60):
    world.produce(rows)
    world.connect(worker)
    world.wait_for_rows(worker, rows)


def test_there_and_back_and_there_again(spark, world, worker, capsys):
    connected(world, worker)
    assert world.run("takeover", worker.url, "--dry-run") == 0
    assert worker.status(world.name)[0] == "RUNNING"
    assert world.run("takeover", worker.url, "--by", "ops") == 0
    assert worker.status(world.name) == ("STOPPED", [])
    record = record_of(world)
    assert (record["result"], record["by"], record["rows"]) == ("taken over", "ops", 60)
    assert record["offsets"]["offsets"] == {world.name: {"0": 30, "1": 30}}
    world.produce(25)
    report = run(spec_of(world), spark)
    assert (report.records_in, report.records_out) == (25, 25)
    assert world.run("takeover", worker.url) == 0  # again: nothing to do
    assert "taken over already" in capsys.readouterr().err
    again = Window((Range(world.name, 0, 10, 20),))
    with pytest.raises(TableError, match="SMT787"):
        run(replace(spec_of(world), window=WindowRequest(explicit=again)), spark)
    assert world.run("takeover", worker.url, "--back") == 0
    with pytest.raises(TableError, match="SMT786"):
        run(spec_of(world), spark)
    world.produce(15)
    world.wait_for_rows(worker, 100)
    assert world.run("takeover", worker.url) == 0
    world.produce(10)
    run(spec_of(world), spark)
    all_ids = ids(spark, world)
    assert repeated(all_ids) == {} and sorted(all_ids) == list(range(110))
    history = (world.defs / world.name.replace("-", "_") / "takeover.history.jsonl").read_text().splitlines()
    assert [json.loads(line)["result"] for line in history] == ["taken over", "given back", "taken over"]


def test_the_commands_of_the_page_do_what_it_says(spark, broker, worker, tmp_path):
    """All commands in their order, with addresses and folders of the test; an import of files has no part in it."""
    world = World(tmp_path, broker.servers, "orders", f"c{next(NUMBERS)}")
    conf = catalog_conf(world.config)
    connected(world, worker)
    places = {"http://connect:8083": worker.url, "kafka:9092": broker.servers, "src/shop/defs": str(world.defs)}
    places["1000000"] = "25"
    done = []
    try:
        for command in commands():
            if command[0] != "import":
                assert main([places.get(word, word) for word in command]) == 0, command
                done.append(command[0])
                if command[0] == "takeover" and "--back" not in command and "--dry-run" not in command:
                    world.produce(10)
                    assert run(spec_of(world), spark).records_out == 10
        assert done == ["shadow", "shadow", "takeover", "takeover", "takeover"]
        world.produce(10)
        world.wait_for_rows(worker, 80)
        assert sorted(ids(spark, world)) == list(range(80))
        assert (world.defs / "orders" / "shadow.html").exists()
    finally:
        for name in conf:
            spark.conf.unset(name)
        spark.catalog.setCurrentCatalog("spark_catalog")


def test_a_shadow_run_compares_cells(spark, world, worker, capsys):
    connected(world, worker)
    assert world.run("shadow", worker.url) == 0
    page = (world.defs / world.name.replace("-", "_") / "shadow.md").read_text()
    assert page.startswith("# Certificate") and "60" in page and "a@b.c" not in page
    chain = world.defs / world.name.replace("-", "_") / "chain.properties"
    chain.write_text(chain.read_text().replace("MaskField", "MaskField") + "transforms.hide.replacement=x\n")
    assert world.run("shadow", worker.url, "--from", "25", "--keys", "id") == 1
    out = capsys.readouterr().out
    assert f"{world.name}-0 offset 25: email" in out and "only in the chain's rows: 10" in out


def test_files_in_flight_are_no_take_over(spark, world, worker, capsys):
    connected(world, worker)
    worker.ask("PUT", f"/connectors/{world.name}/stop")
    worker.until(lambda: worker.status(world.name) == ("STOPPED", []))
    control = f"control-{world.name}"
    event = next(m.value() for m in world.topics.read(control) if b"DataWritten" in m.value())
    world.topics.add([(control, 0, NewRecord(None, event))])
    assert world.run("takeover", worker.url, "--wait", "3") == 1
    assert "SMT783" in capsys.readouterr().err
    assert record_of(world)["result"] == "refused"


def test_a_connector_that_runs_beside_a_take_over_is_noticed(spark, world, worker, capsys):
    connected(world, worker)
    assert world.run("takeover", worker.url) == 0
    worker.ask("PUT", f"/connectors/{world.name}/resume")
    worker.until(lambda: worker.status(world.name)[0] == "RUNNING")
    assert world.run("takeover", worker.url) == 1
    assert world.run("takeover", worker.url, "--back") == 1
    assert capsys.readouterr().err.count("SMT791") == 2


def test_columns_that_differ_are_refused_before_anything_is_stopped(spark, world, worker, capsys):
    connected(world, worker)
    for name, value in world.config_of_spark.items():
        spark.conf.set(name, value)
    spark.sql(f"ALTER TABLE {world.table} DROP COLUMN price")
    spark.sql(f"ALTER TABLE {world.table} ADD COLUMN price STRING")
    assert world.run("takeover", worker.url, "--accept-columns") == 1
    assert "price: the table has string, the run would write double" in capsys.readouterr().err
    assert worker.status(world.name)[0] == "RUNNING"


def test_a_standalone_worker(spark, world, broker, tmp_path):
    with Worker(tmp_path / "alone", broker.servers, standalone=True) as alone:
        connected(world, alone)
        assert world.run("takeover", alone.url) == 0
        world.produce(8)
        run(spec_of(world), spark)
        assert world.run("takeover", alone.url, "--back") == 0
        world.produce(4)
        world.wait_for_rows(alone, 72)
        time.sleep(2)
        assert sorted(ids(spark, world)) == list(range(72))
