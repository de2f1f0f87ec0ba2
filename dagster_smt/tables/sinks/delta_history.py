"""Finds the commit of this package that describes the current rows of a Delta table. Usually this is our newest commit.

After a ``RESTORE``, the search continues at the restored version. For example, if version 9 restored version 5, the
search continues with version 5 and the versions before it. If another writer has replaced or emptied the table, no
state is valid any more.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import Row

from dagster_smt.model.topics.state import TableState
from dagster_smt.tables.sinks.protocol import ForeignCommit

APPLICATION = "dagster_smt"
EMPTY_COMMITS = "spark.databricks.delta.skipRecordingEmptyCommits"
_REPLACING = ("CREATE OR REPLACE", "REPLACE TABLE", "CLONE", "CONVERT")
_OVERWRITING = ("Overwrite", "Complete", "OVERWRITE")
_ROWS = ("WRITE", "STREAMING UPDATE", "DELETE", "UPDATE", "MERGE", "TRUNCATE", "RESTORE", "COPY INTO", *_REPLACING)


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit of a Delta log, as ``DESCRIBE HISTORY`` lists it.

    Attributes:
        version: The version that the commit created.
        millis: The time of the commit, in milliseconds.
        operation: The operation: ``WRITE``, ``RESTORE``, ….
        parameters: The parameters of the operation.
        user_metadata: The string that the writer stored in the commit.
        metrics: The numbers of files and rows that the commit changed.
        read_version: The version that the writer had read before the commit. None if unknown.
    """

    version: int
    millis: int = 0
    operation: str = ""
    parameters: dict[str, Any] = field(default_factory=dict)
    user_metadata: str | None = None
    metrics: dict[str, Any] = field(default_factory=dict)
    read_version: int | None = None

    @property
    def restores(self) -> bool:
        """True if the commit restores an older version."""
        return self.operation == "RESTORE"

    @property
    def replaces(self) -> bool:
        """True if the commit removed all earlier rows of the table. Examples are a ``TRUNCATE`` and an overwrite."""
        if self.operation == "DELETE":
            # for a DELETE of all rows, Spark writes the predicate ["true"], and delta-rs writes none
            return str(self.parameters.get("predicate") or "[]").strip() in ("[]", '["true"]', "true")
        if self.operation in ("WRITE", "STREAMING UPDATE"):
            # With a predicate (replaceWhere), an overwrite removes only some rows. A stream with the output mode
            # Complete writes all rows again in each commit.
            mode = self.parameters.get("mode") or self.parameters.get("outputMode")
            return mode in _OVERWRITING and not self.parameters.get("predicate")
        return self.operation == "TRUNCATE" or self.operation.startswith(_REPLACING)

    @property
    def changes_rows(self) -> bool:
        """True if the commit may have added, changed or removed rows.

        False for a commit that appends no rows. For example, a run may commit new columns of the table, but no rows.
        """
        if self.operation == "WRITE" and self.parameters.get("mode") == "Append":
            # a commit without metrics may have added rows
            return str(self.metrics.get("numOutputRows", "")) != "0"
        return self.operation.startswith(_ROWS)


def commit_of(row: Row) -> Commit:
    """Converts ``row`` into a commit. ``row`` comes from ``DESCRIBE HISTORY``, and has one more column, ``millis``: the
    time of the commit in milliseconds.
    """
    return Commit(
        version=int(row.version),
        millis=int(row.millis or 0),
        operation=row.operation or "",
        parameters=dict(row.operationParameters or {}),
        user_metadata=row.userMetadata,
        metrics=dict(row.operationMetrics or {}),
        read_version=row.readVersion,
    )


def foreign(commit: Commit) -> ForeignCommit:
    """Converts ``commit``, a commit of another writer, into a ``ForeignCommit``, which messages can show."""
    return ForeignCommit(f"version {commit.version}", commit.operation, commit.millis)


def foreign_changes(
    commits: Sequence[Commit], state_of: Callable[[Commit], TableState | None], seen: int, last: int
) -> list[ForeignCommit]:
    """Returns the commits of other writers that may have changed rows.

    Args:
        commits: The log.
        state_of: Returns the state in a commit. Returns None for a commit of another writer.
        seen: Only versions after this one are considered.
        last: The last version that is considered.
    """
    changes = []
    for commit in commits:
        if seen < commit.version <= last and state_of(commit) is None and commit.changes_rows:
            changes.append(foreign(commit))
    return changes


@dataclass(frozen=True, slots=True)
class Standing:
    """The result of the search for the state that describes a table's rows. The search goes backwards through Delta's
    log.

    Attributes:
        state: The state in the commit of this package that wrote the rows. None if the search reached no such commit.
        replaced: The newest commit with which another writer has later removed all of these rows. None if there is no
            such commit.
        lost: A phrase such as ``version 5``: the table was restored to this version, which the log no longer contains.
            Otherwise empty.
        ended: True if the search stopped early, because the commits that it searched do not go back far enough.
    """

    state: TableState | None = None
    replaced: Commit | None = None
    lost: str = ""
    ended: bool = False


def standing(
    commits: Sequence[Commit],
    decode: Callable[[str | None], TableState | None],
    version_at: Callable[[Commit, Sequence[Commit]], int | None],
    *,
    whole: bool = True,
) -> Standing:
    """Searches the log for the commit of this package that describes the table's current rows. The search begins at the
    last commit, and goes backwards.

    Args:
        commits: The log, the last commit first.
        whole: True if ``commits`` contains all commits of the log.
        decode: Returns the state in the metadata of a commit. Returns None for a commit of another writer.
        version_at: Returns the version to which a restore by timestamp has set the table. Returns None if the version
            is unknown.
    """
    known = {commit.version: commit for commit in commits}
    at, replaced = commits[0].version, None
    while at in known:  # a restore always leads to an older version, so the loop ends
        commit = known[at]
        state = decode(commit.user_metadata)
        if state is not None:
            return Standing(state, replaced or _replaced_below(commit, known))
        if commit.restores:
            version = _restored(commit, commits, version_at)
            # the caller reads more of the log and searches again
            if version >= 0 and version not in known and not whole:
                return Standing(ended=True)
            if version not in known:
                return Standing(replaced=replaced, lost=_target(commit))
            at = version
            continue
        if commit.replaces:
            replaced = replaced or commit
        at -= 1
    return Standing(replaced=replaced, ended=at >= 0)


def _replaced_below(commit: Commit, known: dict[int, Commit]) -> Commit | None:
    """Returns the commit with which another writer replaced all rows while a run was writing ``commit``. Returns None
    if there is no such commit.

    For example, a run reads version 5 and appends rows as version 7, and version 6 is another writer's overwrite. Delta
    accepts such an append without an error.

    Args:
        commit: A commit of this package.
        known: The commits of the log by version.
    """
    if commit.read_version is None:
        return None
    between = map(known.get, range(commit.version - 1, commit.read_version, -1))
    for c in between:
        if c is not None and (c.restores or c.replaces):
            return c
    return None


def _restored(
    commit: Commit, commits: Sequence[Commit], version_at: Callable[[Commit, Sequence[Commit]], int | None]
) -> int:
    """Returns the version to which ``commit``, a restore, has set the table. Returns -1 if the version is unknown.

    Args:
        commit: The commit of the restore.
        commits: The log, the last commit first.
        version_at: Returns the version for a restore by timestamp.
    """
    version = commit.parameters.get("version")
    target = int(version) if version is not None else version_at(commit, commits)
    # only a step to an earlier version is possible, and only such steps let the search in ``standing`` end
    if target is None or target >= commit.version:
        return -1
    return target


def _target(commit: Commit) -> str:
    """Returns a phrase for the target of ``commit``, a restore: ``version 5`` or ``the version of 2026-01-31``."""
    version = commit.parameters.get("version")
    if version is not None:
        return f"version {version}"
    return f"the version of {commit.parameters.get('timestamp') or commit.parameters.get('datetime')}"


def commit_settings(state: TableState) -> dict[str, str]:
    """Returns Spark settings that make the next Delta statement of the session store ``state`` in its commit."""
    return {
        "spark.databricks.delta.commitInfo.userMetadata": state.to_text(),
        "spark.databricks.delta.write.txnAppId": APPLICATION,
        "spark.databricks.delta.write.txnVersion": str(state.number),
        EMPTY_COMMITS: "false",
    }
