"""The ``MERGE`` of a window's changes into a table with keys, the same statement for Delta and Iceberg."""

import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from dagster_smt.spark.environment import is_connect
from dagster_smt.spark.sql import quoted, text
from dagster_smt.spark.versions import settings_of

_SETTINGS = threading.RLock()
"""Held while the settings of a session are those of one ``MERGE``."""


@dataclass(frozen=True)
class Merge:
    """The rules that turn changes into rows.

    Attributes:
        columns: The columns of the table after the merge.
        matched_by: The columns that match a change to its row.
        partial: The columns whose value stays if a change lists them in ``unchanged``.
        actions: The actions that the changes have; empty: any.
    """

    columns: StructType
    matched_by: tuple[str, ...]
    partial: frozenset[str] = frozenset()
    actions: frozenset[str] = frozenset()


def merge_statement(table: str, changes: str, merge: Merge) -> str:
    """Returns the statement.

    Args:
        table: The table's name as SQL.
        changes: The view with the changes: ``row``, ``unchanged`` and ``action`` (``tables.keyed.changes``).
        merge: The rules.
    """
    matches = " AND ".join(f"now.{quoted(name)} = change.row.{quoted(name)}" for name in merge.matched_by)
    names = [quoted(name) for name in merge.columns.names]
    updates = ", ".join(f"now.{quoted(name)} = {_new_value(name, merge)}" for name in merge.columns.names)
    values = ", ".join(f"change.row.{name}" for name in names)
    clauses = {
        "delete": "WHEN MATCHED AND change.action = 'delete' THEN DELETE",
        "update": f"WHEN MATCHED AND change.action = 'update' THEN UPDATE SET {updates}",
        "insert": f"WHEN NOT MATCHED AND change.action = 'insert' THEN INSERT ({', '.join(names)}) VALUES ({values})",
    }
    # Without insertions both formats need no full outer join, and without other changes they read no row of the table.
    needed = [clause for action, clause in clauses.items() if not merge.actions or action in merge.actions]
    return f"MERGE INTO {table} AS now USING {changes} AS change ON {matches} {' '.join(needed)}"


def _new_value(name: str, merge: Merge) -> str:
    value = f"change.row.{quoted(name)}"
    if name not in merge.partial:
        return value
    return f"CASE WHEN array_contains(change.unchanged, {text(name)}) THEN now.{quoted(name)} ELSE {value} END"


@contextmanager
def view_of(changes: DataFrame) -> Iterator[str]:
    """Registers changes as a view for SQL, in all sessions of the application."""
    name = f"dagster_smt_{secrets.token_hex(8)}"
    changes.createOrReplaceGlobalTempView(name)
    try:
        yield f"global_temp.{name}"
    finally:
        changes.sparkSession.catalog.dropGlobalTempView(name)


@contextmanager
def session_with(session: SparkSession, settings: dict[str, str]) -> Iterator[SparkSession]:
    """Returns a session with settings that no other statement sees.

    Delta takes the metadata of a ``MERGE`` from the settings of its session. Other threads may write through the user's
    session at the same time, and their commits must not get this metadata. A Spark Connect client cannot create a
    second session, so the writes of this package then wait for each other; see ``undisturbed``.
    """
    if is_connect(session):
        with _SETTINGS, _set_for_a_while(session, settings):
            yield session
        return
    own = session.newSession()
    for name, value in settings_of(session).items():
        if own.conf.isModifiable(name):
            own.conf.set(name, value)
    own.catalog.setCurrentDatabase(session.catalog.currentDatabase())
    for name, value in settings.items():
        own.conf.set(name, value)
    yield own


@contextmanager
def undisturbed(session: SparkSession) -> Iterator[None]:
    """Protects another write of the same session from the settings of ``session_with``."""
    if not is_connect(session):
        yield
        return
    with _SETTINGS:
        yield


@contextmanager
def _set_for_a_while(session: SparkSession, settings: dict[str, str]) -> Iterator[None]:
    before = {name: session.conf.get(name, None) for name in settings}
    for name, value in settings.items():
        session.conf.set(name, value)
    try:
        yield
    finally:
        for name, old in before.items():
            if old is None:
                session.conf.unset(name)
            else:
                session.conf.set(name, old)
