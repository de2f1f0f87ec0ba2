"""The maintenance job: what it observes, which tables and steps it takes, and how it fails."""

import json

import dagster as dg
import pytest

from dagster_smt import (
    DeltaSink,
    FileTopicSink,
    IcebergSink,
    SmtChecks,
    SmtMaintenance,
    SmtTable,
    build_erasure_asset,
    build_maintenance_job,
    build_repair_job,
    build_smt_asset,
    build_smt_assets,
)
from dagster_smt.errors import ConfigError, EngineError, Problem
from dagster_smt.orchestration import checks as checks_module
from dagster_smt.orchestration.checks import SMALL_FILES
from dagster_smt.tables.maintenance.delta import DeltaMaintenance
from dagster_smt.tables.sinks import open_table
from tests.orchestration.test_assets import HIDE, PERSON, append, checks, failure, observations, table, value
from tests.orchestration.test_component import LEAST, loaded, problem

NOW = SmtMaintenance(retention_hours=0, allow_short_retention=True, retain_last=5)


def people(root, sink=None, key="people", **more):
    sink = sink or DeltaSink(root / "lake")
    pool = more.pop("pool", None)
    smt_table = SmtTable(key=["lake", key], chain=[HIDE], table=table(root, "people"), sink=sink, **more)
    return build_smt_asset(smt_table, pool=pool)


def two(root, **more):
    sinks = {"people": DeltaSink(root / "lake"), "others": IcebergSink(root / "ice")}
    tables = [
        SmtTable(key=["lake", key], chain=[HIDE], table=table(root, "people"), sink=sink, **more)
        for key, sink in sinks.items()
    ]
    return build_smt_assets(name="both", tables=tables)


def grow(instance, spark, root, asset, runs=3):
    for _ in range(runs):
        append(root, "people", PERSON)
        assert dg.materialize([asset], instance=instance, resources={"spark": spark}).success


def launch(instance, spark, asset, job, config=None):
    defs = dg.Definitions([asset], jobs=[job], resources={"spark": spark})
    run_config = {"ops": {f"{job.name}_tables": {"config": config}}} if config else {}
    resolved = defs.resolve_job_def(job.name)
    return resolved.execute_in_process(run_config, instance=instance, raise_on_error=False)


def rows_of(observation):
    return [dict(record.data) for record in observation.metadata["dagster_smt/maintenance"].records]


@pytest.mark.long
@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_a_launch_observes_files_and_steps_and_the_next_run_continues(spark, tmp_path, kind):
    sink = DeltaSink(tmp_path / "lake") if kind == "delta" else IcebergSink(tmp_path / "lake")
    asset = people(tmp_path, sink)
    job = build_maintenance_job(asset, NOW)
    with dg.instance_for_test() as instance:
        grow(instance, spark, tmp_path, asset, runs=6)
        result = launch(instance, spark, asset, job)
        (observation,) = observations(result)
        grow(instance, spark, tmp_path, asset, runs=1)
    assert result.success and job.name == "lake__people_maintenance"
    assert observation.asset_key == dg.AssetKey(["lake", "people"])
    counts = {name: value(observation, name) for name in ("files_before", "files_after", "dagster/row_count")}
    assert counts == {"files_before": 6, "files_after": 1, "dagster/row_count": 6}
    assert value(observation, "bytes_before") > value(observation, "bytes_after") > 0
    lines = rows_of(observation)
    assert [line["step"] for line in lines] == (
        ["compact", "clean_up"] if kind == "delta" else ["compact", "manifests", "expire", "clean_up"]
    )
    assert (lines[0]["files_removed"], lines[0]["files_added"], lines[0]["status"]) == ("6", 1, "done")
    assert all(line["seconds"] > 0 and line["tries"] == 1 for line in lines)
    check = checks(result)[SMALL_FILES]
    assert check.passed and check.description == "1 of 1 files are smaller than 16 MB"
    assert open_table(spark, sink).read().count() == 7


@pytest.mark.long
def test_the_tables_of_a_step_are_maintained_together_or_one_by_one(spark, tmp_path):
    asset = two(tmp_path)
    all_of_them = build_maintenance_job(asset, NOW)
    one = build_maintenance_job(asset, NOW, tables=["lake/others"], name="only_others")
    with dg.instance_for_test() as instance:
        grow(instance, spark, tmp_path, asset, runs=1)
        seen = [
            [o.asset_key.path[-1] for o in observations(launch(instance, spark, asset, job, config))]
            for job, config in (
                (all_of_them, None),
                (one, None),
                (all_of_them, {"tables": ["lake/people"], "steps": ["compact"]}),
            )
        ]
        steps_of_one = launch(instance, spark, asset, all_of_them, {"steps": ["expire"]})
        refused = launch_error(instance, spark, asset, one)
    assert seen == [["people", "others"], ["others"], ["people"]]
    assert [[line["step"] for line in rows_of(o)] for o in observations(steps_of_one)] == [[], ["expire"]]
    assert "lake/people" in refused


def launch_error(instance, spark, asset, job):
    with pytest.raises(dg.DagsterInvalidConfigError) as error:
        launch(instance, spark, asset, job, {"tables": ["lake/people"]})
    return str(error.value)


def test_a_step_that_fails_stops_neither_the_next_one_nor_the_next_table(spark, tmp_path, monkeypatch):
    asset = two(tmp_path)

    def broken(self):
        raise EngineError(Problem("SMT623", "there", "the disk is full", "make room"))

    monkeypatch.setattr(DeltaMaintenance, "compact", broken)
    with dg.instance_for_test() as instance:
        grow(instance, spark, tmp_path, asset, runs=1)
        result = launch(instance, spark, asset, build_maintenance_job(asset, NOW))
    assert not result.success
    first, second = observations(result)
    assert [line["status"] for line in rows_of(first)] == ["failed: SMT623", "done"]
    assert [line["status"] for line in rows_of(second)] == ["done"] * 4
    message = failure(result)
    assert "SMT623" in message.description and "compact: the disk is full" in message.description
    assert [record.data["code"] for record in message.metadata["dagster_smt/problems"].records] == ["SMT623"]


@pytest.mark.long
def test_an_error_of_spark_is_named_without_its_text(spark, tmp_path, monkeypatch):
    asset = people(tmp_path)

    def broken(self):
        spark.sql("SELECT raise_error('secret-4711')").collect()

    monkeypatch.setattr(DeltaMaintenance, "compact", broken)
    with dg.instance_for_test() as instance:
        grow(instance, spark, tmp_path, asset, runs=1)
        result = launch(instance, spark, asset, build_maintenance_job(asset, NOW))
    assert not result.success and "SMT620" in failure(result).description
    assert "secret-4711" not in json.dumps([str(event) for event in result.all_events])


def test_a_job_before_the_first_run_succeeds(spark, tmp_path):
    asset = people(tmp_path)
    with dg.instance_for_test() as instance:
        result = launch(instance, spark, asset, build_maintenance_job(asset))
    assert result.success and SMALL_FILES not in checks(result)
    (observation,) = observations(result)
    assert value(observation, "notes") == ["the table does not exist yet"]


@pytest.mark.long
def test_many_small_files_are_named_by_runs_and_the_job(spark, tmp_path, monkeypatch):
    monkeypatch.setattr(checks_module, "MANY_FILES", 3)
    asset = people(tmp_path, checks=SmtChecks(max_small_files=0.5))
    with dg.instance_for_test() as instance:
        grow(instance, spark, tmp_path, asset, runs=2)
        append(tmp_path, "people", PERSON)
        red = dg.materialize([asset], instance=instance, resources={"spark": spark})
        no_compaction = launch(instance, spark, asset, build_maintenance_job(asset, SmtMaintenance(compact=False)))
        green = launch(instance, spark, asset, build_maintenance_job(asset, NOW))
        append(tmp_path, "people", PERSON)
        after = dg.materialize([asset], instance=instance, resources={"spark": spark})
    results = [checks(result)[SMALL_FILES] for result in (red, no_compaction, green, after)]
    assert red.success and [check.passed for check in results] == [False, False, True, True]
    for check in results[:2]:
        assert check.severity.value == "WARN"
        assert check.description.startswith("3 of 3 files are smaller than 16 MB; launch the maintenance job")
    assert results[0].metadata["small_files"].value == 3 and results[2].metadata["files"].value == 1


def test_a_compaction_that_leaves_small_files_says_why(monkeypatch):
    from dagster_smt.model.reports.table_facts import FileSizes

    verdict = checks_module.small_files_of(FileSizes(60, 600, 60), SmtChecks(), compacted=True)
    assert not verdict.passed and "partition the table by fewer values" in verdict.statement
    assert checks_module.small_files_of(FileSizes(60, 600, 29), SmtChecks()).passed
    assert checks_module.small_files_of(FileSizes(49, 600, 49), SmtChecks()).passed
    assert checks_module.small_files_of(FileSizes(), SmtChecks()).passed
    assert not checks_module.small_files_of(FileSizes(60, 600, 10), SmtChecks(max_small_files=0.1)).passed


def test_without_a_limit_runs_count_no_files(tmp_path):
    assert SMALL_FILES not in {spec.name for spec in people(tmp_path).check_specs}
    limited = people(tmp_path, checks=SmtChecks(max_small_files=0.5))
    assert SMALL_FILES in {spec.name for spec in limited.check_specs}
    topics = people(tmp_path, FileTopicSink(tmp_path / "out"), checks=SmtChecks(max_small_files=0.5))
    assert SMALL_FILES not in {spec.name for spec in topics.check_specs}
    with pytest.raises(ConfigError, match="SMT307"):
        SmtChecks(max_small_files=1.5)


def test_job_and_asset_share_a_pool_unless_somebody_says_otherwise(tmp_path):
    asset = people(tmp_path, pool="lake")
    pools = [build_maintenance_job(asset, pool=pool).graph.nodes[0].definition.pool for pool in (None, "nightly")]
    assert pools == ["lake", "nightly"]


@dg.asset
def foreign():
    return None


@dg.op
def number():
    return 1


@dg.graph_asset
def graph():
    return number()


EXTERNAL = dg.AssetsDefinition(specs=[dg.AssetSpec("external")])

WRONG = [
    (lambda root: build_maintenance_job(foreign), "SMT813 foreign"),
    (lambda root: build_maintenance_job(graph), "SMT813 graph"),
    (lambda root: build_maintenance_job(EXTERNAL), "SMT813 external"),
    (lambda root: build_repair_job(foreign), "SMT813 foreign"),
    (lambda root: build_repair_job(graph), "SMT813 graph"),
    (lambda root: build_erasure_asset([graph]), "SMT754 graph"),
    (lambda root: build_erasure_asset([EXTERNAL]), "SMT754 external"),
    (lambda root: build_maintenance_job(people(root, FileTopicSink(root / "out"))), "SMT803"),
    (lambda root: build_maintenance_job(two(root), tables=["lake/nobody"]), "SMT804"),
    (lambda root: build_maintenance_job(people(root, DeltaSink(table="lake.orders; DROP"))), "SMT802"),
]


@pytest.mark.parametrize(("build", "code"), WRONG)
def test_what_cannot_be_maintained_or_is_of_others_is_refused_when_definitions_load(tmp_path, build, code):
    with pytest.raises(ConfigError, match=code):
        build(tmp_path)


def test_a_component_has_a_job_and_a_schedule_that_is_off():
    maintenance = {"schedule": "0 4 * * *", "retention_hours": 336, "manifests": False}
    component, defs = loaded({**LEAST, "maintenance": maintenance, "execution_timezone": "Europe/Berlin"})
    assert component.maintenance.retention_hours == 336 and not component.maintenance.manifests
    assert "lake__orders_maintenance" in {job.name for job in defs.jobs}
    (schedule,) = defs.schedules
    assert (schedule.name, schedule.cron_schedule) == ("lake__orders_maintenance_schedule", "0 4 * * *")
    assert schedule.execution_timezone == "Europe/Berlin"
    assert schedule.default_status == dg.DefaultScheduleStatus.STOPPED
    asset = next(a for a in defs.assets if dg.AssetKey(["lake", "orders"]) in getattr(a, "keys", ()))
    assert SMALL_FILES in {spec.name for spec in asset.check_specs}


def test_a_component_without_the_block_has_no_job_and_with_an_empty_block_no_schedule():
    _, without = loaded(LEAST)
    _, empty = loaded({**LEAST, "maintenance": {}})
    assert "lake__orders_maintenance" not in {job.name for job in without.jobs}
    assert "lake__orders_maintenance" in {job.name for job in empty.jobs} and not list(empty.schedules)


def test_a_component_refuses_a_short_retention():
    assert "SMT800 maintenance.retention_hours" in problem({**LEAST, "maintenance": {"retention_hours": 1}})
    _, defs = loaded({**LEAST, "maintenance": {"retention_hours": 1, "allow_short_retention": True}})
    assert "lake__orders_maintenance" in {job.name for job in defs.jobs}
