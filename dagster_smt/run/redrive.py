"""Determines the window of a redrive, which contains exactly the failed records."""

from dataclasses import replace

from dagster_smt.errors import ConfigError, Problem, UnsupportedError
from dagster_smt.model.topics.state import TableState
from dagster_smt.model.windows.offsets import OffsetSet, offsets_of, topics_in
from dagster_smt.model.windows.window import Range, Window, topics_of
from dagster_smt.run.run_spec import RunSpec
from dagster_smt.tables.windows import Available


def redriven(spec: RunSpec, available: Available, state: TableState | None) -> tuple[RunSpec, list[Problem]]:
    """Returns a run of ``spec`` that reads exactly the failed records in ``state``, the table's state.

    Returns:
        The run, and the problems of failed records that the topic no longer contains (SMT519). The run keeps the string
        that identifies the request, so a retry is still recognized.

    Raises:
        ConfigError: SMT513, the run config also sets a fixed window, ``max_records``, micro-batches or a rebuild.
        UnsupportedError: SMT578, the sink does not remember which records have failed.
    """
    _check(spec)
    known = state.failed & state.held if state is not None else OffsetSet()
    again, lost = run_of_offsets(spec, known, available)
    return again, list(map(_lost, lost.ranges()))


def run_of_offsets(spec: RunSpec, offsets: OffsetSet, available: Available) -> tuple[RunSpec, OffsetSet]:
    """Returns two items. The first is a copy of the run ``spec`` that reads exactly the offsets of ``offsets`` that are
    in ``available``. The second contains the other offsets of ``offsets``, whose records the topics have lost. Neither
    item contains offsets of topics that are not in ``available``.
    """
    topics = topics_of(available.ranges)
    own = offsets.without(topics_in(offsets.parts) - topics)
    present = offsets_of(available.ranges)
    # Offsets before the window that the table has not read are not a gap, because the next ordinary run reads them.
    request = replace(spec.window, explicit=Window(tuple((own & present).ranges())), accept_gap=False)
    return replace(spec, window=request, asked=spec.request), own - present


def _check(spec: RunSpec) -> None:
    if spec.window.fixed or spec.rebuild or spec.window.max_records is not None:
        hint = "leave the range, max_records, micro_batch and rebuild out"
        raise ConfigError(
            Problem(
                "SMT513",
                "window.redrive",
                "a redrive reads exactly the failed records, so it takes no other window",
                hint,
            )
        )
    if not spec.sink.replaceable:
        hint = "redrive into a table, or publish the records of the letters to their topic again"
        statement = "the sink does not remember which records failed, so they cannot be run again"
        raise UnsupportedError(Problem("SMT578", spec.sink.place, statement, hint))


def _lost(lost: Range) -> Problem:
    statement = f"failed records from offset {lost.start} to {lost.end} are no longer in the topic"
    hint = "their letters hold them: publish those to the topic again"
    return Problem("SMT519", f"{lost.topic}-{lost.partition}", statement, hint)
