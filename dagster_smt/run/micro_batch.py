"""Reads a backlog of records in bounded windows. Each window is a run with its own commit, and the table stores the
progress.
"""

import time
from collections.abc import Callable
from dataclasses import replace

from pyspark.sql import SparkSession

from dagster_smt.errors import ConfigError, Problem
from dagster_smt.model.reports.run_report import RunReport
from dagster_smt.model.windows.window import Window
from dagster_smt.run.batch import Evaluate, run
from dagster_smt.run.run_spec import Progress, RunSpec
from dagster_smt.run.unmasked import touched_in
from dagster_smt.tables.sources import open_source
from dagster_smt.tables.window_request import MicroBatches as MicroBatches
from dagster_smt.tables.windows import choose_topics


def run_batches(
    spec: RunSpec,
    session: SparkSession,
    batches: MicroBatches,
    progress: Progress = lambda line: None,
    *,
    evaluate: Evaluate | None = None,
    begun: Callable[[Window], None] = lambda window: None,
    clock: Callable[[], float] = time.monotonic,
) -> list[RunReport]:
    """Runs one window after the other, until no record is left or a limit is reached.

    If a batch fails, the series ends, and earlier batches stay committed. If a topic fails in one batch, later batches
    leave it out.

    Args:
        spec: The request. ``rebuild``, ``settle``, ``accept_gap`` and ``begin_anew`` apply only to the first batch.
        session: The Spark session.
        batches: The limits of the series.
        progress: Receives lines about the progress of the run.
        evaluate, begun: See ``run``.
        clock: Returns the time in seconds.

    Returns:
        A report for each committed window; one report with the status ``empty`` if no record was new.

    Raises:
        ConfigError: SMT535, a fixed window cannot be split.
    """
    if spec.window.fixed:
        hint = "run it without micro_batch, or leave the fixed window out"
        raise ConfigError(Problem("SMT535", "window", "a fixed window cannot be split into batches", hint))
    started, reports = clock(), list[RunReport]()
    window = replace(spec.window, max_records=batches.max_records)
    number = 0
    while batches.max_batches is None or number < batches.max_batches:
        if number and batches.max_seconds is not None and clock() - started >= batches.max_seconds:
            progress(f"{batches.max_seconds:g} seconds are over: the next run continues")
            break
        key = f"{spec.key}#{number}" if spec.key else ""  # so that a retry recognises each batch
        marks: list[str] = []
        for batch_report in reports:
            marks.extend(touched_in(spec, batch_report))
        touched = frozenset(marks)
        # a mask that has touched records of an earlier batch is not reported as without effect in this batch
        batch = replace(spec, window=window, key=key, touched=touched)
        if number:  # later batches continue from the first one
            batch = replace(batch, rebuild=False, settle=False)
        report = run(batch, session, progress, evaluate=evaluate, begun=begun)
        if report.status == "empty":
            return reports or [report]
        reports.append(report)
        number += 1
        progress(f"batch {number}: {report.records_in} records, {sum(r.records_in for r in reports)} so far")
        window = replace(window, accept_gap=False, begin_anew=False)
        if report.failures:
            window = replace(window, topics=_others(batch, session, report))
            if not window.topics:
                break
    return reports


def _others(spec: RunSpec, session: SparkSession, report: RunReport) -> tuple[str, ...]:
    """Returns the topics of ``spec`` that have not failed in ``report``. Later batches read these topics."""
    topics = choose_topics(spec.table, spec.window, open_source(spec.table.source, session).topics())
    return tuple(t for t in topics if t not in report.failures)
