"""Reads an Iceberg table: its properties, its current state, and later commits of other writers."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.session import SparkSession
from pyspark.sql.types import StructType

from dagster_smt.errors import Problem, TableError
from dagster_smt.model.topics.state import TableState, remedy
from dagster_smt.model.windows.offsets import offsets_of
from dagster_smt.tables.sink_options import IcebergSink
from dagster_smt.tables.sinks import iceberg_sql as sql
from dagster_smt.tables.sinks.iceberg_history import COLUMNS as SNAPSHOT_COLUMNS
from dagster_smt.tables.sinks.iceberg_history import Snapshot, foreign_of, older_snapshots, snapshot_of, way_back
from dagster_smt.tables.sinks.protocol import (
    MOST_FOREIGN,
    ForeignCommit,
    Replaced,
    replaced_by_others,
    restored_too_far,
)
from dagster_smt.tables.sinks.replaced_rows import procedure_argument, replaced_rows, unpacked

STATE = "dagster_smt.state."
"""Property of the table, with a mark after the dot: a state, packed."""
NEWEST = "dagster_smt.newest"
"""Property of the table: the newest snapshot with a mark, and the mark."""
COLUMNS = "dagster_smt.columns"
"""Metadata of columns that Iceberg has no place for, packed JSON."""
MOST_STATES = 5
"""States that stay, for whoever rolls the table back. Up to twice as many are there, so that few runs have to tidy."""
NO_SNAPSHOT = "none"
HEAD = "current-snapshot-id"
BRANCH = re.compile(r"smt_(\d+)_\w+")
_NO_TABLE = re.compile(r"TABLE_OR_VIEW_NOT_FOUND|SCHEMA_NOT_FOUND|NoSuchTableException|NoSuchNamespaceException")
_NO_CLASS = re.compile(r"Cannot find catalog plugin class|ClassNotFoundException: org\.apache\.iceberg")


class IcebergStates:
    """The reading half of ``IcebergTable``."""

    def __init__(self, session: SparkSession, spec: IcebergSink):
        self.session, self.spec, self.seen = session, spec, False
        self.catalog, self.name = sql.located(session, spec)
        procedure_argument(session, self.name)  # refuses a name before anything is written

    def read(self) -> DataFrame:
        """See ``Table``."""
        self._properties()
        return self.session.table(self.name)

    def schema(self) -> StructType | None:
        """See ``Table``."""
        properties = self._properties()
        if properties is None:
            return None
        return self._schema(properties)

    def holds_rows(self) -> bool:
        """See ``Table``."""
        return self._properties() is not None and bool(self.session.table(self.name).limit(1).count())

    def state(self, *, settle: bool = False) -> TableState | None:
        """See ``Table``."""
        properties = self._properties()
        if properties is None:
            return None
        return self._state(properties, settle=settle)

    def next_number(self, before: TableState | None) -> int:
        """See ``Table``: the attempt also distinguishes two states."""
        if before is not None:
            return before.number + 1
        states = []
        for k in self._properties() or ():
            if k.startswith(STATE):
                states.append(k.removeprefix(STATE))
        return max(map(number_of, states), default=0) + 1

    def foreign(self) -> list[ForeignCommit]:
        """See ``Table``: without expired snapshots."""
        properties = self._properties()
        if properties is None:
            return []
        return foreign_of(properties[HEAD], self._all_snapshots())[:MOST_FOREIGN]

    def _properties(self) -> dict[str, str] | None:
        """Returns the table's properties and the snapshot of ``main``, as they are now; None if there is no table."""
        try:
            if not self.seen and not self.session.catalog.tableExists(self.name):  # SQL would log an error
                return None
            rows = self.session.sql(f"SHOW TBLPROPERTIES {self.name}").collect()
        except Exception as error:  # of PySpark or of Py4J, as the case may be
            if _NO_TABLE.search(str(error)):
                return None
            if _NO_CLASS.search(str(error)):
                raise sql.no_iceberg(self.session, self.spec.place) from None
            raise
        properties = {r.key: r.value for r in rows}
        if not properties.get("format", "").startswith("iceberg/"):
            hint = "name another table, or use the sink of its format"
            raise TableError(Problem("SMT561", self.spec.place, "the table is not an Iceberg table", hint))
        self.seen = True
        return properties

    def _schema(self, properties: dict[str, str]) -> StructType:
        metadata = json.loads(self._unpacked(properties.get(COLUMNS)) or "{}")
        schema: StructType = sql.with_metadata(self.session.table(self.name).schema, metadata)
        return schema

    def _state(self, properties: dict[str, str], *, settle: bool = False) -> TableState | None:
        """Returns the state without a look at the snapshots, where the newest mark is at the current one."""
        head, _, mark = properties.get(NEWEST, "").partition(" ")
        if head == properties[HEAD]:
            return self._marked(properties, mark)
        mark, passed = self._newest(properties)[1:]
        state = self._marked(properties, mark)
        if state is not None and not settle:
            self._refuse_replaced(state, passed)
        return state

    def _refuse_replaced(self, state: TableState, passed: Sequence[Snapshot]) -> None:
        """Refuses a state whose rows somebody else has replaced or removed, all of them."""
        for snapshot in passed:
            if snapshot.replaces or (snapshot.may_replace and self._lacks_window(state)):
                raise replaced_by_others(self.spec.place, snapshot.foreign)

    def _lacks_window(self, state: TableState) -> bool:
        """Returns True if none of the rows is there that the last commit added."""
        columns = self.spec.coordinates
        if columns is None or not state.window.ranges or not state.report.get("records_out"):
            return False
        added = replaced_rows(Replaced(offsets=offsets_of(state.window)), columns)
        return self.session.table(self.name).where(added).isEmpty()

    def _marked(self, properties: dict[str, str], mark: str) -> TableState | None:
        """Returns the state of a mark; of none there is none."""
        if not mark:
            return None
        text = properties.get(STATE + mark)
        if text is None:
            hint = "roll the table forward again, or start it over with window.rebuild: true"
            statement = f"its property {STATE}{mark} is gone: the table keeps the last {MOST_STATES} states"
            raise TableError(Problem("SMT522", self.spec.place, statement, hint))
        state: TableState = self._decoded(lambda packed: TableState.from_text(unpacked(packed)), text)
        return state

    def _newest(self, properties: dict[str, str]) -> tuple[str, str, Sequence[Snapshot]]:
        """Returns the newest marked snapshot before the current one, its mark, and the foreign snapshots since then.

        Empty if there is none. Others may have rolled the table back. Where the way back ends at an expired snapshot,
        it is the one that the property names, or older metadata tells how it goes on, or a run's branch is there.

        Raises:
            TableError: SMT522 a run died, SMT555 nothing tells any more how the way goes on.
        """
        known = self._all_snapshots()
        anchor, _, anchored = properties.get(NEWEST, "").partition(" ")
        if anchor in known and not known[anchor].mark:  # of others, on top of the snapshot of a run: see ``anchor``
            known[anchor] = known[anchor].with_mark(anchored)
        head = None if properties[HEAD] == NO_SNAPSHOT else properties[HEAD]
        way = way_back(head, known)
        if way.marked is not None:
            return way.marked.id, way.marked.mark, way.passed
        if not way.expired:
            return "", "", way.passed
        snapshot, _, mark = properties.get(NEWEST, "").partition(" ")
        if snapshot == way.expired:
            return snapshot, mark, way.passed
        for older in older_snapshots(self.session, self.name):
            way = way_back(head, {**older, **known})
            if way.marked is not None:
                return way.marked.id, way.marked.mark, way.passed
            if not way.expired:
                return "", "", way.passed
            known = {**older, **known}
        self._refuse_undecided(known, [s.id for s in way.passed], properties, number_of(mark))
        if snapshot in ("-", way.expired):  # of the table's first commit, which is below all others
            return snapshot, mark, way.passed
        raise restored_too_far(self.spec.place, f"a snapshot before {way.expired}, or was changed often since")

    def _refuse_undecided(
        self, known: Mapping[str, Snapshot], passed: list[str], properties: dict[str, str], newest: int
    ) -> None:
        """Refuses if a run died around its ``fast_forward``, and what would tell on which side of it has expired."""
        for name, head in self._branches().items():
            if head in known and BRANCH.fullmatch(name):
                mark = known[head].mark
            else:
                mark = ""
            at: str | None = head
            if not mark:
                continue
            while at is not None and at in known and at not in passed:
                at = known[at].parent
            if at in passed:  # main is where the run began: it has not committed, perhaps is about to
                continue
            if (
                number_of(mark) > newest and STATE + mark in properties
            ):  # the state comes before the one step that counts
                died = self._marked(properties, mark)
                window = json.dumps(died.window.to_json() if died else {})
                statement = f"a run died while it committed its window {window}, and nothing shows"
                hint = f"drop the branch {name}, then run this window as a fixed range, which replaces its rows"
                raise TableError(Problem("SMT522", self.spec.place, f"{statement} whether it had", hint))

    def _all_snapshots(self) -> dict[str, Snapshot]:
        snapshots = {}
        for s in map(snapshot_of, self._snapshots(SNAPSHOT_COLUMNS)):
            snapshots[s.id] = s
        return snapshots

    def _branches(self) -> dict[str, str]:
        rows = self.session.sql(f"SELECT name, snapshot_id FROM {self.name}.refs").collect()
        return {r.name: str(r.snapshot_id) for r in rows}

    def _snapshots(self, columns: str, where: str = "true") -> list[Any]:
        return self.session.sql(f"SELECT {columns} FROM {self.name}.snapshots WHERE {where}").collect()

    def _unpacked(self, text: str | None) -> Any:
        if text:
            return self._decoded(unpacked, text)
        return None

    def _decoded(self, decode: Callable[[Any], Any], text: str | None) -> Any:
        try:
            return decode(text)
        except ValueError as error:
            statement = f"the state that it keeps: {error}"
            raise TableError(Problem("SMT522", self.spec.place, statement, remedy(error))) from None


def number_of(mark: str) -> int:
    """Returns the number in a mark; 0 without a mark."""
    match = re.match(r"\d+", mark)
    if match:
        return int(match[0])
    return 0
