"""Column lineage as the catalog has it: read through GraphQL, and held against what changing an input changes."""

import json
from pathlib import Path

import dagster as dg
import pytest
from dagster_graphql.test.utils import define_out_of_process_context, execute_dagster_graphql

from dagster_smt.model.topics.format import Format
from dagster_smt.orchestration import SmtTable, build_smt_asset
from dagster_smt.tables.ddl import parse_ddl
from dagster_smt.tables.sink_options import DeltaSink
from tests.orchestration.test_assets import append, table

KEY = dg.AssetKey(["lake", "orders"])
VALUE = "id BIGINT, price DOUBLE, at STRUCT<city: STRING, street: STRING>, who STRING, tags ARRAY<STRING>, note STRING"
BASE = {"id": 1, "price": 2.5, "at": {"city": "a", "street": "b"}, "who": "c", "tags": ["d"], "note": "e"}
OTHER = {
    "id": {"id": 7},
    "price": {"price": 9.5},
    "at.city": {"at": {"city": "x", "street": "b"}},
    "at.street": {"at": {"city": "a", "street": "x"}},
    "who": {"who": "x"},
    "tags": {"tags": ["x", "y"]},
    "note": {"note": "x"},
}
CHAIN = [
    {"alias": "names", "type": "ReplaceField$Value", "options": {"renames": ["id:number"], "exclude": ["note"]}},
    {"alias": "hide", "type": "MaskField$Value", "options": {"fields": ["who"], "replacement": "*"}},
    {"alias": "cast", "type": "Cast$Value", "options": {"spec": "price:string"}},
    {"alias": "flat", "type": "Flatten$Value", "options": {"delimiter": "_"}},
    {"alias": "kind", "type": "InsertField$Value", "options": {"static.field": "kind", "static.value": "order"}},
]
QUERY = """
query($key: AssetKeyInput!) { assetOrError(assetKey: $key) { ... on Asset { assetMaterializations(limit: 1) {
  metadataEntries { ... on TableColumnLineageMetadataEntry {
    lineage { columnName columnDeps { assetKey { path } columnName } } } } } } } }
"""


@pytest.fixture(scope="module")
def catalog(spark, tmp_path_factory):
    """A table made of a record and its variants: its rows by offset, and what GraphQL says of its columns."""
    root = tmp_path_factory.mktemp("lineage")
    append(root, "people", BASE, *({**BASE, **change} for change in OTHER.values()))
    asset = build_smt_asset(
        SmtTable(
            key=KEY,
            chain=CHAIN,
            table=table(root, "people", value=Format("json_schema", parse_ddl(VALUE))),
            sink=DeltaSink(root / "lake", "columns"),
        )
    )
    with dg.instance_for_test() as instance:
        assert dg.materialize([asset], instance=instance, resources={"spark": spark}).success
        with define_out_of_process_context(str(Path(__file__)), "no_definitions", instance) as context:
            answer = execute_dagster_graphql(context, QUERY, {"key": {"path": KEY.path}})
    (message,) = answer.data["assetOrError"]["assetMaterializations"]
    (entry,) = (e for e in message["metadataEntries"] if "lineage" in e)
    frame = spark.read.format("delta").load(str(root / "lake"))
    rows = {row["_source_offset"]: json.loads(row["row"]) for row in rows_of(frame)}
    return rows, {line["columnName"]: line["columnDeps"] for line in entry["lineage"]}


def rows_of(frame):
    from pyspark.sql import functions as F

    return frame.select("_source_offset", F.to_json(F.struct("*")).alias("row")).collect()


@dg.repository
def no_definitions():
    """What the catalog is read without."""
    return []


def test_what_an_input_changes_is_in_columns_that_name_it(catalog):
    rows, lineage = catalog
    base = rows[0]
    claimed = {column: {d["columnName"] for d in deps} for column, deps in lineage.items()}
    changed = {column: set() for column in claimed}
    for offset, field in enumerate(OTHER, 1):
        for column in claimed:
            if not column.startswith("_source") and rows[offset].get(column) != base.get(column):
                changed[column].add(f"value.{field}")
    fields = {"number": "id", "price": "price", "at_city": "at.city", "at_street": "at.street", "tags": "tags"}
    expected = {column: {f"value.{field}"} for column, field in fields.items()}
    assert changed == {column: expected.get(column, set()) for column in claimed}
    masked = {"who": {"value.who"}}  # it comes from there, and tells nothing of it
    own = {"_source_topic": {"topic"}, "_source_partition": {"partition"}, "_source_offset": {"offset"}}
    assert claimed == {**expected, **masked, "kind": set(), **own}


def test_every_source_is_the_topic_that_the_table_reads(catalog):
    _, lineage = catalog
    assert {tuple(d["assetKey"]["path"]) for deps in lineage.values() for d in deps} == {("topics", "people")}
