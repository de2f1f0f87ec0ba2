"""Every line of the page about repair runs, and does what it says."""

from pathlib import Path

import dagster as dg
import pyarrow.parquet
import pytest
import yaml

from dagster_smt.chain import parse_chain
from dagster_smt.chain.properties import read_properties
from dagster_smt.model.topics.format import Format
from dagster_smt.orchestration import SmtTable, build_smt_asset
from dagster_smt.tables.ddl import parse_ddl
from dagster_smt.tables.sink_options import DeltaSink, IcebergSink
from tests.orchestration.test_assets import HIDE, PERSON, append, checks, table
from tests.test_docs import blocks

PAGE = "docs/repair.md"
SECRET = "secret-4711"
MISSPELT = {**HIDE, "options": {**HIDE["options"], "fields": ["nmae"]}}


def orders(root, sink, stage):
    declared = Format("json_schema", parse_ddl("id BIGINT, name STRING"))
    source = table(root, "orders", value=declared)
    return build_smt_asset(SmtTable(key=["lake", "orders"], chain=[stage], table=source, sink=sink, dead_paths="warn"))


def launched(instance, one, spark, config=None):
    result = dg.materialize([one], config, instance=instance, resources={"spark": spark})
    return checks(result)["dead_mask"]


def names_in_files(folder: Path):
    result = set()
    for file in folder.rglob("*.parquet"):
        result |= set(pyarrow.parquet.ParquetFile(file).read(["name"]).column(0).to_pylist())
    return result


def statements(number, **places):
    text = blocks(PAGE, "sql")[number]
    for name, place in places.items():
        assert name in text
        text = text.replace(name, place)
    return text.strip().splitlines()


@pytest.mark.long
def test_a_delta_table_is_repaired_as_the_page_says(spark, tmp_path):
    append(tmp_path, "orders", {**PERSON, "name": SECRET}, {**PERSON, "name": SECRET})
    place, names = tmp_path / "orders", {}
    sink = DeltaSink(place, "columns")
    repair, accept = (yaml.safe_load(text) for text in blocks(PAGE, "yaml"))
    with dg.instance_for_test() as instance:
        assert not launched(instance, orders(tmp_path, sink, MISSPELT), spark).passed
        names["orders"] = orders(tmp_path, sink, HIDE)
        for text in blocks(PAGE, "python"):
            exec(text, names)
        assert names["repair"].name == "lake__orders_repair"
        assert launched(instance, names["orders"], spark, repair).passed
        assert names_in_files(place) == {SECRET, "*"}
        for statement in statements(0, **{"lake/orders": str(place)}):
            spark.sql(statement)
        assert names_in_files(place) == {"*"}
        spark.conf.unset("spark.databricks.delta.retentionDurationCheck.enabled")
        append(tmp_path, "orders", {**PERSON, "name": SECRET})
        assert not launched(instance, orders(tmp_path, sink, MISSPELT), spark).passed
        for statement in statements(2, **{"lake/orders": str(place)}):
            spark.sql(statement)
        assert spark.read.format("delta").load(str(place)).count() == 1
        assert launched(instance, names["orders"], spark, accept).passed


def test_an_iceberg_table_is_repaired_as_the_page_says(spark, tmp_path):
    append(tmp_path, "orders", {**PERSON, "name": SECRET})
    name = f"repaired_{abs(hash(tmp_path))}"
    sink = IcebergSink(table=f"ice.db.{name}", kind="columns")
    repair, _ = (yaml.safe_load(text) for text in blocks(PAGE, "yaml"))
    with dg.instance_for_test() as instance:
        assert not launched(instance, orders(tmp_path, sink, MISSPELT), spark).passed
        assert launched(instance, orders(tmp_path, sink, HIDE), spark, repair).passed
        folder = Path(spark.conf.get("spark.sql.catalog.ice.warehouse").removeprefix("file:")) / "db" / name
        assert names_in_files(folder) == {SECRET, "*"}
        for statement in statements(1, **{"db.orders": f"db.{name}"}):
            spark.sql(statement)
        assert names_in_files(folder) == {"*"}
        append(tmp_path, "orders", PERSON)
        assert launched(instance, orders(tmp_path, sink, HIDE), spark).passed  # the state has outlived it


def test_the_properties_of_the_page_are_read():
    (text,) = blocks(PAGE, "properties")
    assert parse_chain({"transforms": "", **read_properties(text)}).dead_paths == "warn"
