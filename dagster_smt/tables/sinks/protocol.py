"""What a run needs of a sink. One module beside this one per sink; ``open_table`` chooses."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from dagster_smt.errors import Problem, TableError
from dagster_smt.model.offsets import OffsetSet
from dagster_smt.model.table_state import TableState


@dataclass(frozen=True, slots=True)
class Replaced:
    """Which rows a commit replaces. Nothing by default: it appends.

    Attributes:
        everything: All rows, and the columns too.
        topics: All rows of these topics.
        offsets: The rows of these offsets.
    """

    everything: bool = False
    topics: tuple[str, ...] = ()
    offsets: OffsetSet = field(default_factory=OffsetSet)

    def __bool__(self) -> bool:
        return self.everything or bool(self.topics) or bool(self.offsets)


@dataclass(frozen=True, slots=True)
class Written:
    """What the table format says of a commit: rows and files added, their size in bytes."""

    rows: int
    files: int
    bytes: int


def same_state(one: TableState | None, other: TableState | None) -> bool:
    """Whether two states are of the same commit, or there is none twice."""
    if one is None or other is None:
        return one is other
    return (one.number, one.attempt) == (other.number, other.attempt)


def check_expected(
    now: Callable[[], TableState | None], expected: TableState | None, replaced: Replaced, place: str
) -> None:
    """Refuse if somebody has committed since the run began. What starts over may find a state that nobody can read.

    Raises:
        TableError: SMT528; SMT522, the state cannot be read.
    """
    try:
        found = now()
    except TableError:
        if replaced.everything and expected is None:
            return
        raise
    if not same_state(found, expected):
        raise taken(place)


def taken(place: str) -> TableError:
    """Another run was first."""
    statement = "another run committed to this table meanwhile; nothing of this one was written"
    return TableError(Problem("SMT528", place, statement, "run again: it takes what is new then"))


class Table(Protocol):
    """A sink, opened with a session. The table need not exist yet."""

    def state(self) -> TableState | None:
        """What the latest commit of ours says; None if there is none.

        Raises:
            TableError: SMT522, the state cannot be read.
        """
        ...

    def schema(self) -> StructType | None:
        """The table's columns with comments and metadata; None if there is no table."""
        ...

    def numbered(self) -> int:
        """A number that no commit of ours has gone beyond: one that knows of no state goes on from it."""
        ...

    def holds_rows(self) -> bool:
        """Whether the table has any row: asked of one that has no state of ours."""
        ...

    def refused(self, schema: StructType) -> list[Problem]:
        """Names and types that this table format cannot hold, with the remedy."""
        ...

    def commit(self, frame: DataFrame, state: TableState, replaced: Replaced, expected: TableState | None) -> Written:
        """Write rows and state as one atomic commit; make the table or its new columns where they are missing.

        Args:
            frame: The rows: all of the table's columns, and perhaps new ones. Possibly none at all. Where rows are
                replaced, they lie in what is replaced: Delta checks it.
            state: The state to keep with them.
            replaced: The rows that go.
            expected: The state that the run began with.

        Raises:
            TableError: SMT528, another writer committed meanwhile; nothing was written.
        """
        ...

    def keep(self, state: TableState) -> None:
        """Nothing is new: see to it that the state is not forgotten where it is kept for a while only.

        Args:
            state: The state that the run found.

        Raises:
            TableError: SMT528, another writer committed meanwhile.
        """
        ...

    def append(self, frame: DataFrame) -> None:
        """Append rows without a state: for tables that many runs add to, such as that of dead letters."""
        ...

    def read(self) -> DataFrame:
        """The committed rows."""
        ...
