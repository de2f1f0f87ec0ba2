"""Iceberg tables as sinks. The rows and the state of a run become visible in one step.

The state (offsets, counts and failed records, which the next run reads) has a marker, such as ``17.5f3a``.

Iceberg silently places an append on top of other commits, which could duplicate rows. So a run commits in these steps:

1. It writes the rows to a branch, which starts at the snapshot that the run has read. The last snapshot of the branch
   contains the marker.
2. It writes the state to a property of the table. The name of the property ends with the marker.
3. It moves ``main`` to the branch with ``fast_forward``, which fails if ``main`` has moved meanwhile.
4. It copies the marker to another property, because the snapshot with the marker may expire later. Then it drops the
   branch. Until then, the branch protects its snapshots from expiring.

If the run crashes at any point, the next run searches for the newest marker in the snapshots and in the property. If it
cannot tell whether step 3 has happened, it fails. A run never reads a wrong state.

The state itself is not in the summary of a snapshot, because Iceberg writes the summaries of all snapshots again with
each change. Runs would become slower and slower.

If another tool, such as a compaction, commits at the same time, the run writes its rows again on top of that commit. It
does so only if no other run has changed the state.
"""

import json
import logging
import re
import secrets
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from pyspark.sql import DataFrame, DataFrameWriterV2
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from dagster_smt.errors import Problem, TableError
from dagster_smt.model.topics.state import TableState
from dagster_smt.spark.sql import quoted, text
from dagster_smt.tables.layout_problems import layout_problems
from dagster_smt.tables.schemas import conformed, schema_with
from dagster_smt.tables.sinks import iceberg_layout
from dagster_smt.tables.sinks import iceberg_sql as sql
from dagster_smt.tables.sinks.iceberg_history import (
    BASE,
    MARK,
    foreign_of,
)
from dagster_smt.tables.sinks.iceberg_states import (
    BRANCH,
    COLUMNS,
    HEAD,
    MOST_STATES,
    NEWEST,
    NO_SNAPSHOT,
    STATE,
    IcebergStates,
    number_of,
)
from dagster_smt.tables.sinks.merge import REPEATED, Merge, merge_changes
from dagster_smt.tables.sinks.protocol import (
    ForeignCommit,
    NewCommit,
    Replaced,
    always_changed,
    check_expected,
    other_layout,
    other_run_committed,
    repeated_keys,
    rows_changed_by_others,
    same_state,
)
from dagster_smt.tables.sinks.replaced_rows import packed, procedure_argument, replaced_rows
from dagster_smt.visible import visible

_NEW_TABLE = {
    "format-version": "2",
    "write.metadata.delete-after-commit.enabled": "true",  # a run writes about six metadata files, each with all states
    "write.metadata.previous-versions-max": "50",
}
# a branch that is younger may belong to a run that is still writing
_STALE = 24 * 3600
_TRIES = 8
# without the first letters of commit and conflicting, which may be capitals
_RACE = re.compile(r"CommitFailed|ommit conflict|onflicting|metadata refresh is required|AlreadyExists|already exists")
logger = logging.getLogger(__name__)


class IcebergTable(IcebergStates):
    """An Iceberg table, opened as the sink of a run. The class implements the protocol ``Table``.

    A table that is identified by its path uses Iceberg's Hadoop catalog. The file system of such a table must have
    atomic renames.

    Raises:
        UnsupportedError: SMT560, the session has no Iceberg; SMT664, Spark 3.5 cannot commit to a table of this name;
            SMT665, the catalog's settings contain a secret that the event log would show.
    """

    # --- writing ---

    def refused(self, schema: StructType) -> list[Problem]:
        """Returns a problem for each name or type in ``schema`` that an Iceberg table cannot hold. Also returns a
        problem for each option of the layout that does not fit ``schema``. See ``Table``.
        """
        return [*sql.refused(schema), *layout_problems(self.spec, schema)]

    def layout_warnings(self, *, rebuild: bool) -> list[Problem]:
        """Returns a warning if the table's layout (partitions, order and properties) differs from its definition. See
        ``LaidOutTable``.

        Args:
            rebuild: True if the run replaces the table. The new table gets the layout of its definition, so the method
                returns no warning.
        """
        properties = self._properties()
        if properties is None or rebuild or not self.spec.layout:
            return []
        now = iceberg_layout.current_layout(self.session, self.name, properties)
        differences = iceberg_layout.differences(self.spec.layout, now)
        return [other_layout(self.spec.place, differences)] if differences else []

    def keep(self, state: TableState) -> None:
        """Does nothing, because a state in an Iceberg table does not expire. Other sinks write ``state`` again; see
        ``Table``.
        """

    def append(self, frame: DataFrame) -> None:
        """Appends the rows of ``frame``. Unlike ``commit``, the method does not store the offsets of a run. See
        ``Table``.
        """
        if self._creates(frame):
            return
        self._evolve(frame.schema, None)
        frame.writeTo(self.name).append()

    def _creates(self, frame: DataFrame) -> bool:
        """Creates the table if it does not exist. Returns True if the table then contains the rows of ``frame``.
        Returns False if these rows must still be written, for example because another writer has just created the
        table.
        """
        if self._properties() is not None:
            return False
        try:
            if self.spec.layout:
                self._make_empty(frame.schema)
                return False
            self._new(frame, None).create()
        except Exception:  # raised by PySpark or by Py4J, depending on the session
            if self._properties() is None:
                raise
            return False
        return True

    def append_new(self, frame: DataFrame, key: Sequence[str]) -> None:
        """Appends those rows of ``frame`` whose key the table does not contain yet. ``key`` lists the columns of the
        key. See ``Table``.

        The method compares the rows with the current snapshot, and writes the new rows to a branch. The branch starts
        at this snapshot. The method then moves ``main`` to the branch. If ``main`` has moved meanwhile, the method
        tries again.

        Raises:
            TableError: SMT521, a column of the table has a different type.
        """
        if self._creates(frame):
            return
        schema = schema_with(self.spec, self.session.table(self.name).schema, frame.schema)
        self._evolve(schema, None)
        rows, key_columns = conformed(frame, schema), StructType([schema[name] for name in key])
        for _ in range(_TRIES):
            base, new = self._head(), rows
            if base != NO_SNAPSHOT:
                # with VERSION AS OF, the columns are those of the snapshot, so new columns are missing
                there = conformed(self.session.sql(f"SELECT * FROM {self.name} VERSION AS OF {base}"), key_columns)
                same = []
                for name in map(quoted, key):
                    same.append(rows[name].eqNullSafe(there[name]))
                new = rows.join(there.hint("merge"), same, "left_anti")
            try:
                self._publish(base, None, None, lambda branch, new=new: self._to(new, branch).append())  # type: ignore[misc]
                return
            except TableError as error:
                if error.problems[0].code != "SMT528":
                    raise
        raise always_changed(self.spec.place, _TRIES)

    def commit(self, frame: DataFrame, state: TableState, replaced: Replaced, expected: TableState | None) -> NewCommit:
        """Writes the rows of ``frame`` and the state of the run in one commit. See ``Table``.

        Args:
            frame: The rows.
            state: The state to store with the rows: offsets, counts and failed records.
            replaced: The rows that the same commit removes.
            expected: The state that the run began with. If the table now has a different state, the method raises an
                error.
        """
        # a run with window.settle accepts the replacement by another writer, so the check before its commit must accept
        # it, too
        settles = expected is not None and state.settled != expected.settled
        for _ in range(_TRIES):
            properties = self._properties()
            if properties is None:
                now = None
            else:
                now = partial(self._state, properties, settle=settles)
            check_expected(now or (lambda: None), expected, replaced, self.spec.place)
            try:
                written = self._commit(properties, frame, state, replaced)
                break
            except TableError as error:
                if expected is None or error.problems[0].code != "SMT528":
                    raise
                # ``main`` has moved. If the state is still the expected one, no run of ours moved it, so the rows are
                # written again on top of ``main``.
        else:
            raise always_changed(self.spec.place, _TRIES)
        if self.spec.table:
            self.session.sql(f"REFRESH TABLE {self.spec.table}")  # the user's catalog may have cached the table
        return written

    def version(self) -> str:
        """Returns the id of the table's current snapshot, such as ``4711``. See ``MergingTable``."""
        return self._head()

    def merge(
        self, changes: DataFrame, merge: Merge, state: TableState, expected: TableState | None, seen: str
    ) -> NewCommit:
        """Applies ``changes`` to the rows of a table with keys, and stores ``state`` in the same commit. See
        ``MergingTable``.

        Args:
            changes: A row for each change. A change inserts, updates or deletes the row of its key.
            merge: The rules by which the changes are applied, such as the key columns.
            state: The state to store: offsets, counts and failed records.
            expected: The state that the run began with. If the table now has a different state, the method raises an
                error.
            seen: The version of the table from which the changes were computed.
        """
        for _ in range(_TRIES):
            properties = self._properties()
            assert properties is not None
            check_expected(partial(self._state, properties), expected, Replaced(), self.spec.place)
            if properties[HEAD] != seen and (commits := self._changes_since(properties[HEAD], seen)):
                raise rows_changed_by_others(self.spec.place, commits)
            columns = {
                **sql.column_metadata(self._schema(properties)),
                **sql.column_metadata(merge.columns),
            }
            try:
                written = self._publish(
                    properties[HEAD], state, columns, lambda branch: self._merge_into(branch, changes, merge)
                )
                break
            except TableError as error:
                if error.problems[0].code != "SMT528":
                    raise
                # ``main`` has moved. If the state is still the expected one, no run of ours moved it, so the rows are
                # written again on top of ``main``.
        else:
            raise always_changed(self.spec.place, _TRIES)
        if self.spec.table:
            self.session.sql(f"REFRESH TABLE {self.spec.table}")  # the user's catalog may have cached the table
        return written

    def _changes_since(self, head: str, seen: str) -> list[ForeignCommit]:
        """Returns the commits of other writers that may have changed rows, after the snapshot ``seen`` up to the
        snapshot ``head``.
        """
        snapshots = self._all_snapshots()
        # foreign_of ends its search at a snapshot that it does not know
        snapshots.pop(seen, None)
        return foreign_of(head, snapshots)

    def _merge_into(self, branch: "_Branch", changes: DataFrame, merge: Merge) -> None:
        self._evolve(merge.columns, branch.base)
        try:
            merge_changes(self.session, branch.of(self.name), changes, merge)
        except Exception as error:  # raised by PySpark or by Py4J, depending on the session
            if REPEATED.search(str(error)):
                raise repeated_keys(self.spec.place) from None
            raise
        # A MERGE statement has no option for the marker of the run, so an empty snapshot after it carries the marker.
        self._to(self.session.table(self.name).limit(0), branch).append()

    def _commit(
        self, properties: dict[str, str] | None, frame: DataFrame, state: TableState, replaced: Replaced
    ) -> NewCommit:
        if properties is None and not self.spec.layout:
            return self._create(frame, state)
        if properties is None:
            properties = self._laid_out(frame.schema)
        table, base = self._schema(properties), properties[HEAD]
        if replaced.everything and not sql.keeps(table, frame.schema):
            return self._make_anew(frame, state, base)
        if self.spec.layout and (replaced.everything or base == NO_SNAPSHOT):
            self._lay_out(properties, base, made_by_us=COLUMNS in properties)
        columns = sql.column_metadata(frame.schema)
        if not replaced.everything:
            columns = {**sql.column_metadata(table), **columns}
        return self._publish(base, state, columns, lambda branch: self._write(frame, branch, replaced))

    def _create(self, frame: DataFrame, state: TableState) -> NewCommit:
        """Creates the table with the rows of ``frame`` and with ``state``."""
        try:
            self._new(frame, state).create()
        except Exception:  # raised by PySpark or by Py4J, depending on the session
            if self._properties() is None:
                raise
            # Spark may report an error although the catalog has created the table; the state in the table shows which
            # run did
            if not same_state(self.state(), state):
                raise other_run_committed(self.spec.place) from None
        return self._finish(state)

    def _laid_out(self, columns: StructType) -> dict[str, str]:
        """Creates an empty table with ``columns``, and with the layout of its definition, such as its partitions.
        Returns the table's properties.

        Raises:
            TableError: SMT528, another writer has created the table first.
        """
        try:
            self._make_empty(columns)
        except Exception:  # raised by PySpark or by Py4J, depending on the session
            if self._properties() is None:
                raise
            raise other_run_committed(self.spec.place) from None
        properties = self._properties()
        # a snapshot means that another writer has already added rows to the new table
        if properties is None or properties[HEAD] != NO_SNAPSHOT:
            raise other_run_committed(self.spec.place)
        return properties

    def _make_empty(self, columns: StructType) -> None:
        layout = self.spec.layout
        own = {COLUMNS: packed(json.dumps(sql.column_metadata(columns)))}
        properties = {**_NEW_TABLE, **iceberg_layout.layout_properties(layout), **own}
        self.session.sql(iceberg_layout.create_statement(self.name, sql.column_list(columns), layout, properties))
        for change in iceberg_layout.order_changes(layout):
            self._change(f"ALTER TABLE {self.name} {change}", None)

    def _lay_out(self, properties: dict[str, str], base: str, *, made_by_us: bool) -> None:
        """Changes the layout (partitions, order and properties) of an existing table to the layout of its definition.
        The rows that the table already holds keep their layout.

        Args:
            properties: The table's properties.
            base: The current snapshot. The method fails if ``main`` moves away from it.
            made_by_us: Matters only if the table has no snapshot yet. True if a run of this package created the table,
                and perhaps died before it applied the layout. False if somebody else created the table; the method then
                changes nothing.
        """
        if base == NO_SNAPSHOT and not made_by_us:
            return
        now = iceberg_layout.current_layout(self.session, self.name, properties)
        if not iceberg_layout.differences(self.spec.layout, now):
            return
        for change in iceberg_layout.changes(self.spec.layout, now):
            self._change(f"ALTER TABLE {self.name} {change}", base)

    def _make_anew(self, frame: DataFrame, state: TableState, base: str) -> NewCommit:
        """Replaces the rows and the columns of the table.

        Iceberg replaces the table even if another run has committed meanwhile. So this run first adds an empty
        snapshot, which moves ``main``. Every run that has already begun then fails when it commits.

        One case remains: another run begins and ends between the empty snapshot and the replacement. The replacement
        removes the rows and the state of that run, so the next run reads the same records again.
        """
        nothing = self.session.table(self.name).limit(0)
        self._publish(base, None, None, lambda branch: self._to(nothing, branch).append())
        self._new(frame, state).createOrReplace()
        written = self._finish(state)
        properties = self._properties()
        # the writer does not support ``truncate`` and the sort order, so these settings are applied here
        if self.spec.layout and properties is not None:
            self._lay_out(properties, properties[HEAD], made_by_us=True)
        return written

    def _new(self, frame: DataFrame, state: TableState | None) -> DataFrameWriterV2:
        """Returns a writer that creates a table from the rows of ``frame``. The new table stores ``state`` in a
        property.

        Another property holds the id of the table's newest snapshot. The id is unknown before the table exists, so
        ``_finish`` stores the id later.
        """
        layout = self.spec.layout
        own = {COLUMNS: packed(json.dumps(sql.column_metadata(frame.schema)))}
        properties = {**_NEW_TABLE, **iceberg_layout.layout_properties(layout), **own}
        writer = frame.writeTo(self.name).using("iceberg")
        if partitions := iceberg_layout.transform_columns(layout):
            writer = writer.partitionedBy(*partitions)
        if state is not None:
            properties.update({STATE + _mark(state): packed(state.to_text()), NEWEST: f"- {_mark(state)}"})
            writer = writer.option(f"snapshot-property.{MARK}", _mark(state))
        for key, value in properties.items():
            writer = writer.tableProperty(key, value)
        return writer

    def _finish(self, state: TableState) -> NewCommit:
        """Completes the creation of a table with ``state``: stores the id of the table's first snapshot in a property.
        Returns the numbers of added rows and files.
        """
        where = f"summary['{MARK}'] = {text(_mark(state))}"
        snapshots = []
        for row in self._snapshots("snapshot_id", where):
            snapshots.append(str(row[0]))
        if not snapshots:
            raise other_run_committed(self.spec.place)
        self._keep(snapshots[-1], _mark(state))
        return self._written(snapshots[-1], "")

    def _publish(
        self,
        base: str,
        state: TableState | None,
        columns: dict[str, Any] | None,
        write: Callable[["_Branch"], None],
    ) -> NewCommit:
        """Commits through a branch. Creates a branch at the snapshot ``base``, calls ``write`` with the branch, and
        then moves ``main`` to the end of the branch.

        Args:
            base: The snapshot at which the branch starts. ``main`` must still be at this snapshot when the branch is
                complete.
            state: The state to store in a property of the table. If None, no state is stored.
            columns: Metadata of the columns, to store in another property; see ``column_metadata``.
            write: Writes the rows to the branch.
        """
        mark = _mark(state) if state else ""
        # the time in the name tells later runs whether a branch is stale
        branch = _Branch(f"smt_{int(time.time())}_{secrets.token_hex(8)}", base, mark)
        start = "" if base == NO_SNAPSHOT else f" AS OF VERSION {base}"
        create = f"ALTER TABLE {self.name} CREATE BRANCH {branch.name}{start}"
        self._change(create, base, lambda: branch.name in self._branches())
        try:
            write(branch)
            branches = self._branches()
            head = branches.pop(branch.name)
            written = self._written(head, base)
            if state is not None:
                # before main moves: a marker in main must never name a state that has not been stored
                self._set({STATE + mark: packed(state.to_text())}, base)
            target = f"table => {procedure_argument(self.session, self.name)}, branch => 'main', to => '{branch.name}'"
            self._change(f"CALL {self.catalog}.system.fast_forward({target})", base, lambda: self._is_published(head))
        except Exception as error:  # raised by PySpark or by Py4J, depending on the session
            self._drop(branch.name)
            if not isinstance(error, TableError) and self._head() != base:
                raise other_run_committed(self.spec.place) from None
            raise
        if not mark:
            self._drop(branch.name)
        # until the property contains the marker, the branch must protect the snapshot with the marker from expiring
        elif self._keep(head, mark, columns):
            now = time.time()
            stale = []
            for b in branches:
                if (f := BRANCH.fullmatch(b)) and int(f[1]) < now - _STALE:
                    stale.append(b)
            for name in (branch.name, *stale):
                self._drop(name)
        return written

    def _write(self, frame: DataFrame, branch: "_Branch", replaced: Replaced) -> None:
        self._evolve(frame.schema, branch.base)
        if replaced and not replaced.everything:
            assert self.spec.coordinates is not None
            where = replaced_rows(replaced, self.spec.coordinates)
            self.session.sql(f"DELETE FROM {branch.of(self.name)} WHERE {where}").collect()
        writer = self._to(frame, branch)
        if replaced.everything:
            writer.overwrite(F.lit(True))
        else:
            writer.append()

    def _to(self, frame: DataFrame, branch: "_Branch") -> DataFrameWriterV2:
        """Returns a writer that writes ``frame`` to ``branch``. The writer addresses the branch by its name in SQL,
        because Iceberg silently ignores the option ``branch``.
        """
        writer = frame.writeTo(branch.of(self.name))
        if not branch.mark:
            return writer
        writer = writer.option(f"snapshot-property.{BASE}", "" if branch.base == NO_SNAPSHOT else branch.base)
        return writer.option(f"snapshot-property.{MARK}", branch.mark)

    def _evolve(self, schema: StructType, base: str | None) -> None:
        """Adds columns of ``schema`` that the table lacks, and widens existing columns. It is not an error if another
        run makes the same change at the same time.
        """
        for last in (False,) * (_TRIES - 1) + (True,):
            changes = sql.alterations(self.session.table(self.name).schema, schema)
            try:
                for change in changes:
                    self.session.sql(f"ALTER TABLE {self.name} {change}")
                return
            except Exception as error:  # raised by PySpark or by Py4J, depending on the session
                if base is not None and self._head() != base:
                    raise other_run_committed(self.spec.place) from None
                if last or not _RACE.search(str(error)):
                    raise
                time.sleep(0.05)

    def _keep(self, head: str, mark: str, columns: dict[str, Any] | None = None) -> bool:
        """Stores two strings in a table property: ``head``, the id of the newest snapshot, and ``mark``, the marker of
        its state. Later runs can then still read the marker when its snapshot has expired.

        Returns True if the property has been written. Also stores ``columns``, the metadata of columns, if it is not
        None.
        """
        try:
            for _ in range(_TRIES):
                pairs = {NEWEST: f"{head} {mark}"}
                if columns is not None:
                    pairs[COLUMNS] = packed(json.dumps(columns))
                self._set(pairs)
                properties = self._properties()
                if properties is None:
                    return True
                newest = (head, mark)
                if properties[HEAD] != head:  # another writer has committed since
                    newest = self._newest(properties)[:2]
                if newest == (head, mark) or not newest[0]:
                    self._tidy(properties, number_of(mark))
                    return True
                # main now stands on another commit of our runs, so the property must name its marker; the metadata of
                # columns comes from the run of that commit
                (head, mark), columns = newest, None
        except Exception as error:  # noqa: BLE001 - the run is committed
            name = type(error).__name__
            logger.warning("%s: no property names its newest state yet (%s)", visible(self.spec.place), name)
        return False

    def anchor(self) -> bool:
        """Stores the marker of the current state in a table property, so that earlier snapshots may expire.

        Without this property, only the snapshot of the last run contains the marker. If a compaction adds a newer
        snapshot, the snapshot with the marker may expire, and the marker would be lost.

        Returns:
            True if the property names the current snapshot, or the table has no state.

        Raises:
            TableError: SMT522, SMT554, SMT555: the state cannot be read.
        """
        properties = self._properties()
        if properties is None or self._state(properties) is None:
            return True
        if properties.get(NEWEST, "").partition(" ")[0] == properties[HEAD]:
            return True
        return self._keep(properties[HEAD], self._newest(properties)[1])

    def _set(self, pairs: dict[str, str], base: str | None = None) -> None:
        assignments = []
        for k, v in pairs.items():
            assignments.append(f"'{k}' = '{v}'")
        listed = ", ".join(assignments)
        self._change(f"ALTER TABLE {self.name} SET TBLPROPERTIES ({listed})", base)

    def _tidy(self, properties: dict[str, str], newest: int) -> None:
        """Removes states from the table's properties if there are more than ten. The newest five states stay. Each
        commit adds a state. A run whose commit failed, because another run committed first, also leaves a state.

        Args:
            properties: The table's properties.
            newest: The number of the current state.
        """
        numbers = {}
        for k in properties:
            if k.startswith(STATE):
                numbers[k] = number_of(k.removeprefix(STATE))
        # A running commit may already have stored the next state. Greater numbers come from an earlier table of this
        # name, so they are sorted to the front, and removed first.
        states = sorted(numbers, key=lambda k: (numbers[k] <= newest + 1, numbers[k]))
        if len(states) > 2 * MOST_STATES:
            names = []
            for k in states[:-MOST_STATES]:
                names.append(f"'{k}'")
            listed = ", ".join(names)
            self._change(f"ALTER TABLE {self.name} UNSET TBLPROPERTIES IF EXISTS ({listed})", None)

    def _change(self, statement: str, base: str | None, done: Callable[[], bool] = lambda: False) -> None:
        """Runs ``statement``, which changes metadata of the table. If the statement fails because another writer has
        committed at the same time, the method runs it again.

        Args:
            statement: The statement as SQL.
            base: A snapshot. If ``main`` is no longer at this snapshot after a failure, the method raises an error. If
                None, the method does not check this.
            done: Is called after a failure. If it returns True, the change has happened nevertheless, and the method
                returns.
        """
        for last in (False,) * (_TRIES - 1) + (True,):
            try:
                self.session.sql(statement).collect()
                return
            except Exception as error:  # raised by PySpark or by Py4J, depending on the session
                if done():
                    return
                if base is not None and self._head() != base:
                    raise other_run_committed(self.spec.place) from None
                if last or not _RACE.search(str(error)):
                    raise
                time.sleep(0.05)

    def _drop(self, branch: str) -> None:
        try:
            self._change(f"ALTER TABLE {self.name} DROP BRANCH IF EXISTS {branch}", None)
        except Exception as error:  # noqa: BLE001 - a later commit drops it
            name = type(error).__name__
            logger.warning("%s: the branch %s is still there (%s)", visible(self.spec.place), branch, name)

    # --- looking at snapshots ---

    def _head(self) -> str:
        return (self._properties() or {}).get(HEAD, "")

    def _is_published(self, snapshot: str) -> bool:
        where = f"snapshot_id = {snapshot} AND is_current_ancestor"
        return bool(self.session.sql(f"SELECT 1 FROM {self.name}.history WHERE {where}").collect())

    def _written(self, head: str, base: str) -> NewCommit:
        """Returns the numbers of rows and files that a run has added.

        For example, a run that replaces rows writes two snapshots after the snapshot ``base``: the first deletes rows,
        and the second, ``head``, adds rows. The number of rows is that of ``head``. The number and the size of the
        files are sums over both snapshots, because a deletion may also write files.
        """
        names = ("added-records", "added-data-files", "added-files-size")
        counts = ", ".join(f"coalesce(CAST(summary['{n}'] AS BIGINT), 0)" for n in names)
        if base not in ("", NO_SNAPSHOT):
            siblings = f" OR parent_id = {base}"
        else:
            siblings = ""
        rows = self._snapshots(f"snapshot_id, parent_id, {counts}", f"snapshot_id = {head}{siblings}")
        last = next(r for r in rows if str(r[0]) == head)
        before = next((r for r in rows if r[0] == last[1]), (0, 0, 0, 0, 0))
        return NewCommit(last[2], last[3] + before[3], last[4] + before[4])


def _mark(state: TableState) -> str:
    """Returns the marker of ``state``, such as ``17.5f3a``: the number of the state, and the id of the attempt to write
    it.
    """
    # the marker is part of property names in SQL, and of snapshot properties, so it must need no escapes
    return f"{state.number}.{re.sub(r'[^0-9A-Za-z]', '_', state.attempt)}"


class _Branch:
    """The Iceberg branch to which a run writes its rows: its name, the snapshot at which it starts, and the marker of
    the run's state, such as ``17.5f3a``.
    """

    def __init__(self, name: str, base: str, mark: str):
        self.name, self.base, self.mark = name, base, mark

    def of(self, table: str) -> str:
        """Returns the name by which SQL statements address this branch of ``table``."""
        return f"{table}.{quoted('branch_' + self.name)}"
