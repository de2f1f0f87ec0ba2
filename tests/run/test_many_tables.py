"""Sinks with ``{topic}``: one table for each topic that the chain chooses, from one run."""

import json
from dataclasses import replace

import pytest
from deltalake import DeltaTable as DeltaReader

from dagster_smt.errors import PlanError
from dagster_smt.model.topics.format import Format
from dagster_smt.model.topics.table_names import name_in_path, topic_of_name
from dagster_smt.model.windows.window import Range, Window
from dagster_smt.run.batch import run
from dagster_smt.tables.ddl import parse_ddl
from dagster_smt.tables.sink_options import IcebergSink
from dagster_smt.tables.sources.file_writer import NewRecord
from dagster_smt.tables.window_request import WindowRequest
from tests.run.dying import Died, dying_at
from tests.run.many_world import ManyWorld, row
from tests.run.world import TRANSFORMS

ROUTER = TRANSFORMS + "RegexRouter"


@pytest.fixture
def world(spark, tmp_path):
    return ManyWorld(tmp_path, spark)


def status(report) -> dict[str, str]:
    return {one.topic: one.status for one in report.destinations}


def test_each_topic_of_the_chain_is_a_table(world):
    world.add(row(1, "orders"), row(2, "customers"), row(3, "orders"))
    report = world.run()
    assert status(report) == {"customers": "written", "orders": "written"}
    assert [(d.topic, d.rows, d.is_new) for d in report.destinations] == [("customers", 1, True), ("orders", 2, True)]
    assert world.ids("orders") == [1, 3] and world.ids("customers") == [2]
    assert world.run().status == "empty"
    world.add(row(4, "customers"), row(5, "new"))
    report = world.run()
    assert status(report) == {"customers": "written", "new": "written"}
    assert world.ids("customers") == [2, 4] and world.ids("new") == [5]
    assert world.state.rows == {"events": 5}


def test_a_run_that_dies_between_two_tables_is_made_good(world):
    names = [f"t{n}" for n in range(6)]
    world.add(*(row(n, names[n % 6]) for n in range(12)))
    with dying_at(12, after=True), pytest.raises(Died):
        world.run()
    there = [name for name in world.tables() if (world.lake / name / "_delta_log").exists()]
    world.add(*(row(n, names[n % 6]) for n in range(12, 18)))
    report = world.run()
    assert report.window.records == 18 and not report.failures
    assert {name: world.ids(name) for name in names} == {name: list(range(n, 18, 6)) for n, name in enumerate(names)}
    assert there
    assert world.state.rows == {"events": 18}


@pytest.mark.long
def test_a_table_that_fails_leaves_the_others_alone(world):
    world.add(row(1, "orders"), row(2, "customers"))
    world.run()
    # the table of orders is one of somebody else's now
    world.session.range(3).write.format("delta").mode("overwrite").option("overwriteSchema", "true").save(
        str(world.lake / "orders")
    )
    world.add(row(3, "orders"), row(4, "customers"), row(5, "orders"), row(6, "customers"))
    report = world.run()
    assert status(report) == {"orders": "failed", "customers": "written"}
    assert [p.code for one in report.destinations for p in one.problems] == ["SMT554"]
    assert world.ids("customers") == [2, 4, 6]
    assert world.state.waiting.to_json() == {"events": {"0": [[2, 3], [4, 5]]}}
    world.add(row(7, "customers"))
    report = world.run(window=WindowRequest(max_records=1))
    assert world.ids("customers") == [2, 4, 6, 7]
    assert status(report) == {"orders": "failed", "customers": "written"}
    world.session.sql(f"RESTORE TABLE delta.`{world.lake / 'orders'}` TO VERSION AS OF 0").collect()
    report = world.run()
    assert status(report) == {"orders": "written"}
    assert world.ids("orders") == [1, 3, 5] and not world.state.waiting


@pytest.mark.long
def test_records_keep_their_form(world):
    world.add(row(1, "a"), row(2, "b"), topic="events.x")
    world.add(row(3, "a"), topic="events.y")
    report = world.run(kind="records", value=Format())
    assert status(report) == {"a": "written", "b": "written"}
    rows = sorted(world.rows("a"), key=lambda r: r["source_topic"])
    assert [(r["topic"], r["source_topic"], json.loads(r["value"])["id"]) for r in rows] == [
        ("a", "events.x", 1),
        ("a", "events.y", 3),
    ]


def test_a_router_that_makes_a_table_of_every_value_is_stopped(world):
    world.add(row(0, "orders"))
    world.run()
    world.add(*(row(n, f"v{n}") for n in range(1, 8)), row(8, "orders"))
    report = world.run(options={"max_new_tables": 5})
    assert status(report) == {"": "failed", "orders": "written"}
    assert report.destinations[0].problems[0].code == "SMT733"
    assert world.tables() == ["orders"] and world.ids("orders") == [0, 8]
    assert world.state.waiting.records == 7
    report = world.run(options={"max_tables": 5, "refused_tables": "dead_letters"}, errors_tolerance="all")
    assert report.failed == 7 and not world.state.waiting and world.tables() == ["orders"]


@pytest.mark.long
def test_names_of_strangers(world):
    names = [
        "../up",
        "a/b",
        "shop.orders",
        "shop_2eorders",
        "Straße",
        "o`o",
        "x'y",
        "%2e",
        " ",
        "{topic}",
        "_smt_progress",
    ]
    clash = ["Twin", "twin"]
    world.add(*(row(n, name) for n, name in enumerate([*names, *clash])))
    report = world.run()
    failed = {one.topic: one.problems[0].code for one in report.destinations if one.failed}
    assert failed == {"_smt_progress": "SMT731", "Twin": "SMT732", "twin": "SMT732"}
    assert {topic_of_name(name) for name in world.tables()} == {*names} - {"_smt_progress"}
    assert sorted(folder.name for folder in world.folder.iterdir()) == ["lake", "topics"]
    for number, name in enumerate(names[:-1]):
        assert world.ids(name_in_path(name)) == [number], name


@pytest.mark.long
def test_a_replay_replaces_and_moves_rows(world):
    world.add(row(1, "a"), row(2, "b"), row(3, "a"), row(4, "b"))
    world.run()
    one = {"transforms": "table", "transforms.table.type": ROUTER, "transforms.table.regex": ".*"}
    one["transforms.table.replacement"] = "a"
    report = world.run(one, window=WindowRequest(explicit=Window((Range("events", 0, 1, 3),))))
    assert world.ids("a") == [1, 2, 3] and world.ids("b") == [4]
    assert status(report) == {"a": "written", "b": "written"}
    world.run(rebuild=True)
    assert world.ids("a") == [1, 3] and world.ids("b") == [2, 4]
    world.run(one, rebuild=True)
    assert world.ids("a") == [1, 2, 3, 4] and world.ids("b") == []
    assert world.state.rows == {"events": 4}


@pytest.mark.long
@pytest.mark.parametrize("mode", ["upsert", "scd2"])
def test_tables_with_keys(world, mode):
    key = Format("json_schema", parse_ddl("id INT"))
    options = {"mode": mode}
    world.add(row(1, "a", 10), row(2, "a", 20), row(3, "b", 30))
    world.run(key=key, options=options)
    world.add(row(1, "a", 11), row(3, "b", 31), NewRecord(b'{"id":2}', None, ()), row(4, "c", 40))
    report = world.run(key=key, options=options, errors_tolerance="all")
    assert report.destinations[0].topic == "a"
    current = {}
    for table in "abc":
        rows = [r for r in world.rows(table) if r.get("is_current", True)]
        current[table] = {r["id"]: r["amount"] for r in rows}
    assert current == {"a": {1: 11, 2: 20}, "b": {3: 31}, "c": {4: 40}}  # the tombstone names no table
    key_counts = report.keyed["events"]
    assert (key_counts.inserted, key_counts.updated) == (
        (1, 2) if mode == "upsert" else (key_counts.inserted, key_counts.updated)
    )


def test_each_table_has_the_schema_of_its_own_records(world):
    def envelope(fields, payload):
        schema = {"type": "struct", "fields": [{"field": n, "type": t, "optional": True} for n, t in fields]}
        return NewRecord(None, json.dumps({"schema": schema, "payload": payload}).encode(), ())

    orders = [("id", "int32"), ("table", "string"), ("price", "double")]
    customers = [("id", "string"), ("table", "string"), ("name", "string")]
    more = [*customers, ("email", "string")]
    world.add(
        envelope(orders, {"id": 1, "table": "orders", "price": 1.5}),
        envelope(customers, {"id": "x", "table": "customers", "name": "n"}),
        envelope(more, {"id": "y", "table": "customers", "name": "m", "email": "e"}),
    )
    report = world.run(value=Format("envelope"))
    assert status(report) == {"customers": "written", "orders": "written"}
    assert [sorted(r) for r in world.rows("orders")] == [
        ["_source_offset", "_source_partition", "_source_topic", "id", "price", "table"]
    ]
    assert sorted((r["id"], r["name"], r["email"]) for r in world.rows("customers")) == [
        ("x", "n", None),
        ("y", "m", "e"),
    ]
    world.add(envelope(orders, {"id": 2, "table": "orders", "price": 2.5}))
    world.run(value=Format("envelope"))
    assert world.ids("orders") == [1, 2]


@pytest.mark.long
def test_each_table_has_the_layout_of_the_sink(world):
    """A table that lacks the column of the layout fails alone, and its records wait."""

    def envelope(fields, payload):
        schema = {"type": "struct", "fields": [{"field": n, "type": t, "optional": True} for n, t in fields]}
        return NewRecord(None, json.dumps({"schema": schema, "payload": payload}).encode(), ())

    orders = [("id", "int32"), ("table", "string"), ("region", "string")]
    people = [("id", "int32"), ("table", "string")]
    world.add(
        envelope(orders, {"id": 1, "table": "orders", "region": "north"}),
        envelope(people, {"id": 2, "table": "people"}),
        envelope(orders, {"id": 3, "table": "refunds", "region": "south"}),
    )
    layout = {"partition_by": ["region"], "properties": {"delta.checkpointInterval": "7"}, "comment": "of a topic"}
    report = world.run(value=Format("envelope"), options=layout)
    assert status(report) == {"orders": "written", "people": "failed", "refunds": "written"}
    assert [p.code for one in report.destinations for p in one.problems] == ["SMT559"]
    for name in ("orders", "refunds"):
        metadata = DeltaReader(str(world.lake / name)).metadata()
        assert (metadata.partition_columns, metadata.description) == (["region"], "of a topic")
        assert metadata.configuration["delta.checkpointInterval"] == "7"
    assert world.state.waiting.records == 1
    report = world.run(value=Format("envelope"))
    assert status(report)["people"] == "written" and not world.state.waiting
    assert [world.ids(name) for name in ("orders", "people", "refunds")] == [[1], [2], [3]]


@pytest.mark.long
def test_a_declared_schema_without_the_column_of_the_layout_is_refused(world):
    world.add(row(1, "orders"))
    with pytest.raises(PlanError, match="SMT559"):
        world.run(options={"partition_by": ["region"]})


@pytest.mark.long
def test_iceberg_by_name(world, spark):
    sink = IcebergSink(table="ice.many.{topic}", kind="columns")
    spark.sql("CREATE NAMESPACE IF NOT EXISTS ice.many")
    world.add(row(1, "shop.orders"), row(2, "2024"), row(3, "select"))
    spec = replace(world.spec(), sink=sink)
    report = run(spec, spark)
    assert status(report) == {"shop.orders": "written", "2024": "written", "select": "written"}
    world.add(row(4, "2024"))
    run(spec, spark)
    assert sorted(r.id for r in spark.table("ice.many.`2024`").collect()) == [2, 4]
    assert [r.id for r in spark.table("ice.many.shop_2eorders").collect()] == [1]
    assert run(spec, spark).status == "empty"
