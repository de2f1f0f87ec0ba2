"""Handles the first window of a new table if its records name no schema, for example because all are tombstones. The
run cannot create a table without a schema, so it reads more records or waits.
"""

from dataclasses import replace

from pyspark.sql import DataFrame

from dagster_smt.errors import PlanError, Problem
from dagster_smt.model.windows.window import Window
from dagster_smt.run.run_spec import RunSpec

_MORE = 10


def with_more_records(spec: RunSpec, error: PlanError, window: Window, before: Window | None) -> RunSpec | None:
    """Returns the run ``spec`` with a larger window, because no record in the first window contains a schema or a
    schema id.

    Args:
        spec: The run.
        error: The error of the plan for its window.
        window: The window.
        before: The previous window without a schema; None for the first window.

    Returns:
        The larger run. None if a larger window does not help: ``error`` has another cause, the window is fixed or has
        no limit, or the last enlargement found no more records.
    """
    window_request = spec.window
    if not _names_no_schema(error) or window_request.max_records is None or window_request.fixed or window == before:
        return None
    # the request stays the same, so that a retry recognizes a run with a larger window
    return replace(
        spec, window=replace(window_request, max_records=window_request.max_records * _MORE), asked=spec.request
    )


def waits_for_rows(spec: RunSpec, error: PlanError, records: DataFrame) -> bool:
    """Returns True if the run would create a table with keys, but its window contains only tombstones.

    There is no row to delete, so the run changes nothing. The run stores no progress either, so a later run reads the
    tombstones again, together with the records of the first rows. A fixed window never waits, because no later run
    would read it again.

    Args:
        spec: The run.
        error: The error of the plan for its window.
        records: The records of the window.
    """
    if spec.sink.keyed is None or spec.window.fixed or not _names_no_schema(error):
        return False  # no later run would read a fixed range again
    return records.where("value IS NOT NULL").isEmpty()


def waiting(spec: RunSpec, records: int) -> Problem:
    """Returns the warning of a run that waits for the first row of its table."""
    statement = f"all {records} records so far are tombstones, so the table is not created yet"
    hint = "nothing to do: the run that finds the first row creates the table, and reads these records again"
    return Problem("SMT724", spec.sink.place, statement, hint)


def _names_no_schema(error: PlanError) -> bool:
    return {problem.code for problem in error.problems} == {"SMT212"}
