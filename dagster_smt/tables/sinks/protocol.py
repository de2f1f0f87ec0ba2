"""The protocol between a run and a sink. Each sink has a module next to this one, and ``open_table`` chooses it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Protocol, runtime_checkable

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from dagster_smt.errors import Problem, TableError
from dagster_smt.model.topics.state import TableState
from dagster_smt.model.windows.offsets import OffsetSet
from dagster_smt.tables.sinks.merge import Merge


@dataclass(frozen=True, slots=True)
class Replaced:
    """The rows that a commit replaces. By default, the commit only appends.

    Attributes:
        everything: True to replace all rows and the columns.
        topics: All rows of these topics.
        offsets: The rows of these offsets.
    """

    everything: bool = False
    topics: tuple[str, ...] = ()
    offsets: OffsetSet = field(default_factory=OffsetSet)

    def __bool__(self) -> bool:
        return self.everything or bool(self.topics) or bool(self.offsets)


@dataclass(frozen=True, slots=True)
class NewCommit:
    """The table format's information about a commit.

    It contains the number of added rows (None if unknown), the number of added files, and their bytes.
    """

    rows: int | None
    files: int
    bytes: int


MOST_FOREIGN = 20
"""The largest number of foreign commits that a message names."""


@dataclass(frozen=True, slots=True)
class ForeignCommit:
    """A commit of another writer that may have changed rows.

    Attributes:
        version: ``version 7``, ``snapshot 4711``.
        operation: The operation, in the table format's words: ``DELETE``, ``overwrite``, ….
        millis: The time of the commit, in milliseconds.
    """

    version: str
    operation: str
    millis: int

    @property
    def text(self) -> str:
        """Formats the commit: ``version 7 (DELETE, 2026-01-31T12:00:00Z)``."""
        moment = datetime.fromtimestamp(self.millis / 1000, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        return f"{self.version} ({self.operation}, {moment})"


def same_state(one: TableState | None, other: TableState | None) -> bool:
    """Returns True if two states belong to the same commit, or if both are None."""
    if one is None or other is None:
        return one is other
    return (one.number, one.attempt) == (other.number, other.attempt)


def check_expected(
    now: Callable[[], TableState | None], expected: TableState | None, replaced: Replaced, place: str
) -> None:
    """Raises an error if another run has committed since this run began.

    A run that starts over ignores an unreadable state.

    Raises:
        TableError: SMT528; SMT522, the state cannot be read.
    """
    try:
        state = now()
    except TableError:
        if replaced.everything and expected is None:
            return
        raise
    if not same_state(state, expected):
        raise other_run_committed(place)


def other_run_committed(place: str) -> TableError:
    """Returns the error of a commit that came after another run's commit."""
    statement = "another run committed to this table first; no row of this run was written"
    return TableError(Problem("SMT528", place, statement, "run again: the next run reads the new records"))


def append_only(place: str) -> TableError:
    """Returns the error of a run that replaces or changes rows of a table that accepts only new rows."""
    statement = "the table accepts only new rows (delta.appendOnly), and this run changes rows; no row was written"
    hint = "remove the property: ALTER TABLE ... UNSET TBLPROPERTIES ('delta.appendOnly'), or write to another table"
    return TableError(Problem("SMT707", place, statement, hint))


def always_changed(place: str, tries: int) -> TableError:
    """Returns the error of a commit for which another writer's commit came first in every attempt."""
    statement = f"others changed the table {tries} times while this run was about to commit; no row was written"
    return TableError(Problem("SMT557", place, statement, "run again when compaction or other changes have paused"))


def replaced_by_others(place: str, commit: ForeignCommit) -> TableError:
    """Returns the error of a foreign commit that replaced or removed all rows, which makes our last state wrong."""
    statement = f"another writer has replaced all rows since our last commit: {commit.text}"
    hint = (
        "restore the table to an earlier version; or launch once with window.settle: true to keep the current rows and "
        "continue after the last committed window; or start over with window.rebuild: true"
    )
    return TableError(Problem("SMT554", place, statement, hint))


def restored_too_far(place: str, what: str) -> TableError:
    """Returns the error of a table whose history no longer contains the commit that the table's rows come from."""
    statement = f"the table was restored to {what}, and nothing shows the offsets of its rows"
    hint = "restore it to a version that its history still has, or start it over with window.rebuild: true"
    return TableError(Problem("SMT555", place, statement, hint))


class Table(Protocol):
    """A sink, opened with a session. The table need not exist yet."""

    def state(self, *, settle: bool = False) -> TableState | None:
        """Returns the state in our commit that the table's content comes from; None without such a commit.

        This is the latest commit, unless somebody has restored the table or rolled it back.

        Args:
            settle: True to accept a foreign commit that replaced all rows. The state of the commit before it then stays
                valid.

        Raises:
            TableError: SMT522: the state cannot be read; SMT554: another writer has replaced all rows; SMT555: the
                table was restored to a version that the history no longer has.
        """
        ...

    def schema(self) -> StructType | None:
        """Returns the table's columns with comments and metadata; None if there is no table."""
        ...

    def next_number(self, before: TableState | None) -> int:
        """Returns the number of the commit after a state.

        No other commit has this number, not even one that a restore removed.

        The number depends only on our commits, so two runs that begin with the same state use the same number.
        """
        ...

    def foreign(self) -> list[ForeignCommit]:
        """Returns the latest commits of other writers that may have changed rows, the last one first.

        The list has at most ``MOST_FOREIGN`` commits.
        """
        ...

    def holds_rows(self) -> bool:
        """Returns True if the table has any row. Runs ask this only if the table has no state of ours."""
        ...

    def refused(self, schema: StructType) -> list[Problem]:
        """Returns names and types that this table format cannot hold, with the remedy."""
        ...

    def commit(self, frame: DataFrame, state: TableState, replaced: Replaced, expected: TableState | None) -> NewCommit:
        """Writes rows and state as one atomic commit, and creates the table or its new columns.

        Args:
            frame: The rows, possibly none. They have all of the table's columns, and perhaps new columns. If the commit
                replaces rows, these rows must belong to the replaced offsets or topics; Delta checks this.
            state: The state to store with the rows.
            replaced: The rows that the commit removes.
            expected: The state that the run began with.

        Raises:
            TableError: SMT528, another run committed first; nothing was written.
        """
        ...

    def keep(self, state: TableState) -> None:
        """Renews the state of a table without new records, if the format keeps states only for a limited time.

        Args:
            state: The state at the beginning of the run.

        Raises:
            TableError: SMT528, another run committed first.
        """
        ...

    def append(self, frame: DataFrame) -> None:
        """Appends rows without a state, for tables that many runs append to."""
        ...

    def append_new(self, frame: DataFrame, key: Sequence[str]) -> None:
        """Appends the rows that the table does not have yet, without a state, such as dead letters.

        Other runs may append at the same time.

        Args:
            frame: The rows; no two of them have the same key.
            key: The columns that identify a row. The first one has the same value in all of these rows.

        Raises:
            TableError: SMT557, another writer changed the table in every attempt.
        """
        ...

    def read(self) -> DataFrame:
        """Returns the committed rows."""
        ...


def other_layout(place: str, differences: Sequence[str]) -> Problem:
    """Returns the warning about a table whose layout differs from its definition."""
    statement = f"the table keeps the layout that it was made with: {'; '.join(differences)}"
    hint = "start the table over with window.rebuild: true, or change the definition"
    return Problem("SMT506", place, statement, hint)


@runtime_checkable
class LaidOutTable(Table, Protocol):
    """A sink whose table has a layout."""

    def layout_warnings(self, *, rebuild: bool) -> list[Problem]:
        """Returns the differences between the table and its definition (SMT506); none if there is no table.

        Args:
            rebuild: True if the run replaces everything, so that the table gets the layout of its definition.

        Raises:
            UnsupportedError: SMT906, the table cannot get this layout.
        """
        ...


@runtime_checkable
class MergingTable(Table, Protocol):
    """A sink that can have keys."""

    def merge(self, changes: DataFrame, merge: Merge, state: TableState, expected: TableState | None) -> NewCommit:
        """Writes the changes of a table with keys, and the state, as one atomic commit.

        Args:
            changes: A row for each change: ``row``, ``unchanged`` and ``action`` (``tables.keyed.row_actions``).
            merge: The rules that turn changes into rows. Columns that are missing in the table are added.
            state: The state to store with the rows.
            expected: The state that the run began with.

        Raises:
            TableError: SMT528, another run committed first; nothing was written.
        """
        ...
