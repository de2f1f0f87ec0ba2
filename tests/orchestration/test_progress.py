"""Progress lines: every few seconds, with an estimate, and never in the way of the work."""

import threading
import time

import pytest

from dagster_smt.model.windows.window import Range, Window
from dagster_smt.orchestration import run_cancellable
from dagster_smt.orchestration.runs import progress_log as module
from dagster_smt.orchestration.runs.progress_log import RunProgress, log_every


class Tracker:
    """Spark's tracker with one job of two stages; the second runs."""

    def __init__(self, done=3, tasks=12):
        self.done, self.tasks = done, tasks

    def getJobIdsForGroup(self, group):  # noqa: N802 - Spark's name
        return [7] if group == "mine" else []

    def getJobInfo(self, job):  # noqa: N802 - Spark's name
        return type("Job", (), {"stageIds": [1, 2], "status": "RUNNING"})

    def getStageInfo(self, stage):  # noqa: N802 - Spark's name
        active = 0 if stage == 1 else 2
        return type("Stage", (), {"numTasks": self.tasks, "numCompletedTasks": self.done, "numActiveTasks": active})


@pytest.fixture
def known():
    result = RunProgress.__new__(RunProgress)
    result._tracker, result._group, result._began, result._records, result.phase = Tracker(), "mine", 0.0, 0, ""
    return result


def test_while_evaluating_records_and_time_are_estimated(known, monkeypatch):
    monkeypatch.setattr(module.time, "monotonic", lambda: 100.0)
    known.begun(Window((Range("t", 0, 0, 1_000_000),)))
    known.phase = "evaluating"
    monkeypatch.setattr(module.time, "monotonic", lambda: 120.0)
    assert known.line() == ("evaluating, 20 s: 3 of 12 tasks, about 250,000 of 1,000,000 records, about 60 s to go")
    known.phase = "committing"
    assert known.line() == "committing, 20 s: 3 of 12 tasks"


def test_jobs_of_others_do_not_count(known):
    known._group = "other"
    assert known.line().startswith("working, ")
    assert "tasks" not in known.line()


def test_lines_come_while_the_block_runs_and_stop_with_it():
    results = []
    with log_every(0.01, lambda: "line", results.append):
        time.sleep(0.2)
    count = len(results)
    assert count > 2
    time.sleep(0.05)
    assert len(results) <= count + 1


def test_a_question_that_fails_does_not_end_the_work():
    def fails():
        raise RuntimeError

    with log_every(0.01, fails, print):
        time.sleep(0.05)
    assert "progress" not in [t.name for t in threading.enumerate() if not t.daemon]


def test_a_run_of_spark_tells_its_tasks(spark, monkeypatch):
    from dagster_smt.orchestration.runs import guard

    monkeypatch.setattr(guard, "SECONDS", 0.2)
    known, results = RunProgress(spark, "slow"), []

    def work(progress):
        known.begun(Window((Range("t", 0, 0, 8),)))
        known.phase = "evaluating"

        def slow(rows):
            time.sleep(0.5)
            yield from rows

        return spark.sparkContext.parallelize(range(8), 8).mapPartitions(slow).count()

    assert run_cancellable(spark, "slow", work, log=results.append, beat=known.line) == 8
    assert any("of 8 tasks, about" in line and "of 8 records" in line for line in results), results
