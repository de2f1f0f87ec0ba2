"""The code that the maintenance of all table formats shares: the protocol of the steps, file sizes, and errors about
other writers.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from dagster_smt.errors import Problem, TableError
from dagster_smt.model.reports.maintenance_report import StepResult
from dagster_smt.model.reports.table_facts import FileSizes
from dagster_smt.tables.sinks.protocol import Table

CONFLICT = "SMT805"


class Maintained(Protocol):
    """An object that maintains one table. It has one method for each maintenance step."""

    @property
    def table(self) -> Table:
        """The table."""
        ...

    def sizes(self, small_below: int) -> FileSizes:
        """Returns the number and the sizes of the files of the current version.

        Args:
            small_below: A file with fewer bytes is small.
        """
        ...

    def compact(self) -> StepResult:
        """Replaces small files with large ones.

        Raises:
            TableError: SMT805, a run changed the table at the same time.
        """
        ...

    def manifests(self) -> StepResult:
        """Replaces small manifests with large ones. See ``compact`` for the errors."""
        ...

    def expire(self) -> StepResult:
        """Removes old snapshots, and the files that only these snapshots need. See ``compact`` for the errors."""
        ...

    def clean_up(self) -> StepResult:
        """Removes the files that no version needs. See ``compact`` for the errors."""
        ...


def sizes_of(files: DataFrame, small_below: int) -> FileSizes:
    """Returns the number and the sizes of a table's files.

    Args:
        files: A data frame with a row for each file. The column ``size`` contains the size of the file.
        small_below: A file with fewer bytes is small.
    """
    small = F.sum(F.when(F.col("size") < F.lit(small_below), 1).otherwise(0))
    row = files.agg(F.count("*"), F.sum("size"), small).collect()[0]
    return FileSizes(int(row[0] or 0), int(row[1] or 0), int(row[2] or 0))


@contextmanager
def conflicts(pattern: re.Pattern[str], place: str) -> Iterator[None]:
    """Converts an error about a concurrent writer into SMT805, if the block raises such an error.

    Args:
        pattern: A regular expression that matches the table format's messages about a concurrent writer.
        place: The table.

    Raises:
        TableError: SMT805, another writer changed the table at the same time.
    """
    try:
        yield
    except TableError:
        raise
    except Exception as error:  # raised by PySpark or by Py4J, depending on the session
        if not pattern.search(str(error)):
            raise
        statement = "a run or another writer changed the table while this step was at work; the step changed nothing"
        hint = "launch the job again when fewer runs are at work"
        raise TableError(Problem("SMT805", place, statement, hint)) from None
