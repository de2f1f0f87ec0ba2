"""Handles masks, drops and renames that touched no record. This module notes the unmasked records in the state of the
table, and determines the run that repairs these records.
"""

from collections.abc import Iterator
from dataclasses import replace

from dagster_smt.chain.relied_on import fingerprints, less_hidden
from dagster_smt.errors import ConfigError, Problem, UnsupportedError
from dagster_smt.model.reports.run_report import LedgerEntry, RunReport, silent_lines, stage_counts
from dagster_smt.model.reports.unmasked import Unmasked, offsets_on_record, remembered
from dagster_smt.model.topics.state import TableState
from dagster_smt.model.windows.offsets import OffsetSet, offsets_of
from dagster_smt.model.windows.window import Range, Window
from dagster_smt.run.redrive import run_of_offsets
from dagster_smt.run.run_spec import RunSpec
from dagster_smt.tables.windows import Available


def unmasked_after(before: TableState, spec: RunSpec, report: RunReport, window: Window) -> TableState:
    """Returns the state of a table after a run: the state ``before``, with the offsets of the run's unmasked records
    added.

    Args:
        before: The state before the run, without the topics that the run reads again from the beginning.
        spec: The run.
        report: The report of the run.
        window: The window of the run.
    """
    if spec.window.accept_unmasked:
        state = before.accept(run_of(spec), spec.window.accept_unmasked)
    else:
        state = before
    marks, touched = fingerprints(spec.chain), touched_in(spec, report)
    entries = [*_silent(spec, report, window, marks), *_left_out(spec, report, window)]
    return replace(state, unmasked=remembered(state.unmasked, offsets_of(window), touched, entries))


def touched_in(spec: RunSpec, report: RunReport) -> set[str]:
    """Returns the fingerprints of the masks, drops and other changes that touched records in the run of ``report``. A
    fingerprint is a hash of a ledger entry, such as "the stage ``hide`` masks ``email``".
    """
    marks = fingerprints(spec.chain)
    results = set()
    # the ledger may have more lines than marks: the lines of foreign stages come last, and are not in the plan
    for mark, line in zip(marks, report.ledger, strict=False):
        if line.records:
            results.add(mark)
    return results


def run_of(spec: RunSpec) -> str:
    """Returns the id of the orchestrator's run, which is a part of ``spec.key``."""
    return spec.key.partition("/")[0]


def _silent(spec: RunSpec, report: RunReport, window: Window, marks: tuple[str, ...]) -> Iterator[Unmasked]:
    """Yields an entry for each mask, drop or rename that touched no record, neither in ``window`` nor in earlier
    batches of the run. The entry contains the window's offsets in each topic whose records reached the mask, drop or
    rename.
    """
    numbers = {}
    for number, line in enumerate(report.ledger):
        numbers[line.entry] = number
    names = [(stage.alias, stage.transform) for stage in report.stages]
    for line in silent_lines(report.ledger, report.stages):
        entry = line.entry
        if marks[numbers[entry]] in spec.touched:
            continue
        topics = []
        for t, c in report.topics.items():
            if stage_counts(names, c)[entry.stage].seen:
                topics.append(t)
        yield _on_record(entry, marks[numbers[entry]], spec, window, topics)


def _left_out(spec: RunSpec, report: RunReport, window: Window) -> Iterator[Unmasked]:
    """Yields an entry for each mask or drop that is in the chain of the definition (``spec.defined``), but not in the
    chain of this run (``spec.chain``).
    """
    topics = []
    for topic, counts in report.topics.items():
        if counts.rows_out:
            topics.append(topic)
    if spec.defined is None or not topics:
        return
    for entry in less_hidden(spec.chain, spec.defined):
        yield replace(_on_record(entry, "", spec, window, topics), left_out=True)


def _on_record(entry: LedgerEntry, mark: str, spec: RunSpec, window: Window, topics: list[str]) -> Unmasked:
    offsets = offsets_of(r for r in window.ranges if r.topic in topics)
    runs = (run_of(spec),) if spec.key else ()
    return Unmasked(mark, entry.alias, entry.action, entry.side, entry.path, runs=runs, offsets=offsets)


def repaired(spec: RunSpec, available: Available, state: TableState | None) -> tuple[RunSpec, list[Problem]]:
    """Returns a run of ``spec`` that reads the unmasked records in ``state`` again and replaces their rows.

    Returns:
        The run, and the problems of unmasked records that the topic no longer contains (SMT353). The run keeps the
        string that identifies the request, so a retry is still recognized.

    Raises:
        ConfigError: SMT354, the run config also sets a fixed window, ``max_records``, micro-batches, a redrive or a
            rebuild.
        UnsupportedError: SMT352, the sink writes to topics, and records in topics cannot be replaced.
    """
    _check(spec)
    if state is not None:
        known = offsets_on_record(state.unmasked) & state.held
    else:
        known = OffsetSet()
    again, lost = run_of_offsets(spec, known, available)
    return again, list(map(_lost, lost.ranges()))


def _check(spec: RunSpec) -> None:
    if spec.window.fixed or spec.window.redrive or spec.rebuild or spec.window.max_records is not None:
        out = "leave the range, max_records, micro_batch, redrive and rebuild out"
        raise ConfigError(
            Problem(
                "SMT354",
                "window.repair",
                "a repair reads exactly the unmasked records, so it takes no other window",
                out,
            )
        )
    if not spec.sink.replaceable:
        hint = "write the records again under another group, into other topics, and delete these (docs: repair)"
        statement = "records in a topic cannot be replaced"
        raise UnsupportedError(Problem("SMT352", spec.sink.place, statement, hint))


def _lost(lost: Range) -> Problem:
    statement = f"offsets from {lost.start} to {lost.end} are no longer in the topic: their rows stay as they are"
    hint = "delete or change those rows yourself, then launch with window.accept_unmasked and a reason"
    return Problem("SMT353", f"{lost.topic}-{lost.partition}", statement, hint)
