"""Take-overs from connectors whose jars cannot be had: their parts are played, on a real broker and real tables.

The Parquet files have the names that Confluent documents. The groups, the control topic and the table of Tabular's sink
are as its source (0.6) writes them; the events are those of Apache's sink, which has the same format.
"""

import json
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from dagster_smt.cli import main
from dagster_smt.connect.iceberg_catalog import catalog_conf
from dagster_smt.connect.takeover.connector_table import TakeOverTable
from dagster_smt.connect.takeover.definition import Definition
from dagster_smt.errors import TableError
from dagster_smt.model.windows.window import Range, Window
from dagster_smt.run.batch import run
from dagster_smt.tables.sources.file_writer import NewRecord
from dagster_smt.tables.window_request import WindowRequest
from tests.connect.takeover.played import PlayedWorker
from tests.connect.takeover.test_parts_of_take_overs import events
from tests.connect.takeover.workers import iceberg_config
from tests.connect.takeover.world import JSON, MASK, World

pytestmark = [pytest.mark.spark, pytest.mark.long]
S3 = {
    "connector.class": "io.confluent.connect.s3.S3SinkConnector",
    "format.class": "io.confluent.connect.s3.format.parquet.ParquetFormat",
    "storage.class": "io.confluent.connect.s3.storage.S3Storage",
    "s3.bucket.name": "lake",
    "flush.size": "10",
}


class Files(World):
    """A topic, and the Parquet files of its records."""

    def __init__(self, root, servers, name, layout):
        super().__init__(root, servers, name)
        self.layout, self.table_folder = layout, root / "topics" / name
        self.config_of_connector = {**S3, "topics": name, **JSON, **MASK}

    def write(self, partition, start, rows):
        """Writes a file with the records of a partition, as Confluent's sink names it."""
        folder = self.table_folder / self.layout.format(partition=partition)
        folder.mkdir(parents=True, exist_ok=True)
        records = []
        for offset in range(start, start + rows):
            number = 2 * offset + partition  # as World writes them
            price = None if number % 7 == 3 else number / 4
            records.append({"id": number, "email": "", "price": price, "tags": ["x"], "at": {"x": number}})
        file = folder / f"{self.name}+{partition}+{start:010}.snappy.parquet"
        pq.write_table(pa.Table.from_pylist(records), file)
        return file

    def import_component(self):
        source = self.root / "connector.json"
        source.write_text(json.dumps({"name": self.name, "config": self.config_of_connector}))
        place = ["--lake", str(self.root / "topics"), "--bootstrap-servers", self.servers]
        assert main(["import", str(source), "--to", str(self.defs), *place]) == 0

    def spec(self):
        return Definition(self.defs / self.name).spec


@pytest.mark.parametrize(
    ("name", "layout", "accept"),
    [("by_partition", "partition={partition}", ["--accept-columns"]), ("by_day", "2026/11/{partition}", [])],
)
def test_files_become_a_table(spark, broker, tmp_path, capsys, monkeypatch, name, layout, accept):
    world = Files(tmp_path, broker.servers, name, layout)
    world.produce(50)
    world.import_component()
    for partition in (0, 1):
        for start in (0, 10):
            world.write(partition, start, 10)
    with PlayedWorker(broker.servers, name, world.config_of_connector) as worker:
        worker.commit({(name, 0): 20, (name, 1): 20})
        assert world.run("shadow", worker.url) == len(accept)
        assert "only in the chain's rows: 0; only in the table: 0" in capsys.readouterr().out
        assert world.run("takeover", worker.url, "--dry-run", *accept) == 0
        assert "4 files with 40 rows" in capsys.readouterr().err and worker.state == "RUNNING"
        if accept:
            assert world.run("takeover", worker.url) == 1
            assert "partition: the table has int" in capsys.readouterr().err

        ahead = world.write(1, 20, 3)  # written, and its offset is not committed
        assert world.run("takeover", worker.url, *accept) == 1
        assert "SMT797" in capsys.readouterr().err and worker.state == "RUNNING"
        assert not (world.table_folder / "_delta_log").exists()
        ahead.unlink()

        with monkeypatch.context() as patch:  # killed after the conversion
            patch.setattr(TakeOverTable, "take", _die)
            with pytest.raises(KeyboardInterrupt):
                world.run("takeover", worker.url, *accept)
        ahead = world.write(1, 20, 3)
        assert world.run("takeover", worker.url, *accept) == 1
        assert "SMT798" in capsys.readouterr().err
        ahead.unlink()
        assert world.run("takeover", worker.url, *accept) == 0
        assert worker.state == "STOPPED"

        assert run(world.spec(), spark).records_out == 10
        again = WindowRequest(explicit=Window((Range(name, 0, 5, 8),)))
        with pytest.raises(TableError, match="SMT787"):
            run(replace(world.spec(), window=again), spark)
        rows = spark.read.format("delta").load(str(world.table_folder))
        assert DeltaTable(world.table_folder).to_pyarrow_dataset().count_rows() == 50  # a reader without Spark
        assert sorted(row.id for row in rows.select("id").collect()) == list(range(50))
        assert rows.where("_source_offset IS NULL").count() == 40
        assert world.run("takeover", worker.url, "--back") == 1
        assert "SMT798" in capsys.readouterr().err and worker.state == "STOPPED"


def _die(*arguments):
    raise KeyboardInterrupt


def test_tabulars_sink(spark, broker, tmp_path, capsys):
    name, group, control = "orders-of-tabular", "connect-lake", "control-orders-of-tabular"
    world = World(tmp_path, broker.servers, name)
    config = {
        **iceberg_config(world.lake, broker.servers, name, "shop.orders", control),
        "connector.class": "io.tabular.iceberg.connect.IcebergSinkConnector",
        "iceberg.control.group-id": group,
        "iceberg.catalog": "tabular",
        **JSON,
        **MASK,
    }
    for option, value in catalog_conf(config).items():
        spark.conf.set(option, value)
    world.produce(40)
    ddl = "id BIGINT, email STRING, price DOUBLE, tags ARRAY<STRING>, at STRUCT<x: BIGINT>"
    spark.sql("CREATE NAMESPACE IF NOT EXISTS tabular.shop")
    spark.sql(f"CREATE TABLE tabular.shop.orders ({ddl}) USING iceberg")

    def append(numbers, control_offset):
        rows = [(n, "", None if n % 7 == 3 else n / 4, ["x"], (n,)) for n in numbers]
        frame = spark.createDataFrame(rows, ddl).writeTo("tabular.shop.orders")
        offsets = json.dumps({"0": control_offset})
        frame.option(f"snapshot-property.kafka.connect.offsets.{control}.{group}", offsets).append()

    try:
        with PlayedWorker(broker.servers, name, config) as worker:
            worker.commit({(name, 0): 15, (name, 1): 15}, group)
            worker.commit({(name, 0): 10, (name, 1): 10})  # killed between its two transactions
            world.topics.add([(control, 0, NewRecord(None, events()[1]))])
            append(range(20), 0)
            assert world.run("takeover", worker.url, "--wait", "2") == 1
            assert "in flight: 1 files with 50 records" in capsys.readouterr().err
            append(range(20, 30), 1)
            assert world.run("shadow", worker.url) == 0
            assert world.run("takeover", worker.url) == 0
            spec = Definition(world.defs / "orders_of_tabular").spec
            assert run(spec, spark).records_out == 10
            ids = [row.id for row in spark.sql("SELECT id FROM tabular.shop.orders").collect()]
            assert sorted(ids) == list(range(40))
            assert world.run("takeover", worker.url, "--back") == 0
            ends = {(name, 0): 20, (name, 1): 20}
            assert (worker.committed(), worker.committed(group)) == (ends, ends)
            assert worker.state == "RUNNING"
    finally:
        spark.conf.unset("spark.sql.defaultCatalog")
        spark.catalog.setCurrentCatalog("spark_catalog")
