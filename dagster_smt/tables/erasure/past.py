"""Removes old versions of a table after an erasure: their data files, the statistics of these files, and the log or the
manifests that contain these statistics.

Each old version still contains the values, so an erasure keeps only the current version. Afterwards, time travel,
restores and queries of older versions are impossible.
"""

import re
from collections.abc import Iterator
from typing import Any

from pyspark.sql import SparkSession

from dagster_smt.errors import Problem, TableError
from dagster_smt.tables.erasure.row_erasure import LakeTable
from dagster_smt.tables.erasure.stored_files import files_of
from dagster_smt.tables.maintenance.delta import vacuum_now
from dagster_smt.tables.maintenance.iceberg import expire_now
from dagster_smt.tables.sinks.delta import DeltaTable
from dagster_smt.tables.sinks.delta_log import checkpoint, note_vacuum
from dagster_smt.tables.sinks.iceberg import IcebergTable
from dagster_smt.tables.sinks.merge import session_with, undisturbed
from dagster_smt.tables.sinks.replaced_rows import procedure_argument

# by default, OPTIMIZE leaves a file as it is if only few of its rows are deleted
_EVERY_VECTOR = {"spark.databricks.delta.optimize.maxDeletedRowsRatio": "0"}
# the files of version 7 in Delta's log are 00000000000000000007.json and, with the same digits, its checkpoint
_VERSION = re.compile(r"(?:^|/)(\d{20})\.")


def purge_deleted_rows(session: SparkSession, table: LakeTable) -> str:
    """Rewrites the data files of ``table`` that still contain deleted rows. Without this step, Delta and Iceberg may
    leave deleted rows in the data files and only list them in a second file.

    Returns:
        A description of the work; empty if nothing had to be done.
    """
    if isinstance(table, DeltaTable):
        detail = session.sql(f"DESCRIBE DETAIL {table.name}").collect()[0]
        if "deletionVectors" not in (detail.tableFeatures or ()):
            return ""
        with undisturbed(session), session_with(session, _EVERY_VECTOR) as own:  # REORG fails with Spark 4.0.5
            own.sql(f"OPTIMIZE {table.name}").collect()
        return "OPTIMIZE: files with deletion vectors are rewritten without the deleted rows"
    deletes = session.sql(f"SELECT count(*) AS n FROM {table.name}.all_delete_files").collect()[0].n
    if not deletes:
        return ""
    # rewrites each data file that has a delete file, and removes delete files that no data file needs any more
    options = "options => map('delete-file-threshold', '1', 'remove-dangling-deletes', 'true')"
    call = (
        f"CALL {table.catalog}.system.rewrite_data_files(table => {procedure_argument(session, table.name)}, {options})"
    )
    session.sql(call).collect()
    return "rewrite_data_files: no delete file is needed"


def remove_past(session: SparkSession, table: LakeTable, *, no_writers: bool) -> Iterator[str]:
    """Removes all versions of ``table`` except the current one, and yields a description of each step.

    Args:
        session: The Spark session.
        table: The Delta or Iceberg table.
        no_writers: True if no run is writing. Files that no version references are then removed immediately, instead of
            after 168 hours.

    Raises:
        TableError: SMT805, another writer changed the table meanwhile; SMT810, the folder contains another table;
            SMT812, no property of an Iceberg table contains the marker of its state, so no snapshot may expire.
    """
    if isinstance(table, DeltaTable):
        yield from _remove_past_of_delta(session, table, no_writers=no_writers)
    else:
        yield from _remove_past_of_iceberg(session, table)


def _remove_past_of_delta(session: SparkSession, table: DeltaTable, *, no_writers: bool) -> Iterator[str]:
    _note_begin_of_log(session, table)
    files = vacuum_now(session, table, no_writers=no_writers)
    yield f"VACUUM: {'files' if files is None else f'{files} files'} of older versions are removed"
    removed = _remove_log(session, table)
    if removed is None:
        yield "the log is kept: this session cannot write a checkpoint, so older statistics stay in it"
        return
    yield f"log: {removed} files of older versions are removed, after a checkpoint"


def _note_begin_of_log(session: SparkSession, table: DeltaTable) -> None:
    """Allows ``VACUUM`` after an earlier erasure has removed the beginning of the log of ``table``. Without this
    function, ``VACUUM`` rejects such a table.

    The function writes an entry to Delta's log: the files of all versions before the remaining log have been removed. A
    ``VACUUM`` writes the same entry. The entry is true, because the earlier erasure also removed these files. The entry
    names the first version of the remaining log, because Delta rejects an entry about a version that the log no longer
    has.
    """
    folder = f"{_location(session, table)}/_delta_log"
    files = files_of(session, folder)
    versions = []
    for file in files.below(folder) if files is not None else ():
        match = _VERSION.search(file.inside)
        if match is not None and file.inside.endswith(".json"):
            versions.append(int(match[1]))
    if versions and min(versions) > 0:
        note_vacuum(session, str(table.spec.path), table.spec.table, min(versions))


def _location(session: SparkSession, table: DeltaTable) -> str:
    return str(session.sql(f"DESCRIBE DETAIL {table.name}").collect()[0].location).rstrip("/")


def _remove_log(session: SparkSession, table: DeltaTable) -> int | None:
    """Removes those files of the Delta log of ``table`` that were written before our last commit, because their
    statistics contain values of deleted rows.

    Our commit stays, because it contains the state of the table. The function first writes a checkpoint of the current
    version, so no reader needs the earlier log.

    Returns:
        The number of removed files; None if the session cannot write a checkpoint.
    """
    version = checkpoint(session, str(table.spec.path), table.spec.table)
    if version is None:
        return None
    own = table.version_of_state()
    if own is None:  # a table of dead letters contains no state
        own = version
    folder = f"{_location(session, table)}/_delta_log"
    files = files_of(session, folder)
    if files is None:
        return None
    removed = 0
    for file in list(files.below(folder)):
        match = _VERSION.search(file.inside)
        if match is not None and int(match[1]) < own:
            files.remove(file)
            removed += 1
    return removed


def rewrite_manifest(session: SparkSession, table: LakeTable) -> Iterator[str]:
    """Rewrites all data files of ``table``, if it is an Iceberg table, and yields a description of each step.

    The rewrite removes values of erased people from the table's only manifest. For each data file, a manifest contains
    the least and the greatest value of each column, even if the data file has been deleted. Iceberg does not rewrite a
    manifest if it is the only one. So the data files must be rewritten.
    """
    if not isinstance(table, IcebergTable):
        return
    options = "options => map('rewrite-all', 'true')"
    name = procedure_argument(session, table.name)
    session.sql(f"CALL {table.catalog}.system.rewrite_data_files(table => {name}, {options})").collect()
    yield "rewrite_data_files: a manifest has listed deleted files beside others, so all files are rewritten"
    yield from _remove_past_of_iceberg(session, table)


def _remove_past_of_iceberg(session: SparkSession, table: IcebergTable) -> Iterator[str]:
    """Removes the old snapshots of the Iceberg table ``table``, and yields a description of each step.

    The function first rewrites the manifests of the current snapshot. These manifests may still contain the least and
    the greatest values of files that have been deleted.
    """
    # an empty append drops manifests that list only deleted files
    session.table(table.name).limit(0).writeTo(table.name).append()
    arguments = f"table => {procedure_argument(session, table.name)}, use_caching => false"
    session.sql(f"CALL {table.catalog}.system.rewrite_manifests({arguments})").collect()
    if not table.anchor():
        hint = "launch the erasure again when no run is at work"
        statement = "no property names the snapshot of its progress yet, so no snapshot may expire"
        raise TableError(Problem("SMT812", table.spec.place, statement, hint))
    removed = expire_now(session, table)
    yield f"expire_snapshots: {removed} files of older snapshots are removed"
    refs: list[Any] = session.sql(f"SELECT name FROM {table.name}.refs WHERE name <> 'main'").collect()
    if refs:
        yield f"{len(refs)} branches or tags keep older snapshots: drop them"
