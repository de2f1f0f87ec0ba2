"""Assets whose sink has ``{topic}``: the tables as partitions of one asset, and as assets where they are named."""

import dagster as dg
import pytest

from dagster_smt import build_maintenance_job, build_smt_asset, build_smt_schedule, build_tables_asset, parse_chain
from dagster_smt.errors import ConfigError
from dagster_smt.orchestration import SmtTable, build_lag_sensor
from dagster_smt.tables.sink_options import DeltaSink
from dagster_smt.tables.sinks import open_table
from tests.orchestration.test_assets import observations, value
from tests.run.many_world import BY_FIELD, ManyWorld, row

TABLES = dg.AssetKey(["cdc", "tables"])


def asset_of(world, **more):
    spec = world.spec()
    return build_smt_asset(SmtTable(key="cdc", chain=parse_chain(BY_FIELD), table=spec.table, sink=spec.sink, **more))


def by_table(result):
    results = {}
    for event in result.get_asset_materialization_events():
        one = event.materialization
        results[one.asset_key.to_user_string(), one.partition] = one
    return results


@pytest.mark.long
def test_tables_are_partitions_and_assets(spark, tmp_path):
    world = ManyWorld(tmp_path, spark)
    world.add(row(1, "orders"), row(2, "customers"), row(3, "a/b"))
    asset = asset_of(world, destinations=["orders", "rare"])
    resources = {"spark": spark}
    with dg.instance_for_test() as instance:
        result = dg.materialize([asset, build_tables_asset(asset)], instance=instance, resources=resources)
        outcome = by_table(result)
        assert set(outcome) == {
            ("cdc", None),
            ("cdc/orders", None),
            ("cdc/tables", "customers"),
            ("cdc/tables", "a_2fb"),
        }
        assert set(instance.get_dynamic_partitions("cdc__tables")) == {"customers", "a_2fb"}
        run, orders = outcome["cdc", None], outcome["cdc/orders", None]
        assert [dict(r.data)["topic"] for r in run.metadata["dagster_smt/destinations"].records] == [
            "a/b",
            "customers",
            "orders",
        ]
        assert (value(run, "tables_written"), value(run, "tables_new")) == (3, 3)
        assert value(orders, "dagster/row_count") == 1
        assert [c.name for c in orders.metadata["dagster/column_schema"].schema.columns][:3] == [
            "id",
            "table",
            "amount",
        ]
        deps = orders.metadata["dagster/column_lineage"].value.deps_by_column["amount"]
        assert [d.column_name for d in deps] == ["value.amount"]
        checks = {
            (
                e.event_specific_data.asset_key.to_user_string(),
                e.event_specific_data.check_name,
            ): e.event_specific_data.passed
            for e in result.all_events
            if e.event_type_value == "ASSET_CHECK_EVALUATION"
        }
        assert checks["cdc/orders", "rows_match_offsets"] and checks["cdc/orders", "schema_matches_plan"]
        assert checks["cdc/rare", "rows_match_offsets"] and checks["cdc", "tables_written"]
        again = dg.materialize([asset], instance=instance, resources=resources)
        assert not by_table(again) and [o.asset_key.to_user_string() for o in observations(again)] == ["cdc"]
        spark.range(1).write.format("delta").save(str(world.lake / "taken"))
        world.add(row(4, "orders"), row(5, "taken"))
        failed = dg.materialize([asset], instance=instance, resources=resources, raise_on_error=False)
        assert not failed.success and set(by_table(failed)) == {("cdc", None), ("cdc/orders", None)}
        assert "SMT523" in str(failed.get_step_failure_events()[0].event_specific_data.error)
        upkeep = build_maintenance_job(asset)
        done = upkeep.execute_in_process(instance=instance, resources=resources, raise_on_error=False)
        assert {(o.asset_key.to_user_string(), o.partition) for o in observations(done)} >= {
            ("cdc/orders", None),
            ("cdc/tables", "customers"),
        }


def test_what_is_built_around_it_loads(tmp_path):
    world = ManyWorld(tmp_path, None)
    asset = asset_of(world, destinations=["orders"])
    sensor = build_lag_sensor(asset, world.spec().table, name="lag")
    defs = dg.Definitions(
        [asset, build_tables_asset(asset)],
        schedules=[build_smt_schedule(asset, "0 * * * *")],
        sensors=[sensor],
        jobs=[build_maintenance_job(asset)],
        resources={"spark": object()},
    )
    dg.Definitions.validate_loadable(defs)
    world.add(row(1, "orders"))
    with dg.instance_for_test() as instance:
        context = dg.build_sensor_context(instance=instance, definitions=defs)
        (request,) = sensor.evaluate_tick(context).run_requests
        assert set(request.asset_selection) == {dg.AssetKey("cdc"), dg.AssetKey(["cdc", "orders"])}


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"destinations": ["orders"], "sink": DeltaSink("lake/orders", "columns")}, "SMT735"),
        ({"destinations": ["orders"], "partitions_def": dg.DynamicPartitionsDefinition(name="t")}, "SMT735"),
        ({"destinations": ["Orders", "orders"]}, "SMT732"),
        ({"destinations": [""]}, "SMT731"),
    ],
)
def test_destinations_that_cannot_be(tmp_path, more, code):
    spec = ManyWorld(tmp_path, None).spec()
    more = {"sink": spec.sink, **more}
    with pytest.raises(ConfigError) as caught:
        build_smt_asset(SmtTable(key="cdc", chain=parse_chain(BY_FIELD), table=spec.table, **more))
    assert caught.value.problems[0].code == code


def test_an_asset_that_is_one_table_has_no_tables(tmp_path):
    spec = ManyWorld(tmp_path, None).spec()
    one = build_smt_asset(
        SmtTable(key="cdc", chain=parse_chain(BY_FIELD), table=spec.table, sink=DeltaSink("lake/o", "columns"))
    )
    with pytest.raises(ConfigError, match="SMT735"):
        build_tables_asset(one)


def test_the_state_knows_the_tables(spark, tmp_path):
    world = ManyWorld(tmp_path, spark)
    assert open_table(spark, world.sink()).state() is None
