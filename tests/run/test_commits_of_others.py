"""What a Delta table's commits tell when writers, threads and other people's commits come between."""

import json
import time
from contextlib import ExitStack

import pytest

from dagster_smt.model.windows.window import Range
from dagster_smt.run import attempt
from dagster_smt.tables.sinks.merge import shared_setting
from dagster_smt.tables.window_request import WindowRequest
from tests.quick import quick
from tests.run.world import World, order, window

RECORDS_EMPTY_COMMITS = "spark.databricks.delta.skipRecordingEmptyCommits"


@pytest.fixture
def world(spark, tmp_path):
    result = World(tmp_path, spark)
    result.add(order(1), order(2), order(3))
    return result


def test_a_commit_that_lost_a_row_is_told_and_mended_as_the_hint_says(world, monkeypatch):
    whole = attempt.conformed
    with monkeypatch.context() as patch:
        patch.setattr(attempt, "conformed", lambda rows, schema: whole(rows, schema).limit(2))
        report = world.run()
    warning = next(problem for problem in report.warnings if problem.code == "SMT558")
    assert "the commit added 2 rows, 3 were counted before" in warning.statement
    assert "run this window again as a fixed range" in (warning.hint or "")
    again = world.run(window=WindowRequest(explicit=window(0, 3)))
    assert [problem.code for problem in again.warnings] == []
    assert world.offsets() == [0, 1, 2]


def test_commits_of_two_threads_of_a_session_both_record_windows_without_rows(spark):
    """The first to end must not take the setting away from the other one."""
    setting = shared_setting(spark, RECORDS_EMPTY_COMMITS, "false")
    other = shared_setting(spark, RECORDS_EMPTY_COMMITS, "false")
    spark.conf.set(RECORDS_EMPTY_COMMITS, "true")
    try:
        with ExitStack() as later:
            with setting:
                later.enter_context(other)
                assert spark.conf.get(RECORDS_EMPTY_COMMITS) == "false"
            assert spark.conf.get(RECORDS_EMPTY_COMMITS) == "false", "the other commit is still under way"
        assert spark.conf.get(RECORDS_EMPTY_COMMITS) == "true", "the user's own setting is back"
    finally:
        spark.conf.unset(RECORDS_EMPTY_COMMITS)


def note(log, version):
    """A commit of somebody else that changes no row, as a change of a table's properties leaves it."""
    info = {
        "timestamp": int(time.time() * 1000),
        "operation": "SET TBLPROPERTIES",
        "operationParameters": {"properties": '{"owner":"others"}'},
        "readVersion": version - 1,
        "isolationLevel": "Serializable",
        "isBlindAppend": True,
        "operationMetrics": {},
    }
    (log / f"{version:020}.json").write_text(json.dumps({"commitInfo": info}) + "\n")


@pytest.mark.parametrize("others", quick([1, 29, 30, 75], 29, 75))
def test_progress_is_found_behind_any_number_of_commits_of_others(world, others):
    world.run()
    log = world.folder / "table" / "_delta_log"
    last = len([*log.glob("*.json")])
    for number in range(others):
        note(log, last + number)
    assert world.run().status == "empty"
    world.add(order(4))
    report = world.run()
    assert (report.window.ranges, report.rows_written) == ((Range("orders", 0, 3, 4),), 1)
    assert world.offsets() == [0, 1, 2, 3]
