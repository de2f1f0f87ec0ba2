"""Maintains Delta tables with ``OPTIMIZE`` and ``VACUUM``.

``VACUUM`` removes two kinds of files:

- Files that only old versions of the table need. They stay as long as the option ``retention_hours`` says.
- Files that no version references. A running job may be about to commit them, so they stay for at least ``SAFE_HOURS``.

A retention below ``SAFE_HOURS`` applies only to files of the first kind, which ``VACUUM … LITE`` finds in the log.
There is one exception: in an erasure while no run is writing, files of both kinds are removed at once.
"""

import re

from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F

from dagster_smt.errors import Problem, TableError
from dagster_smt.model.reports.maintenance_report import StepResult
from dagster_smt.model.reports.table_facts import FileSizes
from dagster_smt.tables.maintenance.maintenance_options import SAFE_HOURS, SmtMaintenance
from dagster_smt.tables.maintenance.maintenance_steps import conflicts, sizes_of
from dagster_smt.tables.maintenance.nested import tables_inside
from dagster_smt.tables.sinks.delta import DeltaTable
from dagster_smt.tables.sinks.delta_log import live_files
from dagster_smt.tables.sinks.merge import shared_setting, undisturbed

_CONFLICT = re.compile(
    r"Concurrent\w+Exception|MetadataChangedException|ProtocolChangedException"
    r"|DELTA_(?:CONCURRENT_|METADATA_CHANGED|PROTOCOL_CHANGED|MULTIPLE_CONFLICTS)"
)
_NO_LITE = re.compile(r"DELTA_CANNOT_VACUUM_LITE")
_LONGER = re.compile(r"low retention period|retentionDurationCheck")
_CHECK = "spark.databricks.delta.retentionDurationCheck.enabled"


class DeltaMaintenance:
    """Maintains one Delta table: it compacts files with ``OPTIMIZE``, and removes files with ``VACUUM``."""

    def __init__(self, session: SparkSession, table: DeltaTable, options: SmtMaintenance):
        self.session, self.table, self.options = session, table, options
        self.name, self.place = table.name, table.spec.place

    def sizes(self, small_below: int) -> FileSizes:
        """Returns the number and the sizes of the files of the table's current version.

        Args:
            small_below: A file with fewer bytes is small.
        """
        files = live_files(self.session, str(self.table.spec.path), self.table.spec.table)
        if files is None:
            metadata = "_metadata.file_path AS path, _metadata.file_size AS size"
            files = self.session.sql(f"SELECT DISTINCT {metadata} FROM {self.name}")
        return sizes_of(files, small_below)

    def compact(self) -> StepResult:
        """Rewrites small files into larger ones with ``OPTIMIZE``, which also clusters a table with
        clustering columns.
        """
        # so that this commit does not get the metadata of a concurrent MERGE
        with conflicts(_CONFLICT, self.place), undisturbed(self.session):
            metrics = self.session.sql(f"OPTIMIZE {self.name}").collect()[0].metrics
        return StepResult(metrics.numFilesRemoved, metrics.numFilesAdded, metrics.filesRemoved.totalSize)

    def manifests(self) -> StepResult:
        """Does nothing, because a Delta table has no manifests, unlike an Iceberg table."""
        return StepResult()

    def expire(self) -> StepResult:
        """Does nothing. A Delta table has no snapshots to expire. Its log must stay, because the log holds the table's
        progress.
        """
        return StepResult()

    def clean_up(self) -> StepResult:
        """Removes two kinds of files: files that only versions older than ``retention_hours`` need, and old files that
        no version references.

        Raises:
            TableError: SMT805, another writer changed the table at the same time; SMT809, a property of the table
                requires a longer retention; SMT810, the folder contains another table, whose files ``VACUUM`` would
                remove.
        """
        return self.remove_files(max(self.options.retention_hours, SAFE_HOURS))

    def remove_files(self, safe_hours: float) -> StepResult:
        """Removes two kinds of files: files that only versions older than ``retention_hours`` need, and old files that
        no version references.

        Args:
            safe_hours: Files that no version references are removed if they are older than this number of hours. The
                number is used only with the option ``allow_short_retention``. Without the option, such files are
                removed after ``retention_hours``.

        Raises:
            TableError: See ``clean_up``.
        """
        detail = self._detail()
        if other := tables_inside(self.session, str(detail.location)):
            statement = f"its folder holds another table, whose files VACUUM would remove: {other[0]}"
            hint = "move that table elsewhere, or switch clean_up off"
            raise TableError(Problem("SMT810", self.place, statement, hint))
        before = self._last_version()
        hours = self.options.retention_hours
        if not self.options.allow_short_retention:
            self._vacuum("", hours)
            return self._removed(before)
        with shared_setting(self.session, _CHECK, "false"):
            # LITE removes only files that a commit has removed from the table, so it cannot remove the files of a
            # running job, however short the retention is
            self._vacuum("LITE", hours)
            self._vacuum("", safe_hours)
        return self._removed(before)

    def _detail(self) -> Row:
        return self.session.sql(f"DESCRIBE DETAIL {self.name}").collect()[0]

    def _vacuum(self, kind: str, hours: float) -> None:
        try:
            with conflicts(_CONFLICT, self.place), undisturbed(self.session):
                self.session.sql(f"VACUUM {self.name} {kind} RETAIN {float(hours)!r} HOURS").collect()
        except TableError:
            raise
        except Exception as error:  # raised by PySpark or by Py4J, depending on the session
            # LITE needs the beginning of the log, which an erasure may have removed
            if kind == "LITE" and _NO_LITE.search(str(error)):
                return
            if not _LONGER.search(str(error)):
                raise
            statement = f"the table keeps removed files for more than {hours:g} hours"
            hint = "raise retention_hours to delta.deletedFileRetentionDuration of the table, or change that property"
            raise TableError(Problem("SMT809", self.place, statement, hint)) from None

    def _last_version(self) -> int:
        return int(self.session.sql(f"DESCRIBE HISTORY {self.name} LIMIT 1").collect()[0].version)

    def _removed(self, before: int) -> StepResult:
        """Returns the number and size of the files that ``VACUUM`` removed, according to the table's log.

        Args:
            before: The version of the table before ``VACUUM``. Only later entries of the log are read.

        Returns:
            The number and size. The number is None if the log does not contain these entries, as on some file systems.
        """
        history = self.session.sql(f"DESCRIBE HISTORY {self.name} LIMIT 20")
        files, size = 0, 0
        # each VACUUM adds two entries: VACUUM START with the size of the files, and VACUUM END with their number
        notes = history.where(F.col("version") > before).select("operation", "operationMetrics").collect()
        ends = []
        for note in notes:
            if note.operation == "VACUUM END":
                ends.append(note.operationMetrics)
        for note in notes:
            if note.operation == "VACUUM START":
                size += int(note.operationMetrics.get("sizeOfDataToDelete", 0))
        for metrics in ends:
            files += int(metrics.get("numDeletedFiles", 0))
        if not ends:
            return StepResult(None)
        return StepResult(files, 0, size)


def vacuum_now(session: SparkSession, table: DeltaTable, *, no_writers: bool) -> int | None:
    """Removes the files that only old versions of a Delta table need. An erasure requires this, because old files still
    contain erased values.

    Args:
        session: The Spark session.
        table: The table.
        no_writers: True if no run is writing. Files that no version references are then also removed, whatever their
            age. Otherwise, such a file is removed only if it is older than ``SAFE_HOURS``.

    Returns:
        The number of removed files; None if Delta does not report it.

    Raises:
        TableError: See ``clean_up``.
    """
    hours = 0.0 if no_writers else SAFE_HOURS
    options = SmtMaintenance(retention_hours=0, allow_short_retention=True)
    return DeltaMaintenance(session, table, options).remove_files(hours).removed
