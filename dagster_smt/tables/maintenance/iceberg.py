"""Maintains Iceberg tables with the procedures of Iceberg's catalog.

Each run writes a marker, such as ``17.5f3a``, into the summary of its snapshot. The marker shows which of the stored
states (offsets and counts) is the current one. If the snapshot expired, the marker would be lost. So ``anchor`` copies
the marker into a table property before snapshots expire.

A run that is at work writes to a branch of its own. This branch must keep its connection to ``main``. Two facts ensure
this:

- Iceberg removes only branches with an age limit, and the run's branch has none.
- At least the last five snapshots of each branch stay (``retain_last``). A run adds at most three.
"""

import re
from datetime import datetime, timedelta, timezone
from typing import Any

from pyspark.sql import SparkSession

from dagster_smt.errors import Problem, TableError
from dagster_smt.model.reports.maintenance_report import StepResult
from dagster_smt.model.reports.table_facts import FileSizes
from dagster_smt.tables.maintenance.maintenance_options import SAFE_HOURS, SmtMaintenance
from dagster_smt.tables.maintenance.maintenance_steps import conflicts, sizes_of
from dagster_smt.tables.sinks.iceberg import IcebergTable
from dagster_smt.tables.sinks.replaced_rows import procedure_argument

_CONFLICT = re.compile(
    r"CommitFailed|ommit conflict|onflicting|metadata refresh is required|ValidationException"
    r"|Missing required files to delete|Cannot commit"
)
_NO_FOLDER = re.compile(r"FileNotFoundException|does not exist|PATH_NOT_FOUND")
_FOLDERS = ("data", "metadata")


class IcebergMaintenance:
    """Maintains one Iceberg table: it compacts data files and manifests, and removes old snapshots and unused files."""

    def __init__(self, session: SparkSession, table: IcebergTable, options: SmtMaintenance):
        self.session, self.table, self.options = session, table, options
        self.name, self.place = table.name, table.spec.place

    def sizes(self, small_below: int) -> FileSizes:
        """Returns the number and the sizes of the files of the table's current version.

        Args:
            small_below: A file with fewer bytes is small.
        """
        # content 0 means data files; 1 and 2 mean files that list deleted rows
        files = self.session.sql(f"SELECT file_size_in_bytes AS size FROM {self.name}.files WHERE content = 0")
        return sizes_of(files, small_below)

    def compact(self) -> StepResult:
        """Rewrites small files into larger ones with ``rewrite_data_files``. If the table has a sort order, the rows
        are sorted.

        Raises:
            TableError: SMT805, another writer changed the table at the same time; SMT811, some files could not be
                rewritten.
        """
        ordered = any(row.key == "sort-order" for row in self._properties())
        row = self._call("rewrite_data_files", *(["strategy => 'sort'"] if ordered else []))
        if failed := row.failed_data_files_count:
            hint = "the log of the Spark application has the reason"
            raise TableError(Problem("SMT811", self.place, f"{failed} files could not be rewritten", hint))
        return StepResult(row.rewritten_data_files_count, row.added_data_files_count, row.rewritten_bytes_count)

    def manifests(self) -> StepResult:
        """Calls ``rewrite_manifests``, which replaces many small manifests with a few large ones."""
        row = self._call("rewrite_manifests", "use_caching => false")
        return StepResult(row.rewritten_manifests_count, row.added_manifests_count)

    def expire(self) -> StepResult:
        """Calls ``expire_snapshots``, which removes snapshots that are older than the option ``retention_hours``.

        Raises:
            TableError: SMT805, another writer changed the table at the same time; SMT812, only a snapshot contains the
                marker of the table's state, so no snapshot may expire.
        """
        if not self.table.anchor():
            hint = "launch the job again when fewer runs are at work"
            statement = "no property names the snapshot of its progress yet, so no snapshot may expire"
            raise TableError(Problem("SMT812", self.place, statement, hint))
        older = _before(self.options.retention_hours)
        row = self._call("expire_snapshots", older, f"retain_last => {int(self.options.retain_last)}")
        # the row has a count for each kind of file: data files, delete files, manifests and more
        return StepResult(sum(count for count in row if isinstance(count, int)))

    def clean_up(self) -> StepResult:
        """Calls ``remove_orphan_files``, which removes files that belong to no snapshot. A file stays if it is younger
        than the option ``retention_hours``, or younger than 168 hours.

        The method searches only the folders ``data`` and ``metadata``, because the folder of the table may contain
        another table.
        """
        older, location, removed = _before(max(self.options.retention_hours, SAFE_HOURS)), self._location(), 0
        for folder in _FOLDERS:
            try:
                place = procedure_argument(self.session, f"{location}/{folder}")
                removed += len(self._rows("remove_orphan_files", older, f"location => {place}"))
            except TableError:
                raise
            except Exception as error:  # raised by PySpark or by Py4J, depending on the session
                if not _NO_FOLDER.search(str(error)):  # the data folder of a table without rows does not exist
                    raise
        return StepResult(removed)

    def _properties(self) -> list[Any]:
        return self.session.sql(f"SHOW TBLPROPERTIES {self.name}").collect()

    def _location(self) -> str:
        rows = self.session.sql(f"DESCRIBE TABLE EXTENDED {self.name}").collect()
        # a column may also have this name, but the output lists columns first
        locations = [str(row.data_type) for row in rows if row.col_name == "Location"]
        return locations[-1].rstrip("/")

    def _call(self, procedure: str, *arguments: str) -> Any:
        return self._rows(procedure, *arguments)[0]

    def _rows(self, procedure: str, *arguments: str) -> list[Any]:
        listed = ", ".join([f"table => {procedure_argument(self.session, self.name)}", *arguments])
        with conflicts(_CONFLICT, self.place):
            return self.session.sql(f"CALL {self.table.catalog}.system.{procedure}({listed})").collect()


def expire_now(session: SparkSession, table: IcebergTable) -> int:
    """Removes all snapshots of ``table`` except the last one of each branch. An erasure does this, because old
    snapshots still contain erased values. Returns the number of removed files.

    Raises:
        TableError: SMT805, another writer changed the table meanwhile.
    """
    # the literal has whole seconds, so without the additional second, the snapshots of the current second would stay
    now = datetime.now(timezone.utc) + timedelta(seconds=1)
    older = f"older_than => TIMESTAMP '{now:%Y-%m-%d %H:%M:%S}+00:00'"
    row = IcebergMaintenance(session, table, SmtMaintenance())._call("expire_snapshots", older, "retain_last => 1")
    return sum(count for count in row if isinstance(count, int))


def _before(hours: float) -> str:
    """Returns the procedure argument ``older_than``, which selects all snapshots and files that are older than this
    number of hours.

    The time in the argument contains microseconds. A time in whole seconds would leave out the snapshots of the current
    second.
    """
    moment = datetime.now(timezone.utc) - timedelta(hours=float(hours))
    return f"older_than => TIMESTAMP '{moment:%Y-%m-%d %H:%M:%S.%f}+00:00'"
