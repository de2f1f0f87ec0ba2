"""Finds the snapshot of this package that describes the current rows of an Iceberg table. The search begins at
``main``, and goes from each snapshot to its parent.

Other writers may have added snapshots after ours, or rolled the table back. If a snapshot has expired, the current
metadata no longer names its parent. The search then continues in earlier metadata files of the table, which still name
the parent.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from dagster_smt.tables.sinks.protocol import ForeignCommit

MARK = "dagster_smt.commit"
"""The snapshot property that contains the marker of a state, such as ``17.5f3a``."""
BASE = "dagster_smt.base"
"""The snapshot property that names the snapshot at which a run's branch began. For example, snapshot 30 has this
property with the value 10. Then all snapshots after 10, up to 30, come from this run.
"""
COLUMNS = "snapshot_id, parent_id, operation, summary, unix_millis(committed_at) AS millis"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One snapshot of an Iceberg table.

    Attributes:
        id, parent: The id of the snapshot, and the id of the snapshot before it.
        operation: ``append``, ``overwrite``, ``delete`` or ``replace`` (of files, not of rows).
        summary: The summary, with the entries of Iceberg and of the writer.
        millis: The time of the snapshot, in milliseconds.
    """

    id: str
    parent: str | None
    operation: str
    summary: Mapping[str, str]
    millis: int

    @property
    def mark(self) -> str:
        """The marker of our state in the snapshot. Empty if the snapshot has no marker."""
        return self.summary.get(MARK, "")

    def with_mark(self, mark: str) -> "Snapshot":
        """Returns a copy of the snapshot with the marker ``mark``, which comes from a table property."""
        return replace(self, summary={**self.summary, MARK: mark})

    def _count(self, name: str) -> int:
        return int(self.summary.get(name) or 0)

    @property
    def _leaves_nothing(self) -> bool:
        """True if the snapshot has removed all rows that the table contained before, or has rewritten them."""
        gone = self._count("deleted-records") > 0 and "total-records" in self.summary
        # if the table has as many rows as the snapshot added, no earlier row is left in its old file
        return gone and self._count("total-records") == self._count("added-records")

    @property
    def replaces(self) -> bool:
        """True if the snapshot certainly has removed all rows that the table contained before."""
        if self.operation == "replace" or not self._leaves_nothing:
            return False
        return self._count("added-records") == 0 or self.summary.get("replace-partitions") == "true"

    @property
    def may_replace(self) -> bool:
        """True if the snapshot rewrote all rows and changed their number.

        This may mean that no earlier row is left. However, a DELETE of single rows in a table's only file may look the
        same.
        """
        if self.operation != "overwrite" or self.replaces or not self._leaves_nothing:
            return False
        return self._count("added-records") != self._count("deleted-records")

    @property
    def foreign(self) -> ForeignCommit:
        """The snapshot as a foreign commit (a commit of another writer), for messages."""
        return ForeignCommit(f"snapshot {self.id}", self.operation, self.millis)


def snapshot_of(row: Any) -> Snapshot:
    """Returns the snapshot that ``row`` describes. The row has the columns in ``COLUMNS``."""
    parent = None if row.parent_id is None else str(row.parent_id)
    return Snapshot(str(row.snapshot_id), parent, row.operation or "", dict(row.summary or {}), int(row.millis))


def older_snapshots(session: SparkSession, table: str) -> Iterator[dict[str, Snapshot]]:
    """Reads the earlier metadata files of ``table``, the latest file first. For each file, yields its snapshots as a
    dict from id to snapshot. Stops at the first file that cannot be read.

    Args:
        session: A Spark session that can read these files.
        table: The table's name, as SQL.
    """
    rows = session.sql(f"SELECT file FROM {table}.metadata_log_entries ORDER BY timestamp DESC").collect()
    # the first entry is the current metadata file, whose snapshots the caller already knows
    for row in rows[1:]:
        try:
            text = session.read.text(_readable(row.file), wholetext=True).collect()[0][0]
            data = json.loads(text)
        # the file is missing, compressed, or on a file system that Spark cannot read
        except (PySparkException, ValueError, IndexError):
            return
        snapshots = {}
        for s in map(_from_json, data.get("snapshots", ())):
            snapshots[s.id] = s
        yield snapshots


def _readable(file: str) -> str:
    """Returns the path ``file`` in a form that Spark reads literally. Otherwise Spark would interpret braces and stars
    as a pattern.
    """
    special = "\\{}[]*?,"
    texts = []
    for c in file:
        texts.append(f"\\{c}" if c in special else c)
    return "".join(texts)


def _from_json(data: Mapping[str, Any]) -> Snapshot:
    summary = {}
    for k, v in data.get("summary", {}).items():
        summary[str(k)] = str(v)
    parent = data.get("parent-snapshot-id")
    return Snapshot(
        str(data["snapshot-id"]),
        None if parent in (None, -1) else str(parent),
        summary.pop("operation", ""),
        summary,
        int(data.get("timestamp-ms", 0)),
    )


@dataclass(frozen=True, slots=True)
class WayBack:
    """The result of a search backwards from a snapshot.

    Attributes:
        passed: The snapshots of other writers that the search has passed, the newest snapshot first.
        marked: The newest snapshot with a marker (a string such as ``17.5f3a``, which a run writes). None if there is
            no such snapshot.
        expired: The expired snapshot at which the search ended; empty if it ended elsewhere.
    """

    passed: Sequence[Snapshot]
    marked: Snapshot | None = None
    expired: str = ""


def way_back(head: str | None, known: Mapping[str, Snapshot]) -> WayBack:
    """Searches for the newest snapshot with a marker, which a run has written. The search begins at the snapshot
    ``head``, and goes from each snapshot to its parent.

    Args:
        head: The id of the first snapshot. None if the table has no snapshot.
        known: The snapshots that are still known, by id.
    """
    passed: list[Snapshot] = []
    at = head
    while at is not None and at in known:
        if known[at].mark:
            return WayBack(passed, known[at])
        passed.append(known[at])
        at = known[at].parent
    return WayBack(passed, expired=at or "")


def foreign_of(head: str | None, known: Mapping[str, Snapshot]) -> list[ForeignCommit]:
    """Returns the commits of other writers that may have changed rows. The search begins at the snapshot ``head``, and
    goes from each snapshot to its parent. From a snapshot of this package, the search goes to the snapshot at which the
    run's branch began. The search ends at a snapshot that is not in ``known``, for example because this snapshot has
    expired.

    Args:
        head: The id of the first snapshot. None if the table has no snapshot.
        known: The snapshots that are still known, by id.
    """
    commits: list[ForeignCommit] = []
    at = head
    while at is not None and at in known:
        snapshot = known[at]
        at = snapshot.parent
        if snapshot.mark:
            # BASE is empty if the branch began when the table had no snapshot
            at = snapshot.summary.get(BASE, at) or None
        elif snapshot.operation != "replace":
            commits.append(snapshot.foreign)
    return commits
