"""Cancelling Spark work: in this process, and in real Dagster runs that get a signal."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import dagster as dg
import pytest

from dagster_smt.orchestration import Cancelled, run_cancellable

ROOT = Path(__file__).parents[2]
SLOW = "count(case when (id * 7919) % 1000003 = 17 then 1 end)"


def slow(session):
    session.range(10**12).selectExpr(SLOW).collect()


def test_results_lines_and_errors_come_through(spark):
    lines = []

    def work(progress):
        progress("one")
        progress("two")
        return spark.range(5).count()

    assert run_cancellable(spark, "t-result", work, log=lines.append) == 5
    assert lines == ["one", "two"]
    with pytest.raises(ZeroDivisionError):
        run_cancellable(spark, "t-error", lambda progress: 1 // 0)
    with pytest.raises(TimeoutError, match="own"):
        run_cancellable(spark, "t-timeout", lambda progress: (_ for _ in ()).throw(TimeoutError("own")))


def test_an_exception_in_the_waiting_thread_ends_the_job_and_all_that_would_follow(spark):
    reached, finished = [], threading.Event()

    def work(progress):
        try:
            for number in range(10):
                progress(f"job {number}")
                reached.append(number)
                try:
                    slow(spark)
                except Exception:
                    if number:
                        raise
        except Cancelled:
            finished.set()
            raise

    def log(line):
        deadline = time.monotonic() + 30
        while not spark.sparkContext.statusTracker().getActiveJobsIds() and time.monotonic() < deadline:
            time.sleep(0.05)
        raise KeyboardInterrupt

    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        run_cancellable(spark, "t-cancel", work, log=log)
    assert time.monotonic() - started < 30
    assert reached == [0] and finished.is_set()  # the work swallowed the first cancellation, and yet did not go on
    assert list(spark.sparkContext.statusTracker().getActiveJobsIds()) == []
    assert spark.range(4).count() == 4


RUN = """
import json, os, signal, sys, threading, time
import dagster as dg
from dagster_smt.orchestration import SparkSessionResource, run_cancellable

SLOW = {slow!r}
spark = SparkSessionResource(conf={{"spark.master": "local[2]", "spark.log.level": "ERROR"}})

@dg.op(required_resource_keys={{"spark"}}, retry_policy=dg.RetryPolicy(max_retries=2))
def long_one(context):
    session = context.resources.spark.spark_session
    def signal_when_busy():
        while not session.sparkContext.statusTracker().getActiveJobsIds():
            time.sleep(0.05)
        context.instance.report_run_canceling(context.run)  # what Terminate in the UI does before the signal
        os.kill(os.getpid(), {signal})
    threading.Thread(target=signal_when_busy, daemon=True).start()
    try:
        work = lambda progress: session.range(10**12).selectExpr(SLOW).collect()
        run_cancellable(session, f"dagster-{{context.run_id}}", work)
    finally:
        active = list(session.sparkContext.statusTracker().getActiveJobsIds())
        print("RESULT", json.dumps([active, session.range(3).count()]), flush=True)

@dg.job(resource_defs={{"spark": spark}}, executor_def={executor})
def long_job():
    long_one()

if __name__ == "__main__":
    with dg.DagsterInstance.get() as instance:
        result = dg.execute_job(dg.reconstructable(long_job), instance=instance, raise_on_error=False)
        print("STATUS", instance.get_run_by_id(result.run_id).status.value, flush=True)
"""


@pytest.mark.spark
@pytest.mark.parametrize("number", [pytest.param(signal.SIGINT, marks=pytest.mark.long), signal.SIGTERM])
def test_terminating_a_run_cancels_its_spark_job(tmp_path, number):
    script = tmp_path / "long_run.py"
    script.write_text(RUN.format(slow=SLOW, signal=int(number), executor="dg.in_process_executor"))
    (tmp_path / "home").mkdir()
    env = {**os.environ, "DAGSTER_HOME": str(tmp_path / "home"), "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, env=env, timeout=240)
    lines = dict(line.split(" ", 1) for line in done.stdout.splitlines() if line.startswith(("RESULT", "STATUS")))
    assert json.loads(lines["RESULT"]) == [[], 3], done.stderr[-3000:]
    assert lines["STATUS"] == dg.DagsterRunStatus.CANCELED.value
