"""Reads the last commit of a Delta table with Delta's own log reader.

A run reads the last commit three times, and the log reader needs only a moment. ``DESCRIBE HISTORY`` returns the same
information, but is slow: it needs a plan and two Spark jobs. The first job has a task for each core of the cluster.
"""

import json
from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from dagster_smt.spark.java_classes import java_class
from dagster_smt.spark.packages import SETTINGS
from dagster_smt.tables.sinks.delta_history import Commit

_PIECE = 4_000
"""The number of characters of a line that are read at a time."""


def last_commit(session: SparkSession, path: str, table: str | None) -> Commit | None:
    """Returns the last commit of a Delta table.

    Args:
        session: A classic session with Delta. The classes that this function calls exist since Delta 3.
        path: The folder of the table. The path is ignored if the table has a name.
        table: The name of the table in the session's catalog, as SQL. None for a table without a name.

    Returns:
        The commit. The result is None if there is no table. It is also None if the function cannot read the log,
        because the table is in another catalog, or because the installed version of Delta has different classes. The
        caller can find out the reason with ``DESCRIBE HISTORY``.
    """
    try:
        log, snapshot = _log_and_snapshot(session, path, table)
        version = snapshot.version()
        if version < 0:  # the table does not exist
            return None
        # if a catalog coordinates the commits, the file of the newest commit may have a name of its own
        provider = java_class(session, "org.apache.spark.sql.delta.util.DeltaCommitFileProvider")
        file = provider.apply(snapshot).deltaFile(version)
        lines = log.store().readAsIterator(file, log.newDeltaHadoopConf())
    except Exception:  # noqa: BLE001 - of Py4J or Python: what is not there depends on version and session
        return None
    try:
        return _commit(version, _lines(session, lines))
    finally:
        lines.close()


def is_absent(session: SparkSession, path: str, table: str | None) -> bool:
    """Returns True if there is certainly no table in the folder ``path``. Returns False if a table exists. Also returns
    False if the function cannot know: the table has a name, the session lacks Delta, or the version of Delta lacks the
    necessary classes.

    A run into a new table asks about ten times whether the table exists. Spark would answer with an exception each
    time, and PySpark needs some forty milliseconds to translate it.

    Args:
        session: A classic session with Delta.
        path: The folder of the table. The path is ignored if the table has a name.
        table: The name of the table in the session's catalog, as SQL. None for a table without a name.
    """
    extensions = str(session.conf.get("spark.sql.extensions", "") or "")
    if table or SETTINGS["delta"]["spark.sql.extensions"] not in extensions:
        return False
    try:
        _, snapshot = _log_and_snapshot(session, path, None)
        return int(snapshot.version()) < 0
    except Exception:  # noqa: BLE001 - of Py4J or Python: what is not there depends on version and session
        return False


def checkpoint(session: SparkSession, path: str, table: str | None) -> int | None:
    """Writes a checkpoint of the current version of a Delta table, and returns the version.

    The result is None if there is no table, if it is in another catalog, or if the installed version of Delta lacks the
    necessary classes.

    Args:
        session: A classic session with Delta.
        path: The folder of the table. The path is ignored if the table has a name.
        table: The name of the table in the session's catalog, as SQL. None for a table without a name.
    """
    try:
        log, snapshot = _log_and_snapshot(session, path, table)
        log.checkpoint()
        return int(snapshot.version())
    except Exception:  # noqa: BLE001 - of Py4J or Python: what is not there depends on version and session
        return None


def note_vacuum(session: SparkSession, path: str, table: str | None, version: int) -> None:
    """Records in Delta's log that ``VACUUM`` has removed the files of all versions up to ``version``. If the session
    cannot write this record, the function does nothing.

    Without the record, ``VACUUM … LITE`` rejects a table whose log has lost its first versions.

    Args:
        session: A classic session with Delta.
        path: The folder of the table. The path is ignored if the table has a name.
        table: The name of the table in the session's catalog, as SQL. None for a table without a name.
        version: The version up to which the files have been removed. The log must still have this version.
    """
    try:
        log, _ = _log_and_snapshot(session, path, table)
        last_vacuum_info = java_class(session, "org.apache.spark.sql.delta.commands.LastVacuumInfo")
        info = last_vacuum_info.apply(java_class(session, "scala.Some")(version))
        last_vacuum_info.persistLastVacuumInfo(info, log)
    except Exception:  # noqa: BLE001 - of Py4J or Python: what is not there depends on version and session
        return


def live_files(session: SparkSession, path: str, table: str | None) -> DataFrame | None:
    """Returns the files of the current version of a Delta table. The columns are ``path`` and ``size``, the size in
    bytes.

    The result is None if there is no table, if it is in another catalog, or if the installed version of Delta lacks the
    necessary classes.

    Args:
        session: A classic session with Delta.
        path: The folder of the table. The path is ignored if the table has a name.
        table: The name of the table in the session's catalog, as SQL. None for a table without a name.
    """
    try:
        _, snapshot = _log_and_snapshot(session, path, table)
        files = snapshot.allFiles().toDF()
        return DataFrame(files, session).select("path", "size")
    except Exception:  # noqa: BLE001 - of Py4J or Python: what is not there depends on version and session
        return None


def _log_and_snapshot(session: SparkSession, path: str, table: str | None) -> tuple[Any, Any]:
    """Returns the Java objects for the log of a Delta table and for its current version. If ``table`` is a name, the
    function ignores ``path``.

    Raises:
        Exception: Py4J's or Python's error, if the session or the installed version of Delta lacks these classes.
    """
    delta_log = java_class(session, "org.apache.spark.sql.delta.DeltaLog")
    place = _identifier(session, table) if table else path
    log_and_snapshot = delta_log.forTableWithSnapshot(session._jsparkSession, place)
    return log_and_snapshot._1(), log_and_snapshot._2()


def _identifier(session: SparkSession, table: str) -> Any:
    """Returns the identifier of ``table`` in the session's own catalog, the only catalog that Delta's log reader knows.

    Raises:
        LookupError: The table is in another catalog.
    """
    name = session._jsparkSession.sessionState().sqlParser().parseTableIdentifier(table)
    database = name.database()
    # Spark reads the first part as a catalog if possible, else as a database
    catalog = database.get() if database.isDefined() else "spark_catalog"
    others = catalog != "spark_catalog" and session.conf.get(f"spark.sql.catalog.{catalog}", None) is not None
    if others or session.catalog.currentCatalog() != "spark_catalog":
        raise LookupError(table)
    return name


def _lines(session: SparkSession, lines: Any) -> Iterator[str]:
    """Yields the lines of a log file.

    Py4J sends a string of more than 8,192 characters in two packets. The second packet waits until the first has been
    acknowledged, which takes 40 milliseconds. A state is often that long, so a line is read in pieces.
    """
    scala_builder = java_class(session, "scala.collection.mutable.StringBuilder")
    java_builder = java_class(session, "java.lang.StringBuilder")
    while lines.hasNext():
        text = scala_builder()
        # lines.next() would send the whole line to Python at once
        lines.take(1).addString(text)
        # Java counts an emoji as two characters; a piece that ended between the two would damage both halves
        line = java_builder(text)
        left, start, pieces = line.codePointCount(0, line.length()), 0, []
        while left:
            count = min(left, _PIECE)
            end = line.offsetByCodePoints(start, count)
            pieces.append(line.substring(start, end))
            left, start = left - count, end
        yield "".join(pieces)


def _commit(version: int, lines: Iterator[str]) -> Commit | None:
    for line in lines:  # Delta writes the commit as the first line
        info = json.loads(line).get("commitInfo")
        if info is not None:
            return Commit(
                version=version,
                millis=int(info.get("timestamp") or 0),
                operation=info.get("operation") or "",
                parameters=info.get("operationParameters") or {},
                user_metadata=info.get("userMetadata"),
                metrics=info.get("operationMetrics") or {},
                read_version=info.get("readVersion"),
            )
    return None
