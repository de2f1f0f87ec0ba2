"""Handles a window whose columns do not fit the table. A rebuild of all topics may replace the table, with its columns
and all rows. Otherwise, an error states why the columns do not fit.
"""

from collections.abc import Callable, Collection
from dataclasses import replace

from dagster_smt.errors import TableError
from dagster_smt.model.reports.run_report import RunReport
from dagster_smt.run.commits import Draft
from dagster_smt.run.resume import others
from dagster_smt.run.run_spec import Progress
from dagster_smt.tables.sinks.protocol import Replaced

_OTHER_TYPE = "SMT521"
_IN_THE_CHAIN = "cast or rename the field in the chain"


def with_columns(
    commit: Callable[[Draft], RunReport], draft: Draft, failures: Collection[str], say: Progress
) -> RunReport:
    """Commits a window. If its columns do not fit the table, and the run rebuilds all topics, the commit replaces all
    rows and columns of the table.

    Args:
        commit: A function that reads, evaluates and commits. If the columns do not fit, it raises an error before the
            evaluation.
        draft: The commit.
        failures: Topics of the run that cannot be read.
        say: Receives a line about the progress.

    Raises:
        TableError: The columns do not fit. The hint names a remedy for this run.
    """
    other_kind = draft.before is not None and draft.before.kind != draft.spec.sink.holds
    if other_kind and not draft.replaced.everything:  # an earlier check has ensured that the rebuild names every topic
        return commit(_over(draft))
    try:
        return commit(draft)
    except TableError as error:
        if not any(problem.code == _OTHER_TYPE for problem in error.problems):
            raise
        over = _started_over(draft, failures, error)
        if over is None:
            raise _with_way_out(error, draft) from None
    say("every topic of the table is read again: it starts over, with the columns of this run")
    return commit(over)


def _started_over(draft: Draft, failures: Collection[str], error: TableError) -> Draft | None:
    """Returns a commit that replaces all rows and columns of the table. Returns None if the run may not do this.

    A rebuild of single topics keeps the columns, because the rows of the other topics stay. If the rebuild names every
    topic that has rows, no rows stay, so it is treated as a rebuild of the whole table.

    Args:
        draft: The commit.
        failures: Topics of the run that cannot be read. Their rows would be lost, because no run could read them again.
        error: The error that states why the columns do not fit.
    """
    own = draft.replaced.topics
    if not own or failures or not all(problem.code == _OTHER_TYPE for problem in error.problems):
        return None
    if others(draft.before, own):
        return None
    return _over(draft)


def _over(draft: Draft) -> Draft:
    return replace(draft, replaced=Replaced(everything=True))


def _with_way_out(error: TableError, draft: Draft) -> TableError:
    """Returns ``error`` with hints that name the remedies for this run."""
    hint = _hint(draft)
    return TableError(replace(p, hint=hint) if "rebuild" in p.hint else p for p in error.problems)


def _hint(draft: Draft) -> str:
    spec = draft.spec
    rest = others(draft.before, draft.replaced.topics or spec.window.topics)
    if spec.window.since is not None or spec.window.until is not None:
        return f"{_IN_THE_CHAIN}; or remove the table and run all times again: a window of time keeps the columns"
    if not spec.window.topics and not spec.rebuild:
        return f"{_IN_THE_CHAIN}; or launch once with window.rebuild: true, which starts the table over"
    if rest:
        topics = ", ".join(rest[:5]) + (f" and {len(rest) - 5} more" if len(rest) > 5 else "")
        what = "name them too, or launch all partitions in one run"
        return f"{_IN_THE_CHAIN}; or launch with window.rebuild: true for every topic of the table: {topics} {what}"
    return f"{_IN_THE_CHAIN}; or launch the same with window.rebuild: true, which starts the table over"
