"""Extends the first window of a table until a record names a schema. Without a schema, the table cannot be created."""

from dataclasses import replace

from dagster_smt.errors import PlanError
from dagster_smt.model.windows.window import Window
from dagster_smt.run.run_spec import RunSpec

_MORE = 10


def with_more_records(spec: RunSpec, error: PlanError, window: Window, before: Window | None) -> RunSpec | None:
    """Returns the run ``spec`` with a larger window.

    Args:
        spec: The run.
        error: The error of the plan for its window.
        window: The window.
        before: The previous window without a schema; None for the first window.

    Returns:
        The larger run. None if more records do not help, because the error has another cause, or because there are no
        more records.
    """
    window_request = spec.window
    nothing = {problem.code for problem in error.problems} == {"SMT212"}
    if not nothing or window_request.max_records is None or window_request.fixed or window == before:
        return None
    return replace(
        spec, window=replace(window_request, max_records=window_request.max_records * _MORE), asked=spec.request
    )
