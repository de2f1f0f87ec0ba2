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
"""The prefix of table properties that contain a state. The full name ends with the state's marker:
``dagster_smt.state.17.5f3a``. The value is compressed.
"""
NEWEST = "dagster_smt.newest"
"""The table property that contains two strings: the id of the newest snapshot with a marker, and this marker. An
example is ``4711 17.5f3a``.
"""
COLUMNS = "dagster_smt.columns"
"""The table property for column metadata that Iceberg cannot store elsewhere, as compressed JSON."""
MOST_STATES = 5
"""The number of old states that stay in the table's properties, so that the table can be rolled back. Each removal of
states takes time. So a run waits until there are more than 10 states, and then removes all but the newest 5.
"""
NO_SNAPSHOT = "none"
HEAD = "current-snapshot-id"
# the name of a run's branch contains the time of its creation in seconds: smt_1767225600_9c1f5e
BRANCH = re.compile(r"smt_(\d+)_\w+")
_NO_TABLE = re.compile(r"TABLE_OR_VIEW_NOT_FOUND|SCHEMA_NOT_FOUND|NoSuchTableException|NoSuchNamespaceException")
_NO_CLASS = re.compile(r"Cannot find catalog plugin class|ClassNotFoundException: org\.apache\.iceberg")


class IcebergStates:
    """The part of ``IcebergTable`` that reads states and snapshots."""

    def __init__(self, session: SparkSession, spec: IcebergSink):
        self.session, self.spec, self.seen = session, spec, False
        self.catalog, self.name = sql.located(session, spec)
        procedure_argument(session, self.name)  # rejects an unsuitable name before anything is written

    def read(self) -> DataFrame:
        """Returns all rows of the table that have been committed."""
        self._properties()
        return self.session.table(self.name)

    def schema(self) -> StructType | None:
        """Returns the table's columns with their metadata. Returns None if the table does not exist."""
        properties = self._properties()
        if properties is None:
            return None
        return self._schema(properties)

    def holds_rows(self) -> bool:
        """Returns True if the table has at least one row."""
        return self._properties() is not None and bool(self.session.table(self.name).limit(1).count())

    def state(self, *, settle: bool = False) -> TableState | None:
        """Returns the state: the offsets, counts and failed records that the last run has stored with its rows. Returns
        None if there is no table, or if no run has committed. See ``Table``.

        Args:
            settle: True to accept that another writer has replaced all rows. By default, this is an error.
        """
        properties = self._properties()
        if properties is None:
            return None
        return self._state(properties, settle=settle)

    def next_number(self, before: TableState | None) -> int:
        """Returns the number of the next state: 8 if the state ``before`` has the number 7. See ``Table``.

        Two runs that begin at the same time use the same number. The markers of their states, such as ``17.5f3a``,
        differ in the second part (``5f3a``), the id of the attempt.
        """
        if before is not None:
            return before.number + 1
        states = []
        for k in self._properties() or ():
            if k.startswith(STATE):
                states.append(k.removeprefix(STATE))
        return max(map(number_of, states), default=0) + 1

    def foreign(self) -> list[ForeignCommit]:
        """Returns the latest commits of other writers that may have changed rows, the newest commit first. Expired
        snapshots are not included.
        """
        properties = self._properties()
        if properties is None:
            return []
        return foreign_of(properties[HEAD], self._all_snapshots())[:MOST_FOREIGN]

    def _properties(self) -> dict[str, str] | None:
        """Returns the properties of the table; None if there is no table. The property ``current-snapshot-id`` is the
        id of the current snapshot of ``main``.
        """
        try:
            if not self.seen and not self.session.catalog.tableExists(self.name):  # SQL would log an error
                return None
            rows = self.session.sql(f"SHOW TBLPROPERTIES {self.name}").collect()
        except Exception as error:  # raised by PySpark or by Py4J, depending on the session
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
        """Returns the current state in ``properties``, the properties of the table. Returns None if no run has
        committed.

        If the property ``NEWEST`` names the current snapshot, the marker in this property determines the state.
        Otherwise the method searches the snapshots, from the current one backwards, for the newest marker.

        Args:
            properties: The table's properties.
            settle: True to accept that another writer has replaced all rows. By default, this is an error.
        """
        head, _, mark = properties.get(NEWEST, "").partition(" ")
        if head == properties[HEAD]:
            return self._marked(properties, mark)
        mark, passed = self._newest(properties)[1:]
        state = self._marked(properties, mark)
        if state is not None and not settle:
            self._refuse_replaced(state, passed)
        return state

    def _refuse_replaced(self, state: TableState, passed: Sequence[Snapshot]) -> None:
        """Raises an error if another writer has replaced or removed all rows since the commit of ``state``. ``passed``
        lists the snapshots that other writers have added since then.

        Raises:
            TableError: SMT554.
        """
        for snapshot in passed:
            if snapshot.replaces or (snapshot.may_replace and self._lacks_window(state)):
                raise replaced_by_others(self.spec.place, snapshot.foreign)

    def _lacks_window(self, state: TableState) -> bool:
        """Returns True if all rows that the commit of ``state`` added have disappeared from the table. Returns False if
        the commit added no rows, or if this cannot be checked.
        """
        columns = self.spec.coordinates
        if columns is None or not state.window.ranges or not state.report.get("records_out"):
            return False
        added = replaced_rows(Replaced(offsets=offsets_of(state.window)), columns)
        return self.session.table(self.name).where(added).isEmpty()

    def _marked(self, properties: dict[str, str], mark: str) -> TableState | None:
        """Returns the state in ``properties`` that belongs to the marker ``mark``. Returns None if the marker is
        empty.
        """
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
        """Searches for the newest snapshot of this package. The search begins at the current snapshot, and goes to its
        parent, to the parent's parent, and so on.

        The result has three items: the id of the snapshot, its marker, and the later snapshots of other writers. The id
        and the marker are empty if there is no such snapshot, for example because another writer has rolled the table
        back.

        The search may reach a snapshot that has expired, so that its parent is unknown. Then the method reads the
        parent from older metadata files. The older files are not needed if the property ``NEWEST`` names the expired
        snapshot, because the property also contains the marker of this snapshot. If the older files do not contain the
        parent, the method checks whether ``NEWEST`` names the table's first commit (``-``). The result is then the
        content of ``NEWEST``.

        Args:
            properties: The table's properties.

        Raises:
            TableError: SMT522, it is unknown whether a run that died has committed; SMT555, the parent of an expired
                snapshot is unknown.
        """
        known = self._all_snapshots()
        anchor, _, anchored = properties.get(NEWEST, "").partition(" ")
        # the property names a snapshot of another writer, which follows a run's snapshot: see ``anchor``
        if anchor in known and not known[anchor].mark:
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
            # the items of ``known`` win, because one of them may have the marker from the property, which no file
            # contains
            known = {**older, **known}
        self._refuse_undecided(known, [s.id for s in way.passed], properties, number_of(mark))
        # the property names the snapshot of the table's first commit, which precedes all others
        if snapshot in ("-", way.expired):
            return snapshot, mark, way.passed
        raise restored_too_far(self.spec.place, f"a snapshot before {way.expired}, or was changed often since")

    def _refuse_undecided(
        self, known: Mapping[str, Snapshot], passed: list[str], properties: dict[str, str], newest: int
    ) -> None:
        """Raises an error if a run died while it committed, and nothing shows whether its commit has succeeded.

        A run commits when ``fast_forward`` moves ``main`` to the run's branch. If the run died around this moment,
        snapshots show whether ``main`` has moved. If these snapshots have expired, nothing shows it any more.

        Args:
            known: The snapshots that are still known, by id.
            passed: The ids of the latest snapshots of ``main``, which other writers have added.
            properties: The table's properties.
            newest: The number of the newest state that is known to be committed.

        Raises:
            TableError: SMT522.
        """
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
            # ``main`` still contains the snapshot at which the run began, so the run has not committed, but it may be
            # about to commit
            if at in passed:
                continue
            if (
                number_of(mark) > newest and STATE + mark in properties
            ):  # the state is stored before the step that publishes the commit
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
    """Returns the number in the marker ``mark``, such as 17 for ``17.5f3a``. Returns 0 for an empty marker."""
    match = re.match(r"\d+", mark)
    if match:
        return int(match[0])
    return 0
