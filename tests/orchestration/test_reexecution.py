"""Runs that are executed again: a retry finds what is committed, a new request runs with today's chain."""

import json
import uuid
from pathlib import Path

import dagster as dg
import pytest

from dagster_smt.chain import parse_chain
from dagster_smt.orchestration.launch.code_versions import data_version
from dagster_smt.orchestration.runs.execution import first_try
from tests.orchestration.test_assets import DROP, HIDE, PERSON, append, asset, read, value

MENDED = {"stages": [HIDE, DROP]}
WITHOUT_MASK = {"stages": [DROP]}
FIXED = {"explicit": {"people": {"0": [0, 1]}}}


def people(folder):
    """The job, which Dagster builds again from this file; it runs in this process, with its Spark session."""
    from pyspark.sql import SparkSession

    result = asset(Path(folder), allow_chain_override=True)
    session = dg.resource(lambda _: SparkSession.getActiveSession())
    job = dg.define_asset_job("people", [result], executor_def=dg.in_process_executor)
    return dg.Definitions([result], resources={"spark": session}, jobs=[job]).get_job_def("people")


class Runs:
    """Runs of the job, and executions of them again."""

    def __init__(self, instance, folder):
        # Dagster keeps the jobs that it has built, by function and arguments: so the folder is an argument
        self.instance, self.job = instance, dg.build_reconstructable_job(__name__, "people", (str(folder),))

    def __call__(self, chain, window=None, *, again=None):
        config = {"ops": {"lake__people": {"config": {"chain": chain, "window": window or {}}}}}
        options = dg.ReexecutionOptions(parent_run_id=again.run_id) if again is not None else None
        result = dg.execute_job(self.job, self.instance, config, reexecution_options=options, raise_on_error=False)
        self.materializations = [e for e in result.all_events if e.is_step_materialization]
        self.event = None
        if self.materializations:
            (self.event,) = (e.step_materialization_data.materialization for e in self.materializations)
        return result.dagster_run

    @property
    def version(self):
        return self.event.tags["dagster/data_version"]


@pytest.fixture
def runs(spark, tmp_path):
    append(tmp_path, "people", PERSON)
    with dg.instance_for_test() as instance:
        yield Runs(instance, tmp_path)


def names(spark, tmp_path):
    return [json.loads(r.value)["name"] for r in read(spark, tmp_path).collect()]


@pytest.mark.parametrize(
    "window",
    [FIXED, *(pytest.param(w, marks=pytest.mark.long) for w in ({"since": "2000-01-01T00:00:00Z"}, {"rebuild": True}))],
    ids=str,
)
def test_a_fixed_request_that_succeeded_runs_again_with_the_mended_chain(runs, spark, tmp_path, window):
    first = runs(WITHOUT_MASK, window)
    before = runs.version
    assert names(spark, tmp_path) == ["x"]
    second = runs(MENDED, window, again=first)
    assert value(runs.event, "status") == "committed" and names(spark, tmp_path) == ["*"]
    assert runs.version != before
    third = runs(MENDED, window, again=second)  # the same again is run again: the one before succeeded
    assert third.is_success and value(runs.event, "status") == "committed" and names(spark, tmp_path) == ["*"]


def test_the_data_version_of_a_retry_is_that_of_the_chain_that_ran(runs, spark, tmp_path, monkeypatch):
    """The first run commits and dies; with another chain its retry has nothing to do, and must not say it ran."""
    from dagster_smt.orchestration.runs import step_bodies

    execute = step_bodies.execute

    def dies(*args):
        execute(*args)
        raise RuntimeError("gone")

    with monkeypatch.context() as patch:
        patch.setattr(step_bodies, "execute", dies)
        first = runs(WITHOUT_MASK)
    assert first.status == dg.DagsterRunStatus.FAILURE and names(spark, tmp_path) == ["x"]
    runs(MENDED, again=first)
    assert value(runs.event, "status") == "already committed" and names(spark, tmp_path) == ["x"]
    ran, asked = parse_chain([DROP]).hash, parse_chain([HIDE, DROP]).hash
    ends = {"people": {"0": 1}}
    assert runs.version == data_version(ends, ran).value != data_version(ends, asked).value


def test_the_first_try_is_the_first_of_those_that_failed():
    """Who executes a run again that succeeded asks anew."""
    with dg.instance_for_test() as instance:
        failed, succeeded = dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.SUCCESS
        runs, parent = {}, None
        for name, status in (("a", failed), ("b", failed), ("c", succeeded), ("d", failed), ("e", succeeded)):
            root = runs["a"].run_id if runs else None
            run = dg.DagsterRun("job", str(uuid.uuid4()), status=status, parent_run_id=parent, root_run_id=root)
            instance.add_run(run)
            runs[name], parent = run, run.run_id
        expected = {"a": "a", "b": "a", "c": "a", "d": "d", "e": "d"}
        assert {name: first_try(instance, run) for name, run in runs.items()} == {
            name: runs[first].run_id for name, first in expected.items()
        }
