"""Builds and runs the ``MERGE`` statement that applies changes to a table with keys. Each change inserts, updates or
deletes the row of its key. The statement is the same for Delta and Iceberg.
"""

import re
import secrets
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from dagster_smt.spark.environment import is_connect
from dagster_smt.spark.sql import quoted, text
from dagster_smt.spark.versions import missing, settings_of

_PART = re.compile(r"`(?:[^`]|``)*`|[^.`]+")
REPEATED = re.compile("DELTA_MULTIPLE_SOURCE_ROW_MATCHING|MERGE_CARDINALITY_VIOLATION")
"""Matches the errors with which Delta and Spark reject a ``MERGE`` if several changes match one row of the table. The
reason for such an error is a table with several rows of the same key: the run then computes the change of this key once
for each row.
"""
_ASSIGNMENT = "spark.sql.storeAssignmentPolicy"
_SETTINGS = threading.RLock()
"""A thread holds this lock while it changes the settings of a session for one ``MERGE``. So no other thread writes with
these settings. A thread may take the lock twice, because ``undisturbed`` and ``standard_assignment`` are used together.
"""
_SHARED: dict[tuple[int, str], tuple[int, str | None]] = {}
"""Maps a pair (the ``id()`` of a Spark session, and the name of a setting) to another pair. The first item is the
number of ``shared_setting`` blocks that are running now. The second item is the value that the setting had before these
blocks; None if it was not set.
"""


@dataclass(frozen=True)
class Merge:
    """The rules by which a ``MERGE`` applies changes to the rows of a table with keys. A change inserts, updates or
    deletes the row of its key.

    Attributes:
        columns: The columns of the table after the merge.
        matched_by: The columns by which a change finds its row, usually the key columns. The change and the row have
            the same values in these columns.
        partial: Columns that an update may leave unchanged. The update lists such columns in ``unchanged``.
        actions: The actions that occur in the changes, such as ``insert``. If empty, any action may occur.
    """

    columns: StructType
    matched_by: tuple[str, ...]
    partial: frozenset[str] = frozenset()
    actions: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Clause:
    """A clause of a ``MERGE``.

    Attributes:
        action: ``update``, ``delete`` or ``insert``.
        condition: The condition as SQL. If empty, the clause has no condition.
        values: Maps the name of a column, in backticks, to the SQL expression for its new value.
    """

    action: str
    condition: str = ""
    values: Mapping[str, str] = field(default_factory=dict)


def merge_statement(table: str, changes: str, merge: Merge) -> str:
    """Returns the ``MERGE`` statement that applies changes to a table with keys.

    Args:
        table: The table's name as SQL.
        changes: The view with the changes. Its columns are ``row`` (the new row), ``unchanged`` (names of columns that
            keep their values) and ``action`` (``insert``, ``update`` or ``delete``).
        merge: The rules by which the changes are applied, such as the key columns.
    """
    on, clauses = _keyed(merge, "now")
    return f"MERGE INTO {table} AS now USING {changes} AS change ON {on} {' '.join(map(_clause_text, clauses))}"


def merge_changes(session: SparkSession, table: str, changes: DataFrame, merge: Merge) -> None:
    """Applies ``changes`` to an Iceberg table with keys.

    Args:
        session: The Spark session.
        table: The table's name as SQL.
        changes: A row for each change, with the columns ``row`` (the new row), ``unchanged`` (names of columns that
            keep their values) and ``action`` (``insert``, ``update`` or ``delete``).
        merge: The rules by which the changes are applied, such as the key columns.
    """
    if can_merge_frames():
        # mergeInto gives the table no alias, so conditions refer to a row by the last part of the table's name
        merge_frame(table, changes, "change", *_keyed(merge, row_name(table)))
        return
    with view_of(changes) as view, standard_assignment(session):
        session.sql(merge_statement(table, view, merge)).collect()


def can_merge_frames() -> bool:
    """Returns True if the installed version of Spark supports ``merge_frame``.

    With Spark 4.1, ``merge_frame`` is necessary for Iceberg: Spark 4.1 cannot plan a ``MERGE`` statement if the view
    with the changes also reads an Iceberg table ("No plan for TableReference"). Spark 3.5 supports only ``MERGE``
    statements, not ``merge_frame``.
    """
    return "mergeInto of frames" not in missing()


def row_name(table: str) -> str:
    """Returns the name by which ``merge_frame`` refers to a row of ``table``. This is the last part of the table's
    name: ``orders`` for ``lake.sales.orders``.
    """
    return _PART.findall(table)[-1]


def merge_frame(table: str, source: DataFrame, alias: str, on: str, clauses: Sequence[Clause]) -> None:
    """Merges the frame ``source`` into a table without registering a view.

    Args:
        table: The table's name as SQL.
        source: The frame.
        alias: The name by which the condition and the clauses refer to a row of ``source``. For a row of the table,
            they use the name that ``row_name`` returns.
        on: The condition that matches rows.
        clauses: The clauses, in their order.
    """
    writer = source.alias(alias).mergeInto(table, F.expr(on))
    for clause in clauses:
        condition = F.expr(clause.condition) if clause.condition else None
        values = {}
        for name, value in clause.values.items():
            values[name] = F.expr(value)
        if clause.action == "delete":
            writer = writer.whenMatched(condition).delete()
        elif clause.action == "update":
            writer = writer.whenMatched(condition).update(values)
        else:
            writer = writer.whenNotMatched(condition).insert(values)
    with standard_assignment(source.sparkSession):
        writer.merge()


def _keyed(merge: Merge, now: str) -> tuple[str, list[Clause]]:
    """Returns two parts of a ``MERGE`` statement: the condition of its ``ON``, and its ``WHEN`` clauses. The condition
    is true if a change and a row of the table have the same key.

    Args:
        merge: The rules by which the changes are applied, such as the key columns.
        now: The name by which the statement refers to a row of the table.
    """
    # A plain = finds no null. No change has a null in these columns, because a record with a null in its key fails
    # (SMT720).
    matches = " AND ".join(f"{now}.{quoted(name)} = change.row.{quoted(name)}" for name in merge.matched_by)
    names = merge.columns.names
    clauses = [
        Clause("delete", "change.action = 'delete'"),
        Clause("update", "change.action = 'update'", {quoted(n): _new_value(n, merge, now) for n in names}),
        Clause("insert", "change.action = 'insert'", {quoted(n): f"change.row.{quoted(n)}" for n in names}),
    ]
    # If no row is inserted, Delta and Iceberg need no full outer join. If rows are only inserted, they read no row of
    # the table.
    return matches, [clause for clause in clauses if not merge.actions or clause.action in merge.actions]


def _new_value(name: str, merge: Merge, now: str) -> str:
    value = f"change.row.{quoted(name)}"
    if name not in merge.partial:
        return value
    return f"CASE WHEN array_contains(change.unchanged, {text(name)}) THEN {now}.{quoted(name)} ELSE {value} END"


def _clause_text(clause: Clause) -> str:
    if clause.action == "delete":
        return f"WHEN MATCHED AND {clause.condition} THEN DELETE"
    if clause.action == "update":
        updates = ", ".join(f"now.{name} = {value}" for name, value in clause.values.items())
        return f"WHEN MATCHED AND {clause.condition} THEN UPDATE SET {updates}"
    columns, values = ", ".join(clause.values), ", ".join(clause.values.values())
    return f"WHEN NOT MATCHED AND {clause.condition} THEN INSERT ({columns}) VALUES ({values})"


@contextmanager
def view_of(changes: DataFrame) -> Iterator[str]:
    """Registers ``changes`` as a view while the block runs, and yields the view's name. All sessions of the application
    can read the view.
    """
    # A plain temporary view would be invisible in the second session of session_with. Global views are shared by all
    # threads of the application, so the name is random.
    name = f"dagster_smt_{secrets.token_hex(8)}"
    changes.createOrReplaceGlobalTempView(name)
    try:
        yield f"global_temp.{name}"
    finally:
        changes.sparkSession.catalog.dropGlobalTempView(name)


@contextmanager
def session_with(session: SparkSession, settings: dict[str, str]) -> Iterator[SparkSession]:
    """Yields a new session with the settings of ``session`` and the additional ``settings``. Statements in ``session``
    itself are not affected.

    Delta takes the metadata of a ``MERGE`` from the settings of the session. Another thread may write through
    ``session`` at the same time, and the commit of that thread must not get this metadata. So the ``MERGE`` needs a
    session of its own.

    A Spark Connect client cannot create a second session. In this case, the function changes ``session`` itself while
    the block runs, and other writes of this package wait; see ``undisturbed``.
    """
    if is_connect(session):
        with _SETTINGS, _set_for_a_while(session, settings):
            yield session
        return
    own = session.newSession()
    for name, value in settings_of(session).items():
        if own.conf.get(name, None) != value:
            # Setting a static setting, such as the folder of the warehouse, raises an error. isModifiable does not tell
            # static settings from settings that Spark does not know, such as spark.sql.catalog.x.
            with suppress(AnalysisException):
                own.conf.set(name, value)
    # a new session begins in the default catalog, where the name of the table may mean another table
    own.catalog.setCurrentCatalog(session.catalog.currentCatalog())
    if database := session.catalog.currentDatabase():  # a catalog of Iceberg may have none
        own.catalog.setCurrentDatabase(database)
    for name, value in settings.items():
        own.conf.set(name, value)
    yield own


@contextmanager
def undisturbed(session: SparkSession) -> Iterator[None]:
    """Protects the writes in the block from settings that another thread sets temporarily. On Spark Connect,
    ``session_with`` changes the settings of ``session`` for a while, so the block first waits until the settings are
    restored. On a classic session, the block need not wait.
    """
    if not is_connect(session):
        yield
        return
    with _SETTINGS:
        yield


@contextmanager
def shared_setting(session: SparkSession, name: str, value: str) -> Iterator[None]:
    """Sets the setting ``name`` of ``session`` to ``value`` while the block runs. Other threads may do the same.

    All threads of a session share its settings. If several such blocks run at the same time, the last one to end
    restores the setting.
    """
    key = (id(session), name)
    # with the lock of session_with, which restores the settings that it has read
    with _SETTINGS:
        users, before = _SHARED.get(key, (0, session.conf.get(name, None)))
        _SHARED[key] = (users + 1, before)
        session.conf.set(name, value)
    try:
        yield
    finally:
        with _SETTINGS:
            users, before = _SHARED.pop(key)
            if users > 1:
                _SHARED[key] = (users - 1, before)
            else:
                _restore(session, name, before)


@contextmanager
def standard_assignment(session: SparkSession) -> Iterator[None]:
    """Sets ``spark.sql.storeAssignmentPolicy`` of ``session`` from ``LEGACY`` to ``ANSI`` while the block runs. With
    ``LEGACY``, Spark rejects a merge into an Iceberg table. If the setting has another value, the function changes
    nothing.

    The changes of a merge have the types of the table, so both policies store the same values. A separate session is
    not an option: it would have its own catalog, and the catalog of the run would not see the commit.
    """
    if str(session.conf.get(_ASSIGNMENT, None)).upper() != "LEGACY":
        yield
        return
    with _SETTINGS, _set_for_a_while(session, {_ASSIGNMENT: "ANSI"}):
        yield


@contextmanager
def _set_for_a_while(session: SparkSession, settings: dict[str, str]) -> Iterator[None]:
    before = {}
    for name in settings:
        before[name] = session.conf.get(name, None)
    for name, value in settings.items():
        session.conf.set(name, value)
    try:
        yield
    finally:
        for name, old in before.items():
            _restore(session, name, old)


def _restore(session: SparkSession, name: str, before: str | None) -> None:
    if before is None:
        session.conf.unset(name)
    else:
        session.conf.set(name, before)
