"""A new table of records that bring their schemas along needs one to begin with: it reads on until there is one."""

from dataclasses import replace

from dagster_smt.errors import PlanError
from dagster_smt.model.windows.window import Window
from dagster_smt.run.spec import RunSpec

_MORE = 10


def with_more_records(spec: RunSpec, error: PlanError, window: Window, before: Window | None) -> RunSpec | None:
    """Returns the run with a larger window.

    Args:
        spec: The run.
        error: Why its window has no plan.
        window: The window.
        before: The window that was read before this one and had no schema either, if there was one.

    Returns:
        None if more records are no help: something else is wrong, or there are none.
    """
    asked = spec.window
    nothing = {problem.code for problem in error.problems} == {"SMT212"}
    if not nothing or asked.max_records is None or asked.fixed or window == before:
        return None
    return replace(spec, window=replace(asked, max_records=asked.max_records * _MORE), asked=spec.request)
