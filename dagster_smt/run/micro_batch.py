"""A bounded series of runs, each with its own window and commit: what a long backlog is worked off with."""

from collections.abc import Callable
from dataclasses import replace

from pyspark.sql import SparkSession

from dagster_smt.errors import ConfigError, Problem
from dagster_smt.model.report import RunReport
from dagster_smt.run.batch import Evaluate, RunSpec, run


def run_batches(
    spec: RunSpec,
    session: SparkSession,
    batches: int,
    max_records: int | None = None,
    progress: Callable[[str], None] = lambda line: None,
    *,
    evaluate: Evaluate | None = None,
) -> list[RunReport]:
    """Run until nothing is new, at most ``batches`` times.

    A batch that fails ends the series; the others stay committed.

    Args:
        spec: What to run. ``rebuild`` concerns the first batch: the others continue it.
        session: The Spark session.
        batches: The most batches to run.
        max_records: At most this many records per topic-partition and batch; default is the spec's.
        progress: Receives lines that say how far the run is.
        evaluate: As in ``run``.

    Returns:
        One report per committed window; a single one with status ``empty`` if nothing was new.

    Raises:
        ConfigError: SMT535, an explicit window is one batch; SMT536, ``batches`` is not positive.
    """
    if spec.window.explicit is not None:
        hint = "run it once, or leave the explicit window out"
        raise ConfigError(Problem("SMT535", "window", "an explicit window cannot be cut into batches", hint))
    if batches < 1:
        raise ConfigError(Problem("SMT536", "batches", f"{batches} batches is no run", "use 1 or more"))
    window = replace(spec.window, max_records=max_records or spec.window.max_records)
    reports: list[RunReport] = []
    for number in range(batches):
        run_id = f"{spec.run_id}#{number}" if spec.run_id else ""  # a retry knows each batch
        batch = replace(spec, window=window, run_id=run_id, rebuild=spec.rebuild and number == 0)
        report = run(batch, session, progress, evaluate=evaluate)
        if report.status == "empty":
            return reports or [report]
        reports.append(report)
    return reports
