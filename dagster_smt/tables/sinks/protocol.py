"""Defines the protocol between a run and a sink. Each kind of sink has its own module, and ``open_table`` chooses the
module.
"""

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
    """The rows that a commit replaces. By default, the commit replaces no rows, and only appends.

    Attributes:
        everything: True to replace all rows and also the columns.
        topics: The commit replaces all rows whose records come from these topics.
        offsets: The commit replaces the rows of the records at these offsets, such as ``orders-0 [10, 20)``.
    """

    everything: bool = False
    topics: tuple[str, ...] = ()
    offsets: OffsetSet = field(default_factory=OffsetSet)

    def __bool__(self) -> bool:
        return self.everything or bool(self.topics) or bool(self.offsets)


@dataclass(frozen=True, slots=True)
class NewCommit:
    """The numbers that a table format reports about a commit: added rows, added files, and the bytes in these files.
    The number of rows is None if unknown.
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
        version: The version as text, such as ``version 7`` or ``snapshot 4711``.
        operation: The operation, in the table format's words: ``DELETE``, ``overwrite``, ….
        millis: The time of the commit, in milliseconds.
    """

    version: str
    operation: str
    millis: int

    @property
    def text(self) -> str:
        """Returns the commit as text, such as ``version 7 (DELETE, 2026-01-31T12:00:00Z)``."""
        moment = datetime.fromtimestamp(self.millis / 1000, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        return f"{self.version} ({self.operation}, {moment})"


def same_state(one: TableState | None, other: TableState | None) -> bool:
    """Returns True if ``one`` and ``other`` belong to the same commit, or if both are None."""
    if one is None or other is None:
        return one is other
    # two runs that begin with the same state use the same number, so only the id of the attempt tells their commits
    # apart
    return (one.number, one.attempt) == (other.number, other.attempt)


def check_expected(
    now: Callable[[], TableState | None], expected: TableState | None, replaced: Replaced, place: str
) -> None:
    """Raises an error if another run has committed to the table since this run began.

    Args:
        now: Returns the current state of the table.
        expected: The state that this run began with. The current state must be the same.
        replaced: The rows that this run replaces. If the run replaces all rows and began without a state, the current
            state may be unreadable.
        place: The name of the table in messages.

    Raises:
        TableError: SMT528, another run has committed; SMT522, the state cannot be read.
    """
    try:
        state = now()
    except TableError:
        # a damaged state (SMT522) is repaired by a rebuild, so it must not stop the rebuild's own commit
        if replaced.everything and expected is None:
            return
        raise
    if not same_state(state, expected):
        raise other_run_committed(place)


def other_run_committed(place: str) -> TableError:
    """Returns the error for a commit to ``place`` that failed because another run committed first."""
    statement = "another run committed to this table first; no row of this run was written"
    return TableError(Problem("SMT528", place, statement, "run again: the next run reads the new records"))


def append_only(place: str) -> TableError:
    """Returns the error for a run that would replace or change rows, although the table ``place`` accepts only new
    rows.
    """
    statement = "the table accepts only new rows (delta.appendOnly), and this run changes rows; no row was written"
    hint = "remove the property: ALTER TABLE ... UNSET TBLPROPERTIES ('delta.appendOnly'), or write to another table"
    return TableError(Problem("SMT707", place, statement, hint))


def always_changed(place: str, tries: int) -> TableError:
    """Returns the error for a commit that failed in all ``tries`` attempts, because another writer's commit came first
    each time.
    """
    statement = f"others changed the table {tries} times while this run was about to commit; no row was written"
    return TableError(Problem("SMT557", place, statement, "run again when compaction or other changes have paused"))


def replaced_by_others(place: str, commit: ForeignCommit) -> TableError:
    """Returns the error for the table ``place`` if another writer has replaced or removed all its rows. ``commit`` is
    the commit of that writer. The offsets and counts that the last run stored no longer describe the rows.
    """
    statement = f"another writer has replaced all rows since our last commit: {commit.text}"
    hint = (
        "restore the table to an earlier version; or launch once with window.settle: true to keep the current rows and "
        "continue after the last committed window; or start over with window.rebuild: true"
    )
    return TableError(Problem("SMT554", place, statement, hint))


def restored_too_far(place: str, what: str) -> TableError:
    """Returns the error for the table ``place`` after somebody has restored the table to a commit that the table's
    history no longer contains. ``what`` describes this commit, such as ``version 5``.
    """
    statement = f"the table was restored to {what}, and nothing shows the offsets of its rows"
    hint = "restore it to a version that its history still has, or start it over with window.rebuild: true"
    return TableError(Problem("SMT555", place, statement, hint))


def rows_changed_by_others(place: str, commits: Sequence[ForeignCommit]) -> TableError:
    """Returns the error for a run whose changes are based on outdated rows of the table ``place``. After the run read
    the rows, another writer changed them in ``commits``.
    """
    texts = ", ".join(commit.text for commit in commits[:3])
    statement = f"another writer changed rows while this run computed its changes: {texts}; no row was written"
    return TableError(Problem("SMT708", place, statement, "run again: the next run computes the changes anew"))


def changed_at_the_same_moment(place: str, commits: Sequence[ForeignCommit]) -> TableError:
    """Returns the error for a run that committed to the table ``place`` at the same moment as another writer.
    ``commits`` are the changes of the other writer. The run's own changes do not take them into account.
    """
    texts = ", ".join(commit.text for commit in commits[:3])
    statement = f"another writer changed rows in the moment of this run's commit: {texts}"
    hint = "run the window of this run again as a fixed range, so that its keys follow their topics"
    return TableError(Problem("SMT708", place, statement, hint))


def repeated_keys(place: str) -> TableError:
    """Returns the error for the table ``place`` if several rows have the same key. A run cannot update the row of such
    a key, because it cannot know which row is meant.
    """
    statement = "a key of this window has more than one row, because another writer added rows; no row was written"
    hint = "leave one row of each key in the table; or start the table over with window.rebuild: true"
    return TableError(Problem("SMT709", place, statement, hint))


class Table(Protocol):
    """A sink, such as a table, that has been opened with a Spark session. The table need not exist yet."""

    def state(self, *, settle: bool = False) -> TableState | None:
        """Returns the state that describes the table's current rows: offsets, counts and failed records. None if no run
        has committed.

        Usually, our latest commit contains this state. If somebody has restored the table or rolled it back, an earlier
        commit contains the state.

        Args:
            settle: True to accept that another writer has replaced all rows. The state before this replacement then
                stays valid.

        Raises:
            TableError: SMT522: the state cannot be read; SMT554: another writer has replaced all rows; SMT555: the
                table was restored to a version that the history no longer has.
        """
        ...

    def schema(self) -> StructType | None:
        """Returns the table's columns with their comments and metadata; None if the table does not exist."""
        ...

    def next_number(self, before: TableState | None) -> int:
        """Returns the number of the next commit: 8 if ``before``, the current state, has the number 7.

        Two runs that begin with the same state use the same number. Commits of other writers do not change the number.
        If somebody restores an older version of a table, the numbers of the removed commits could occur a second time.
        A Delta table skips these numbers. In other sinks, the id of the attempt distinguishes two commits with the same
        number.
        """
        ...

    def foreign(self) -> list[ForeignCommit]:
        """Returns the latest commits of other writers that may have changed rows, the newest commit first.

        The list has at most ``MOST_FOREIGN`` commits.
        """
        ...

    def holds_rows(self) -> bool:
        """Returns True if the table has at least one row. Runs call this method only if the table has no state of this
        package.
        """
        ...

    def refused(self, schema: StructType) -> list[Problem]:
        """Returns a problem for each name and type in ``schema`` that the table format cannot hold. Each problem
        includes a remedy.
        """
        ...

    def commit(self, frame: DataFrame, state: TableState, replaced: Replaced, expected: TableState | None) -> NewCommit:
        """Writes rows and state in one atomic commit. The commit also creates the table, or adds new columns.

        Args:
            frame: The rows to write, possibly none. They have all of the table's columns, and perhaps new columns. If
                the commit replaces the rows of some offsets or topics, all rows to write must belong to these offsets
                or topics. Delta checks this.
            state: The state to store with the rows.
            replaced: The rows that the commit removes.
            expected: The state that the run began with.

        Raises:
            TableError: SMT528, another run committed first; nothing was written.
        """
        ...

    def keep(self, state: TableState) -> None:
        """Renews the state of a table after a run without new records. This is necessary if the format keeps states
        only for a limited time.

        Args:
            state: The state at the beginning of the run.

        Raises:
            TableError: SMT528, another run committed first.
        """
        ...

    def append(self, frame: DataFrame) -> None:
        """Appends ``frame``. Unlike ``commit``, the method stores no state in the table: tables to which many runs
        append, such as tables of dead letters, have no state.
        """
        ...

    def append_new(self, frame: DataFrame, key: Sequence[str]) -> None:
        """Appends those rows of ``frame`` whose ``key`` the table does not contain yet. Unlike ``commit``, the method
        stores no state in the table. For example, runs use this method to write dead letters to a table.

        Other runs may append at the same time.

        Args:
            frame: The rows. No two rows have the same key.
            key: The columns that identify a row. The first column has the same value in all rows of ``frame``.

        Raises:
            TableError: SMT557, another writer changed the table in every attempt.
        """
        ...

    def read(self) -> DataFrame:
        """Returns all rows that have been committed."""
        ...


def other_layout(place: str, differences: Sequence[str]) -> Problem:
    """Returns the warning that the layout of the table ``place`` differs from its definition."""
    statement = f"the table keeps the layout that it was made with: {'; '.join(differences)}"
    hint = "start the table over with window.rebuild: true, or change the definition"
    return Problem("SMT506", place, statement, hint)


@runtime_checkable
class LaidOutTable(Table, Protocol):
    """A sink whose table has a layout: partitions, an order of its rows, or table properties."""

    def layout_warnings(self, *, rebuild: bool) -> list[Problem]:
        """Returns warnings (SMT506) about differences between the table's layout and its definition. If there is no
        table, returns an empty list.

        Args:
            rebuild: True if the run replaces the table. The new table gets the layout of its definition, so the result
                is empty.

        Raises:
            UnsupportedError: SMT906, the table cannot get this layout.
        """
        ...


@runtime_checkable
class MergingTable(Table, Protocol):
    """A sink that supports tables with keys. In such a table, each record inserts, updates or deletes the row of its
    key.
    """

    def version(self) -> str:
        """Returns a string that identifies the current version of the table: Delta's version number, such as ``7``, or
        the id of Iceberg's snapshot. Every commit changes this string.
        """
        ...

    def merge(
        self, changes: DataFrame, merge: Merge, state: TableState, expected: TableState | None, seen: str
    ) -> NewCommit:
        """Applies changes to the rows of a table with keys, and stores the state, in one atomic commit.

        Args:
            changes: A row for each change, with the columns ``row`` (the new row), ``unchanged`` (names of columns that
                keep their values) and ``action`` (``insert``, ``update`` or ``delete``).
            merge: The rules by which the changes are applied, such as the key columns. Columns that the table lacks are
                added.
            state: The state to store with the rows.
            expected: The state that the run began with.
            seen: The version of the table from which the changes were computed; see ``version``.

        Raises:
            TableError: SMT528, another run committed first; SMT709, a key has several rows; SMT708, another writer has
                changed rows since the version ``seen``. Nothing was written, unless the other writer changed the rows
                at the same moment as this commit.
        """
        ...
