"""Checks whether a run may read and write a table with rows that a connector wrote."""

from collections.abc import Collection

from dagster_smt.errors import Problem, TableError
from dagster_smt.model.topics.state import TableState
from dagster_smt.model.windows.offsets import offsets_of, topics_in
from dagster_smt.model.windows.window import Window


def check_not_given_back(place: str, state: TableState) -> None:
    """Raises an error if ``state`` says that the table has been given back to a connector. Otherwise, the run and the
    connector would write the same records.

    Raises:
        TableError: SMT786.
    """
    note = state.taken_over
    if note is not None and note.back:
        statement = f"the table was given back to the connector {note.connector}, which writes it now"
        hint = f"run dagster-smt takeover {note.connector} before the next run"
        raise TableError(Problem("SMT786", place, statement, hint))


def check_rows_of_connector(place: str, state: TableState | None, window: Window, topics: Collection[str] = ()) -> None:
    """Raises an error if a run would read records again that a connector has already written to the table. The run
    cannot replace the connector's rows, so they would stay next to the new rows.

    Args:
        place: The table.
        state: The state of the table.
        window: The window of the run.
        topics: The topics whose rows the run replaces.

    Raises:
        TableError: SMT787.
    """
    if state is None or state.taken_over is None:
        return
    note = state.taken_over
    again = offsets_of(window) & note.offsets
    rebuilt = sorted(topics_in(note.offsets.parts) & {*topics})
    if not again and not rebuilt:
        return
    if again:
        first = next(iter(again.ranges()))
        what = f"offsets {first.start} to {first.end} of {first.topic}-{first.partition}"
    else:
        what = f"records of {rebuilt[0]}"
    statement = f"{what} were written by the connector {note.connector}, and its rows do not name their records"
    hint = "start the window after the takeover, or launch with window.rebuild: true for the whole table"
    raise TableError(Problem("SMT787", place, statement, hint))
