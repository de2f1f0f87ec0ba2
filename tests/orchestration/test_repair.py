"""What masks left unmasked stays red until it is run again or accepted; who may launch a run cannot unmask."""

import json
from pathlib import Path

import dagster as dg
import pytest

from dagster_smt.errors import ConfigError
from dagster_smt.orchestration import build_repair_job, build_smt_asset, build_smt_assets, build_smt_op
from dagster_smt.orchestration.definitions.tables import SmtTable
from dagster_smt.tables.sink_options import DeltaSink, IcebergSink
from tests.orchestration.test_assets import (
    DROP,
    HIDE,
    KEY,
    PERSON,
    Untouchable,
    append,
    asset,
    checks,
    failure,
    read,
    table,
)

NOBODY = {"id": 1}
MISSPELT = {**HIDE, "options": {**HIDE["options"], "fields": ["nmae"]}}
BOTH = {**HIDE, "options": {**HIDE["options"], "fields": ["name", "email"]}}
STEP = "lake__people"


def launch(instance, one, spark, job=None, **config):
    """Materialize an asset, or launch its repair job; gives its check dead_mask."""
    source = {"ops": {one.op.name: {"config": config}}} if config else {}
    if job is None:
        result = dg.materialize([one], source, instance=instance, resources={"spark": spark}, raise_on_error=False)
    else:
        defs = dg.Definitions([one], jobs=[build_repair_job(one)], resources={"spark": spark})
        result = defs.resolve_job_def(job).execute_in_process(instance=instance, raise_on_error=False)
    return result, checks(result).get("dead_mask")


def names(spark, root):
    return sorted(json.loads(row.value).get("name", "") for row in read(spark, root).collect())


def rows_of(check):
    return [dict(record.data) for record in check.metadata["untouched"].records]


@pytest.mark.long
def test_a_misspelt_mask_stays_red_until_its_records_are_run_again(spark, tmp_path):
    append(tmp_path, "people", PERSON, PERSON)
    wrong, mended = asset(tmp_path, chain=[MISSPELT]), asset(tmp_path, chain=[HIDE])
    with dg.instance_for_test() as instance:
        first, red = launch(instance, wrong, spark)
        append(tmp_path, "people", PERSON)
        _, still = launch(instance, mended, spark)
        _, nothing_new = launch(instance, mended, spark)
        assert names(spark, tmp_path) == ["*", "x", "x"]
        repaired, green = launch(instance, mended, spark, "lake__people_repair")
        _, after = launch(instance, mended, spark)
        again, _ = launch(instance, mended, spark, "lake__people_repair")
    assert [check.passed for check in (red, still, nothing_new, green, after)] == [False, False, False, True, True]
    for check in (red, still, nothing_new):
        assert check.severity.value == "ERROR"
        assert f"nmae (hide) touched nothing in people-0 [0, 2), written by {first.run_id}" in check.description
        (row,) = rows_of(check)
        assert (row["path"], row["ranges"], row["runs"]) == ("nmae", "people-0 [0, 2)", first.run_id)
    assert "docs/repair.md" in still.metadata["hint"].value
    assert names(spark, tmp_path) == ["*", "*", "*"]
    assert repaired.success and again.success and not again.asset_materializations_for_node(STEP)


def test_a_field_that_records_rarely_have_is_settled_by_the_first_that_has_it(spark, tmp_path):
    append(tmp_path, "people", PERSON)
    one = asset(tmp_path, chain=[BOTH])
    with dg.instance_for_test() as instance:
        _, absent = launch(instance, one, spark)
        append(tmp_path, "people", {**PERSON, "email": "a@example.org"})
        _, there = launch(instance, one, spark)
        append(tmp_path, "people", PERSON)
        _, gone = launch(instance, one, spark)
    assert [check.passed for check in (absent, there, gone)] == [False, True, False]
    assert rows_of(gone)[0]["ranges"] == "people-0 [2, 3)"  # it may have another name now


@pytest.mark.parametrize("kind", ["delta", pytest.param("iceberg", marks=pytest.mark.long)])
def test_what_is_fine_as_it_is_can_be_accepted_with_a_reason(spark, tmp_path, kind):
    append(tmp_path, "people", NOBODY)
    sink = (
        DeltaSink(tmp_path / "lake") if kind == "delta" else IcebergSink(table=f"ice.db.accepted_{abs(hash(tmp_path))}")
    )
    one = build_smt_asset(SmtTable(key=KEY, chain=[HIDE], table=table(tmp_path, "people"), sink=sink))
    with dg.instance_for_test() as instance:
        launch(instance, one, spark)
        accepted, green = launch(instance, one, spark, window={"accept_unmasked": "nobody is in it"})
        _, later = launch(instance, one, spark)
        append(tmp_path, "people", NOBODY)
        _, red = launch(instance, one, spark)
        append(tmp_path, "people", NOBODY)
        _, new = launch(instance, one, spark, window={"accept_unmasked": "nobody again"})
    assert [check.passed for check in (green, later, red, new)] == [True, True, False, False]
    (note,) = [dict(record.data) for record in later.metadata["accepted"].records]
    assert note == {"run": accepted.run_id, "reason": "nobody is in it", "paths": "name", "offsets": 1}
    assert rows_of(new)[0]["ranges"] == "people-0 [2, 3)"  # what a run itself leaves is not accepted with the rest


def test_a_run_that_masks_less_than_the_definition_is_red_until_it_is_run_again(spark, tmp_path):
    append(tmp_path, "people", PERSON)
    one = asset(tmp_path, chain=[HIDE, DROP], allow_chain_override=True)
    with dg.instance_for_test() as instance:
        less, red = launch(instance, one, spark, chain={"stages": [DROP]})
        append(tmp_path, "people", PERSON)
        _, still = launch(instance, one, spark)
        assert names(spark, tmp_path) == ["*", "x"]
        _, green = launch(instance, one, spark, "lake__people_repair")
    assert [check.passed for check in (red, still, green)] == [False, False, True]
    (row,) = rows_of(still)
    results = ("name", "not in the run's chain", "people-0 [0, 1)", less.run_id)
    assert (row["path"], row["why"], row["ranges"], row["runs"]) == results and still.severity.value == "ERROR"
    assert names(spark, tmp_path) == ["*", "*"]


SPARK = dg.ResourceDefinition.hardcoded_resource(Untouchable())
ROUTE = {"alias": "r", "type": "RegexRouter", "options": {"regex": "a", "replacement": "b"}}
OTHERS = [
    ([HIDE], None, True),
    ([DROP], None, True),
    ([ROUTE], None, False),
    ([ROUTE], False, True),
    ([HIDE], True, False),
]


@pytest.mark.parametrize(("stages", "allowed", "refused"), OTHERS)
@pytest.mark.parametrize("kind", ["asset", pytest.param("assets", marks=pytest.mark.long), "op"])
def test_another_chain_in_the_run_config_is_refused_before_anything_is_read(tmp_path, kind, stages, allowed, refused):
    source = {"chain": stages, "table": table(tmp_path, "people"), "sink": DeltaSink(tmp_path / "lake")}
    source |= {"allow_chain_override": allowed}
    other = {"chain": {"stages": [{**HIDE, "alias": "other"}]}}
    with dg.instance_for_test() as instance:
        if kind == "op":
            op = build_smt_op(SmtTable(**source), name="people")
            config = {"ops": {"people": {"config": other}}}
            job = dg.GraphDefinition("j", node_defs=[op]).to_job(resource_defs={"spark": SPARK})
            result = job.execute_in_process(config, instance=instance, raise_on_error=False)
        else:
            if kind == "asset":
                one, config = build_smt_asset(SmtTable(key=KEY, **source)), {"ops": {STEP: {"config": other}}}
            else:
                one = build_smt_assets(name="all", tables=[SmtTable(key=KEY, **source)])
                config = {"ops": {"all": {"config": {STEP: other}}}}
            resources = {"spark": Untouchable()}
            result = dg.materialize([one], config, instance=instance, resources=resources, raise_on_error=False)
    text = str(failure(result)) if refused else ""
    assert ("SMT306" in text) is refused and not result.success


def test_the_chain_of_the_definition_and_another_window_are_let_be(spark, tmp_path):
    append(tmp_path, "people", PERSON)
    one = asset(tmp_path, chain=[HIDE])
    window = {"explicit": {"people": {"0": [0, 1]}}}
    with dg.instance_for_test() as instance:
        result, check = launch(instance, one, spark, chain={"stages": [HIDE]}, window=window)
    assert result.success and check.passed


def test_windows_of_time_have_no_repair_job(tmp_path):
    with pytest.raises(ConfigError, match="SMT355"):
        build_repair_job(asset(tmp_path, partitions_def=dg.DailyPartitionsDefinition("2026-01-01")))


@pytest.mark.parametrize(
    "more", [{"rebuild": True}, {"max_records": 1}, {"redrive": True}, {"since": "2026-01-01T00:00:00Z"}]
)
def test_a_repair_is_a_window_of_its_own(tmp_path, more):
    with dg.instance_for_test() as instance:
        result, _ = launch(instance, asset(tmp_path), Untouchable(), window={"repair": True, **more})
    assert "SMT354" in str(failure(result))


def test_a_misspelt_field_of_a_declared_schema_does_not_load(tmp_path):
    from dagster_smt.errors import PlanError
    from dagster_smt.model.topics.format import Format
    from dagster_smt.tables.ddl import parse_ddl

    declared = Format("json_schema", parse_ddl("id BIGINT, name STRING"))
    results = {
        "key": KEY,
        "chain": [MISSPELT],
        "table": table(Path("t"), "people", value=declared),
        "sink": DeltaSink("l"),
    }
    with pytest.raises(PlanError, match=r"(?s)SMT303.*did you mean 'name'"):
        build_smt_asset(SmtTable(**results))
    loaded = build_smt_asset(SmtTable(dead_paths="warn", **results))
    (spec,) = loaded.specs
    assert [r.data["code"] for r in spec.metadata["dagster_smt/plan_warnings"].records] == ["SMT303"]
