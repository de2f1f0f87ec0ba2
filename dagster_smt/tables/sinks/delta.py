"""Delta tables as sinks. A run writes its rows and its state in a single commit.

The state (offsets, counts and failed records, which the next run reads) is the commit's ``userMetadata``. Each commit
has a number, which Delta stores as the ``txnVersion`` of the application ``dagster_smt``. If two runs use the same
number, Delta accepts only the first commit.

In a table that this package creates, ``delta.enableExpiredLogCleanup`` is off. Delta's log therefore keeps all commits
and their states. If somebody switches the clean-up on, each run makes two commits. The second commit copies the state
into a table property.
"""

import re
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property, partial

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, DataFrameWriter, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from dagster_smt.errors import Problem, TableError, UnsupportedError
from dagster_smt.model.topics.state import TableState
from dagster_smt.model.topics.state import remedy as remedy_of_state
from dagster_smt.spark.packages import SETTINGS, remedy
from dagster_smt.spark.sql import quoted
from dagster_smt.spark.sql import text as sql_text
from dagster_smt.tables.layout_problems import layout_problems
from dagster_smt.tables.schemas import case_twins, changed_types, nul_names, schema_with
from dagster_smt.tables.sink_options import DeltaSink
from dagster_smt.tables.sinks import delta_history, delta_layout
from dagster_smt.tables.sinks.delta_history import Commit, Standing, commit_of, foreign, standing
from dagster_smt.tables.sinks.delta_log import is_absent, last_commit
from dagster_smt.tables.sinks.merge import (
    REPEATED,
    Merge,
    merge_statement,
    session_with,
    shared_setting,
    undisturbed,
    view_of,
)
from dagster_smt.tables.sinks.protocol import (
    MOST_FOREIGN,
    ForeignCommit,
    NewCommit,
    Replaced,
    always_changed,
    append_only,
    changed_at_the_same_moment,
    check_expected,
    other_layout,
    other_run_committed,
    repeated_keys,
    replaced_by_others,
    restored_too_far,
    rows_changed_by_others,
)
from dagster_smt.tables.sinks.replaced_rows import packed, replaced_rows, unpacked
from dagster_smt.tables.sql import literal, name_of_folder

PROPERTY = "dagster_smt.state"
_CLEAN_UP = "delta.enableExpiredLogCleanup"
_OWN_SOURCE = {
    "spark.databricks.delta.merge.materializeSource": "none",
    "spark.databricks.delta.merge.failSourceCachedAfterMaterialization": "false",
}
"""Settings for a ``MERGE``. Before a ``MERGE``, Delta usually makes a copy of the changes. The first setting prevents
this copy, because the run has already cached the changes.

By default, Delta 4.1 rejects changes that are cached but not copied. The second setting permits them.
"""
# with column mapping by name, a column may have any name; column mapping needs at least these protocol versions
_MAPPING = {
    "delta.columnMapping.mode": "name",
    "delta.minReaderVersion": "2",
    "delta.minWriterVersion": "5",
}
# if two runs create the table at the same time, Spark tells the second run that the table already exists
_CONFLICT = re.compile(
    r"\b(Delta)?Concurrent\w+Exception|MetadataChangedException|ProtocolChangedException|DELTA_CONCURRENT_"
    r"|DELTA_METADATA_CHANGED|DELTA_PROTOCOL_CHANGED|DELTA_TABLE_ALREADY_EXISTS|TABLE_OR_VIEW_ALREADY_EXISTS"
    r"|DELTA_MULTIPLE_CONFLICTS"
)
_NO_TABLE = re.compile(
    r"DELTA_MISSING_DELTA_TABLE|DELTA_TABLE_NOT_FOUND|DELTA_PATH_DOES_NOT_EXIST|PATH_NOT_FOUND|TABLE_OR_VIEW_NOT_FOUND"
    r"|DELTA_MISSING_TRANSACTION_LOG|NO_SUCH_TABLE|DELTA_SCHEMA_NOT_SET"
)
_NO_DELTA = re.compile(
    r"DATA_SOURCE_NOT_FOUND|ClassNotFoundException|DELTA_CONFIGURE_SPARK_SESSION|delta\.DefaultSource"
)
_TRIES = 8
_MOST_LOOKED = 1_000
"""To find commits of other writers, a run searches this number of the latest commits."""
_LOG_LIMITS = (1, 30, None)
"""The numbers of commits that a run reads to find the state, in three attempts. The last commit (1) usually contains
the state. Otherwise the run reads the last 30 commits, and finally the whole log (None).
"""


def refused(schema: StructType) -> list[Problem]:
    """Returns a problem for each name in ``schema`` that a Delta table cannot hold. These are names with the character
    NUL, and names that differ only in case, such as ``id`` and ``ID``.
    """
    hint = "rename one with ReplaceField, or use another sink"
    twins = []
    for first, other in case_twins(schema):
        twins.append(Problem("SMT572", other, f"a Delta table cannot hold both '{first}' and '{other}'", hint))
    return [*twins, *nul_names(schema, "a Delta table")]


class DeltaTable:
    """A Delta table, opened as the sink of a run. The class implements the protocol ``Table``."""

    def __init__(self, session: SparkSession, spec: DeltaSink):
        if spec.folder is not None:  # Delta accepts a relative path for writing, but not for reading
            spec = replace(spec, path=spec.folder.absolute())
        self.session, self.spec = session, spec

    @cached_property
    def name(self) -> str:
        """The name with which SQL addresses the table."""
        return self.spec.table or name_of_folder(self.session, str(self.spec.path))

    # --- reading ---

    def read(self) -> DataFrame:
        """Returns all rows of the table that have been committed."""
        return self.session.read.table(self.name)

    def schema(self) -> StructType | None:
        """Returns the table's columns without the generated columns. Returns None if the table does not exist."""
        if is_absent(self.session, str(self.spec.path), self.spec.table):
            return None
        try:
            return delta_layout.without_generated(self.read().schema, self._properties)
        except PySparkException as error:
            self._refuse_without_delta(error)
            if _NO_TABLE.search(str(error)):
                self._check_session()
                return None
            raise

    def holds_rows(self) -> bool:
        """Returns True if the table has at least one row."""
        return bool(self.read().limit(1).count())

    def state(self, *, settle: bool = False) -> TableState | None:
        """Returns the state: the offsets, counts and failed records that the last run has stored with its rows. Returns
        None if no run has committed. See ``Table``.

        Args:
            settle: True to accept that another writer has replaced all rows. By default, this is an error.
        """
        last = self._history(1)
        if not last:
            return None
        state = self._decode(last[0].user_metadata)
        # if another writer committed between the version that our commit read and our commit, it may have replaced all
        # rows, and Delta accepted our append on top without an error
        if state is not None and last[0].read_version in (None, last[0].version - 1):
            return state
        return self._standing(settle)

    def version_of_state(self) -> int | None:
        """Returns the version of the table that this package's last commit created, such as 7. This commit contains the
        state. Returns None if this package has never committed to the table.
        """
        for limit in _LOG_LIMITS:
            for commit in self._history(limit):
                if self._readable(commit) is not None:
                    return commit.version
        return None

    def _standing(self, settle: bool) -> TableState | None:
        """Returns the state that describes the table's current rows. The method is called if these rows may not come
        from our last commit, for example after a ``RESTORE``.

        Args:
            settle: True to accept that another writer has replaced all rows.

        Raises:
            TableError: SMT554, another writer has replaced the rows; SMT555, the log does not reach back far enough.
        """
        last = Standing()
        for limit in _LOG_LIMITS[1:]:
            commits = self._history(limit)
            whole = limit is None or len(commits) < limit
            last = standing(commits, self._decode, self._version_at, whole=whole)
            if whole or not last.ended:
                break
        if last.lost:
            raise restored_too_far(self.spec.place, last.lost)
        state = last.state or (self._state_in_properties() if last.ended else None)
        if state is not None and last.replaced is not None and not settle:
            raise replaced_by_others(self.spec.place, foreign(last.replaced))
        return state

    def _version_at(self, restore: Commit, commits: Sequence[Commit]) -> int | None:
        """Returns the version to which ``restore``, a restore by timestamp, has set the table. Returns None if the
        version is uncertain.

        The log contains the timestamp as the user typed it, such as ``2026-01-31 12:00``, without a time zone. The
        method takes the last version before this time. Then it checks that this version consists of the same files as
        the table after the restore.

        Args:
            restore: The commit of the restore.
            commits: The log, the last commit first.
        """
        written = restore.parameters.get("timestamp")
        # delta-rs writes the time as ``datetime``, in milliseconds since 1970
        if written is None:
            moment = int(restore.parameters.get("datetime") or -1)
        else:
            timestamp = sql_text(str(written))
            # with ANSI, a plain CAST would raise an error for a text that Spark cannot read as a time
            rows = self.session.sql(f"SELECT unix_millis(try_cast({timestamp} AS TIMESTAMP)) AS millis").collect()
            moment = -1 if rows[0].millis is None else rows[0].millis
        older = []
        for c in commits:
            if c.version < restore.version and c.millis <= moment:
                older.append(c.version)
        if not older or (written is not None and self._files(older[0]) != self._files(restore.version)):
            return None
        return older[0]

    def _files(self, version: int) -> frozenset[str]:
        """Returns the files that contain the rows of ``version``."""
        rows = self.session.sql(f"SELECT DISTINCT _metadata.file_path AS file FROM {self.name} VERSION AS OF {version}")
        return frozenset(row.file for row in rows.collect())

    def next_number(self, before: TableState | None) -> int:
        """Returns the number of the next commit: usually 8 if the state ``before`` has the number 7. See ``Table``.

        The number must be new, because Delta silently skips a commit with a number that an earlier commit had. Delta
        does so even if a restore has removed that earlier commit. After a restore, the number is therefore greater than
        the numbers of the removed commits.
        """
        last = self._history(1)
        if not last:
            return 1
        never = last[0].version + 2  # each of our commits created at least one version
        for limit in _LOG_LIMITS:
            commits = self._history(limit)
            try:
                states = (self._decode(commit.user_metadata) for commit in commits)
                newest = None
                for state in states:
                    if state is not None:
                        newest = state
                        break
            except TableError:
                # the state cannot be read, so its number is unknown; a rebuild, which repairs the table, still needs a
                # new number
                return never
            if newest is not None:
                return max(newest.number, before.number if before is not None else 0) + 1
            if limit is None or len(commits) < limit:
                break
        if before is not None:
            return before.number + 1
        return never

    def _readable(self, commit: Commit) -> TableState | None:
        try:
            return TableState.from_text(commit.user_metadata)
        except ValueError:
            return None

    def foreign(self) -> list[ForeignCommit]:
        """Returns the latest commits of other writers that may have changed rows, the newest commit first. See
        ``Table``.
        """
        others = (c for c in self._history(_MOST_LOOKED) if self._readable(c) is None and c.changes_rows)
        return [foreign(commit) for commit in others][:MOST_FOREIGN]

    def _history(self, limit: int | None) -> list[Commit]:
        """Returns the latest commits, the newest commit first: at most ``limit`` commits, or all commits if ``limit``
        is None. If there is no table, the list is empty. If ``limit`` is not 1, Delta may have to list the whole log.
        """
        if limit == 1 and (last := last_commit(self.session, str(self.spec.path), self.spec.table)) is not None:
            return [last]
        if is_absent(self.session, str(self.spec.path), self.spec.table):
            return []
        try:
            return self._described_history(limit)
        except PySparkException:
            if self.schema() is None:
                return []
        return self._described_history(limit)  # another run may have created the table since then

    def _described_history(self, limit: int | None) -> list[Commit]:
        suffix = f" LIMIT {limit}" if limit else ""
        rows = self.session.sql(f"DESCRIBE HISTORY {self.name}{suffix}")
        # PySpark would convert a collected timestamp into the time zone of the Python process, without naming the zone
        commits = rows.withColumn("millis", F.unix_millis("timestamp")).drop("timestamp").collect()
        return [commit_of(row) for row in commits]

    def _decode(self, text: str | None) -> TableState | None:
        try:
            return TableState.from_text(text)
        except ValueError as error:
            problem = Problem("SMT522", self.spec.place, f"the state in its log: {error}", remedy_of_state(error))
            raise TableError(problem) from None

    def _state_in_properties(self) -> TableState | None:
        """Returns the copy of the state that a run has written to a table property. Returns None if there is no such
        property.
        """
        text = self._properties().get(PROPERTY)
        try:
            if text:
                return self._decode(unpacked(text))
            return None
        except ValueError:
            hint = f"remove the property {PROPERTY} if the table's log still holds commits of this package"
            problem = Problem("SMT522", self.spec.place, "the property with its state is damaged", hint)
            raise TableError(problem) from None

    def _properties(self) -> dict[str, str]:
        properties = {}
        for r in self.session.sql(f"SHOW TBLPROPERTIES {self.name}").collect():
            properties[r.key] = r.value
        return properties

    # --- writing ---

    def refused(self, schema: StructType) -> list[Problem]:
        """Returns a problem for each name or type in ``schema`` that a Delta table cannot hold. Also returns a problem
        for each option of the layout that does not fit ``schema``. See ``Table``.
        """
        return [*refused(schema), *layout_problems(self.spec, schema)]

    def layout_warnings(self, *, rebuild: bool) -> list[Problem]:
        """Returns a warning if the table's layout (partitions, clusters and properties) differs from its definition.
        See ``LaidOutTable``.

        Args:
            rebuild: True if the run replaces the table. The method then returns no warning, but checks that Delta can
                create the new layout.
        """
        layout = self.spec.layout
        if not layout or self.schema() is None:
            return []
        detail = self.session.sql(f"DESCRIBE DETAIL {self.name}").collect()[0]
        differences = delta_layout.differences(layout, detail, self._properties())
        if rebuild:
            self._check_rebuild(detail)
        if rebuild or not differences:
            return []
        return [other_layout(self.spec.place, differences)]

    def _check_rebuild(self, detail: Row) -> None:
        """Raises an error if Delta cannot rebuild the table with its new layout. ``detail`` describes the current
        table. The check runs before the run reads records.

        Raises:
            UnsupportedError: SMT906.
        """
        layout = self.spec.layout
        if delta_layout.generated_columns(layout) and detail.partitionColumns != self._partitions():
            raise self._no_rebuild()
        if layout.partition_by and self.spec.table and "clustering" in (detail.tableFeatures or ()):
            hint = "drop the table and run again, name another table, or use cluster_by"
            statement = "Delta cannot add partitions to a table in a catalog that was clustered before"
            raise UnsupportedError(Problem("SMT906", f"{self.spec.place}: partition_by", statement, hint))

    def _partitions(self) -> list[str]:
        return delta_layout.partition_columns(self.spec.layout)

    def _no_rebuild(self) -> UnsupportedError:
        hint = "drop the table and run again, choose another location, or use cluster_by"
        statement = "Delta cannot add generated columns to an existing table, or change its other columns"
        return UnsupportedError(Problem("SMT906", f"{self.spec.place}: partition_by", statement, hint))

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
        write = partial(self._write, frame, state, replaced)
        self._on_top_of_others(write, partial(self.state, settle=settles), expected, replaced)
        mine = self._commit_of(state)
        if mine is None:  # Delta silently skips a transaction whose number has been used before
            raise other_run_committed(self.spec.place)
        self._repeat_state(state)
        # if the commit replaces some rows of a file, Delta writes the other rows of the file again, and numOutputRows
        # includes these copies
        rows, copied, files, size = (
            int(mine.metrics.get(n, 0)) for n in ("numOutputRows", "numCopiedRows", "numFiles", "numOutputBytes")
        )
        return NewCommit(rows - copied if "numOutputRows" in mine.metrics else None, files, size)

    def _on_top_of_others(
        self,
        write: Callable[[], None],
        now: Callable[[], TableState | None],
        expected: TableState | None,
        replaced: Replaced,
    ) -> None:
        """Calls ``write``, which commits. If another writer, such as ``OPTIMIZE``, commits first, the method calls
        ``write`` again.

        Args:
            write: Commits the rows of the run.
            now: Returns the current state of the table. Before each attempt, the current state must equal ``expected``.
            expected: The state that the run began with.
            replaced: The rows that the commit replaces.

        Raises:
            TableError: SMT528, another run committed; SMT557, other writers changed the table during every attempt.
        """
        for _ in range(_TRIES):
            check_expected(now, expected, replaced, self.spec.place)
            try:
                write()
                return
            except TableError as error:
                if expected is None or error.problems[0].code != "SMT528":
                    raise
        raise always_changed(self.spec.place, _TRIES)

    def _write(self, frame: DataFrame, state: TableState, replaced: Replaced) -> None:
        table = self.schema()
        # so that Delta writes a commit even if there are no rows
        with self._conflicts(), shared_setting(self.session, delta_history.EMPTY_COMMITS, "false"):
            if table is None:
                self._make(frame, state, replaced)
            elif replaced.everything:
                self._rebuild(table, frame, state)
            else:
                self._evolve(table, frame.schema)
                self._save(self._writer(frame, state, replaced))

    def version(self) -> str:
        """Returns the number of the table's current version as a string, such as ``7``. See ``MergingTable``."""
        return str(self._history(1)[0].version)

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

        def write() -> None:
            with self._conflicts():
                self._add_columns(merge.columns)
                settings = {**delta_history.commit_settings(state), **_OWN_SOURCE}
                with view_of(changes) as view, session_with(self.session, settings) as session:
                    statement = merge_statement(self.name, view, merge)
                    # the last statement before the MERGE: a change between this look and Delta's own look is noticed
                    # only after the commit
                    if commits := self._changes_since(int(seen)):
                        raise rows_changed_by_others(self.spec.place, commits)
                    session.sql(statement).collect()

        self._on_top_of_others(write, self.state, expected, Replaced())
        mine = self._commit_of(state)
        if mine is None:  # Delta silently skips a transaction whose number has been used before
            raise other_run_committed(self.spec.place)
        self._repeat_state(state)
        # Delta reads the rows a moment after this method has last read the log. The commit states which version Delta
        # has read.
        read = int(seen) if mine.read_version is None else mine.read_version
        if commits := self._changes_since(int(seen), read):
            raise changed_at_the_same_moment(self.spec.place, commits)
        files, size = (int(mine.metrics.get(name, 0)) for name in ("numTargetFilesAdded", "numTargetBytesAdded"))
        return NewCommit(None, files, size)

    def _changes_since(self, seen: int, until: int | None = None) -> list[ForeignCommit]:
        """Returns the commits of other writers that may have changed rows and came after the version ``seen``.

        Args:
            seen: The version after which the search begins.
            until: The last version of the search. If None, the current version.
        """
        last = self._history(1)[0].version
        commits = self._history(last - seen) if last > seen else []
        return delta_history.foreign_changes(commits, self._readable, seen, last if until is None else until)

    def _add_columns(self, columns: StructType) -> None:
        """Adds each column in ``columns`` that the table lacks, and widens types of existing columns, for example from
        ``int`` to ``bigint``.

        Raises:
            TableError: SMT521, a column of the table has a different type.
        """
        table = self.schema()
        assert table is not None
        merged = schema_with(self.spec, table, columns)
        self._evolve(table, merged)
        # the other columns of the table may be ones that no statement may write, such as an identity column
        schema = StructType([merged[name] for name in columns.names])
        if not delta_layout.holds_columns(table, schema):
            # the MERGE of Spark 3.5 adds no columns, so an append without rows adds them
            nothing = self.session.createDataFrame([], schema)
            self._save(nothing.write.format("delta").mode("append").options(mergeSchema="true"))

    def _commit_of(self, state: TableState) -> Commit | None:
        """Returns the commit that stored ``state``, even if other commits followed; None if there is no such commit."""
        for limit in _LOG_LIMITS:
            for commit in self._history(limit):
                readable = self._readable(commit)
                # not the number: another run that began with the same state uses the same number
                if readable is not None and readable.attempt == state.attempt:
                    return commit
        return None

    def keep(self, state: TableState) -> None:
        """Does nothing, because a state in a Delta table does not expire. Other sinks write ``state`` again; see
        ``Table``.
        """

    def append(self, frame: DataFrame) -> None:
        """Appends the rows of ``frame``. Unlike ``commit``, the method does not store the offsets of a run. See
        ``Table``.
        """
        self._make_empty(frame)
        self._save(frame.write.format("delta").mode("append").options(mergeSchema="true"))

    def append_new(self, frame: DataFrame, key: Sequence[str]) -> None:
        """Appends those rows of ``frame`` whose key the table does not contain yet. ``key`` lists the columns of the
        key. See ``Table``.

        The method uses a ``MERGE``. If another commit comes first, Delta rejects the ``MERGE``, and the method tries
        again.
        """
        rows = f"dagster_smt_{secrets.token_hex(8)}"
        frame.createOrReplaceTempView(rows)
        same = " AND ".join(f"there.{quoted(name)} <=> new.{quoted(name)}" for name in key)
        merge = f"MERGE INTO {self.name} AS there USING {rows} AS new ON {same}"
        # a star would also name generated columns, which the rows lack
        names = [quoted(name) for name in frame.columns]
        inserted = f"({', '.join(names)}) VALUES ({', '.join(f'new.{name}' for name in names)})"
        try:
            for _ in range(_TRIES):
                try:
                    # a MERGE needs an existing table
                    if not self._make_empty(frame) and self.schema() is None:
                        self._save(frame.limit(0).write.format("delta").mode("append"))
                    self._add_columns(frame.schema)
                    self._change(f"{merge} WHEN NOT MATCHED THEN INSERT {inserted}")
                    return
                except Exception as error:  # raised by PySpark or by Py4J, depending on the session
                    if not _CONFLICT.search(str(error)):
                        raise
        finally:
            self.session.catalog.dropTempView(rows)
        raise always_changed(self.spec.place, _TRIES)

    def _make(self, frame: DataFrame, state: TableState, replaced: Replaced) -> None:
        """Creates the table with the rows of ``frame`` and with ``state``."""
        layout = self.spec.layout
        properties = {_CLEAN_UP: "false", **(_MAPPING if delta_layout.odd_names(frame.schema) else {})}
        if delta_layout.generated_columns(layout):
            self._make_generated(frame.schema, properties)
            # a run that dies between these two commits leaves an empty table without a state, so the next run begins
            # anew
            self._save(self._writer(frame, state, Replaced()))
        elif layout:
            self._create_as(frame, delta_history.commit_settings(state), properties, replace=False)
        else:
            # A table in a catalog is first created without rows, because the commit that creates it can store neither a
            # transaction nor a state.
            if self.spec.table:
                self._save(frame.limit(0).write.format("delta").options(**properties))
            self._save(self._writer(frame, state, replaced).options(**properties))

    def _make_empty(self, frame: DataFrame) -> bool:
        """Creates the table without rows. The table gets the columns of ``frame``, and the layout (such as partitions)
        from the definition of the table. Does nothing if the table exists, or if the definition has no layout.

        Returns True if this call has created the table.
        """
        layout = self.spec.layout
        if self.schema() is not None or not layout:
            return False
        properties = _MAPPING if delta_layout.odd_names(frame.schema) else {}
        if delta_layout.generated_columns(layout):
            self._make_generated(frame.schema, properties)
        else:
            self._create_as(frame.limit(0), {}, properties, replace=False)
        return True

    def _make_generated(self, columns: StructType, properties: Mapping[str, str]) -> None:
        layout, place = self.spec.layout, (self.spec.table, "" if self.spec.table else str(self.spec.path))
        with session_with(self.session, delta_layout.ANY_PROPERTY) as session:
            properties = {**properties, **delta_layout.layout_properties(layout)}
            delta_layout.create_generated(session, place, columns, layout, properties)

    def _create_as(
        self, frame: DataFrame, settings: Mapping[str, str], properties: Mapping[str, str], *, replace: bool
    ) -> None:
        """Creates or replaces the table in one commit, with its layout and with the rows of ``frame``."""
        layout = self.spec.layout
        properties = {**properties, **delta_layout.layout_properties(layout)}
        with view_of(frame) as view, session_with(self.session, {**settings, **delta_layout.ANY_PROPERTY}) as session:
            session.sql(delta_layout.create_as(self.name, view, layout, properties, replace=replace)).collect()

    def _rebuild(self, table: StructType, frame: DataFrame, state: TableState) -> None:
        """Replaces the table in one commit: all rows, the columns, and the layout, such as the partitions.

        Args:
            table: The current columns.
            frame: The new rows, with the new columns.
            state: The state to store in the same commit.
        """
        layout, properties = self.spec.layout, self._properties()
        former = delta_layout.generated_in(properties)
        everything = Replaced(everything=True)
        mapping = _MAPPING if delta_layout.odd_names(frame.schema) else {}
        if generated := delta_layout.generated_columns(layout):
            if former != generated or not delta_layout.holds_columns(frame.schema, table):
                raise self._no_rebuild()
            self._evolve(table, frame.schema)
            self._describe()
            # overwriteSchema would remove the generated columns, because the rows do not contain them
            writer = self._writer(frame, state, everything)
            self._save(writer.options(overwriteSchema="false", mergeSchema="true"))
        elif former or layout.cluster_by:
            # CREATE OR REPLACE discards the table's properties; "true" is Delta's default
            own_properties = {_CLEAN_UP: properties.get(_CLEAN_UP, "true"), **delta_layout.other_properties(properties)}
            self._create_as(frame, delta_history.commit_settings(state), {**own_properties, **mapping}, replace=True)
        else:
            self._describe()
            writer = self._writer(frame, state, everything).options(**mapping)
            self._save(writer.partitionBy(*self._partitions()) if layout.partition_by else writer)

    def _describe(self) -> None:
        """Applies the properties and the comment of the layout to the existing table."""
        layout = self.spec.layout
        properties = delta_layout.layout_properties(layout)
        with session_with(self.session, delta_layout.ANY_PROPERTY) as session:
            if properties:
                session.sql(f"ALTER TABLE {self.name} SET TBLPROPERTIES ({delta_layout.pairs(properties)})")
            if layout.comment:
                session.sql(f"COMMENT ON TABLE {self.name} IS {literal(layout.comment)}")

    def _writer(self, frame: DataFrame, state: TableState, replaced: Replaced) -> DataFrameWriter:
        options = {
            "txnAppId": delta_history.APPLICATION,
            "txnVersion": str(state.number),
            "userMetadata": state.to_text(),
            "mergeSchema": "true",
        }
        mode = "append"
        if replaced.everything:
            mode = "overwrite"
            # the session may have set dynamic, with which partitions without new rows would keep their old rows
            options = {**options, "overwriteSchema": "true", "partitionOverwriteMode": "static"}
            del options["mergeSchema"]
        elif replaced:
            assert self.spec.coordinates is not None
            mode, options["replaceWhere"] = "overwrite", replaced_rows(replaced, self.spec.coordinates)
        return frame.write.format("delta").mode(mode).options(**options)

    def _save(self, writer: DataFrameWriter) -> None:
        with undisturbed(self.session):
            if self.spec.table:
                writer.saveAsTable(self.spec.table)
            else:
                writer.save(str(self.spec.path))

    def _change(self, statement: str) -> None:
        """Runs ``statement``, which commits to the table. The commit gets no settings of another thread."""
        with undisturbed(self.session):
            self.session.sql(statement).collect()

    def _evolve(self, table: StructType, schema: StructType) -> None:
        """Prepares the table for rows with the columns in ``schema``. If a new name contains special characters, such
        as spaces, the method enables column mapping. If a type is wider than the table's type, the method widens the
        table's type.

        The method adds no columns, because the commit that writes the rows adds them.
        """
        properties = {}
        if delta_layout.odd_names(schema) and self._properties().get("delta.columnMapping.mode") is None:
            properties.update(_MAPPING)
        wider = list(changed_types(table, schema, ""))
        if wider:
            properties["delta.enableTypeWidening"] = "true"
        if properties:
            self._change(f"ALTER TABLE {self.name} SET TBLPROPERTIES ({delta_layout.pairs(properties)})")
        for path, kind in wider:
            self._change(f"ALTER TABLE {self.name} ALTER COLUMN {path} TYPE {kind.simpleString()}")

    def _repeat_state(self, state: TableState) -> None:
        properties = self._properties()
        # the log keeps all commits, so the state in the commit's userMetadata cannot get lost
        if properties.get(_CLEAN_UP, "true") == "false":
            return
        self._change(f"ALTER TABLE {self.name} SET TBLPROPERTIES ('{PROPERTY}' = '{packed(state.to_text())}')")

    @contextmanager
    def _conflicts(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # raised by PySpark or by Py4J, depending on the session
            if _CONFLICT.search(str(error)):
                # from None: Dagster stores causes, and Spark's message may quote values of rows
                raise other_run_committed(self.spec.place) from None
            if "DELTA_CANNOT_MODIFY_APPEND_ONLY" in str(error):
                raise append_only(self.spec.place) from None
            if REPEATED.search(str(error)):
                raise repeated_keys(self.spec.place) from None
            self._refuse_without_delta(error)
            raise

    def _check_session(self) -> None:
        """Raises an error if the session lacks Delta. Without this check, it would seem that the table does not
        exist.
        """
        if SETTINGS["delta"]["spark.sql.extensions"] in str(self.session.conf.get("spark.sql.extensions", "") or ""):
            return
        try:
            # any path will do, because only the error about a missing data source matters
            self.session.read.format("delta").load(str(self.spec.path) or "/dagster_smt")
        except Exception as error:  # noqa: BLE001 - of PySpark or of Py4J; that there is no such table is fine
            self._refuse_without_delta(error)

    def _refuse_without_delta(self, error: Exception) -> None:
        if _NO_DELTA.search(str(error)):
            hint = remedy("delta", self.session)
            problem = Problem("SMT610", self.spec.place, "this Spark session has no Delta Lake", hint)
            raise UnsupportedError(problem) from None
