"""Checks whether a run may continue from the state of a table, and stores the progress."""

import secrets
from collections.abc import Collection
from dataclasses import replace

from dagster_smt.errors import Problem, SmtError, TableError
from dagster_smt.model.topics.state import CommittedRun, TableState
from dagster_smt.run.commits import commit_state
from dagster_smt.run.rows_of_connectors import check_not_given_back
from dagster_smt.run.run_spec import Progress, RunSpec
from dagster_smt.run.spark_failures import after_commit
from dagster_smt.run.unmasked import run_of
from dagster_smt.tables.sink_options import TableSink
from dagster_smt.tables.sinks.protocol import Table
from dagster_smt.tables.sources import Source


def state_to_resume(spec: RunSpec, table: Table, say: Progress) -> TableState | None:
    """Returns the state of ``table``, if this run may continue from it. Returns None for a new table. A rebuild of all
    topics also gets None if the state is missing, or cannot be read.

    Raises:
        TableError: SMT522, SMT554, SMT555: the state cannot be determined; SMT523: the table has rows but no state;
            SMT524: another asset writes the table; SMT525: the table holds a different kind of rows; SMT786: the table
            has been given back to a connector.
    """
    # a rebuild of only some topics needs the state of the other topics, so it fails if the state is unreadable
    fresh = spec.rebuild and not spec.window.topics
    try:
        state = table.state(settle=spec.settle)
    except TableError:
        if not fresh:
            raise
        say("the state of the table cannot be read: it starts over without it")
        return None
    if state is not None:
        check_not_given_back(spec.sink.place, state)
    if state is None:
        if not fresh and table.schema() is not None and table.holds_rows():
            raise TableError(unknown_rows(spec.sink.place))
    # a rebuild that names each topic with rows replaces all rows, so it may also change their kind
    elif state.kind != spec.sink.holds and not fresh and not (spec.rebuild and not others(state, spec.window.topics)):
        statement = f"the table holds {state.kind}, the run would write {spec.sink.holds}"
        hint = "use another place, or launch with window.rebuild: true"
        raise TableError(Problem("SMT525", spec.sink.place, statement, hint))
    elif not fresh:
        check_owner(spec, state)
    return state


def others(state: TableState | None, topics: Collection[str]) -> list[str]:
    """Returns the topics whose rows stay when a run rebuilds ``topics``."""
    if state is None:
        return []
    held = set()
    for offsets in (state.held, state.former):
        for topic, _ in offsets.parts:
            held.add(topic)
    return sorted(held - {*topics})


def check_owner(spec: RunSpec, state: TableState) -> None:
    """Raises an error (SMT524) if the last commit to the table came from an asset with a different name. Two assets
    could write rows of different chains into the table. With ``take_over``, the function raises no error, and the run
    continues the table.
    """
    owner = state.report.get("name")
    if owner and owner != spec.name and not spec.take_over:
        hint = "choose another place for the sink; or, if the asset has a new name, launch once with window.take_over"
        raise TableError(Problem("SMT524", spec.sink.place, f"the table is written by {owner}", hint))


def unknown_rows(place: str) -> Problem:
    """Returns the problem of the table ``place``, which has rows but no state."""
    statement = (
        "another writer made the table; or the commit with the offsets of its rows is gone, for example because "
        "another tool has cleaned up its log"
    )
    hint = "choose another place, or launch with window.rebuild: true to replace the rows"
    return Problem("SMT523", place, statement, hint)


def mirror(spec: RunSpec, source: Source, state: TableState, say: Progress) -> None:
    """Writes the offsets in ``state`` to the consumer group that the topic table of ``spec`` names, if any. A failure
    does not undo the commit.
    """
    group = spec.table.group
    if not group:
        return
    try:
        source.mirror(group, state.ends_by_partition())
    except Exception as error:  # noqa: BLE001 - the run is committed
        if isinstance(error, SmtError):
            problem = error.problems[0]
        else:
            problem = after_commit(spec.sink.place, error)
        say(f"the consumer group {group} does not show it: {problem}")


def keep(spec: RunSpec, table: Table, state: TableState, say: Progress) -> None:
    """Stores the unchanged state of ``table`` again, after a run that found no new records. A Kafka sink needs this,
    because its state is in the committed offsets of a consumer group. Brokers delete such offsets after some time.

    If the run config accepts records that a mask failed to change (``accept_unmasked``), the acceptance is stored with
    its reason.
    """
    reason = spec.window.accept_unmasked
    if not reason or not state.unmasked:
        table.keep(state)
        return
    accepted = state.accept(run_of(spec), reason)
    if isinstance(spec.sink, TableSink):
        # a table has its state only in commits, so the acceptance needs a commit without rows
        number = table.next_number(state)
        committed = CommittedRun(spec.key, spec.request, number, state.window.id)
        accepted = replace(accepted, number=number, attempt=secrets.token_hex(8)).with_run(committed)
        commit_state(table, accepted, state)
    else:
        table.keep(accepted)
    say("accepted: the records that masks, drops and renames left unchanged are no longer on record")
