"""Finds the commit of this package from which the rows of a Delta table come. The search follows restores and
replacements in the table's log.

The table does not always contain the rows of our newest commit. After a ``RESTORE``, the search continues at the
restored version. If another writer has replaced or emptied the table, no state is valid any more.
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
        """True if no earlier row is left after the commit."""
        if self.operation == "DELETE":
            return str(self.parameters.get("predicate") or "[]").strip() in ("[]", '["true"]', "true")
        if self.operation in ("WRITE", "STREAMING UPDATE"):
            mode = self.parameters.get("mode") or self.parameters.get("outputMode")
            return mode in _OVERWRITING and not self.parameters.get("predicate")
        return self.operation == "TRUNCATE" or self.operation.startswith(_REPLACING)

    @property
    def changes_rows(self) -> bool:
        """True if the commit may have added, changed or removed rows.

        An append without rows, with which a run adds columns, does not change rows.
        """
        if self.operation == "WRITE" and self.parameters.get("mode") == "Append":
            return str(self.metrics.get("numOutputRows", "")) != "0"
        return self.operation.startswith(_ROWS)


def commit_of(row: Row) -> Commit:
    """Converts ``row``, a row of ``DESCRIBE HISTORY``, into a commit. The row also has a column ``millis`` with the
    time in milliseconds.
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
    """Converts ``commit``, a commit of another writer, into the form that messages use."""
    return ForeignCommit(f"version {commit.version}", commit.operation, commit.millis)


def foreign_changes(
    commits: Sequence[Commit], state_of: Callable[[Commit], TableState | None], seen: int, last: int
) -> list[ForeignCommit]:
    """Returns the commits of other writers that may have changed rows, after the version ``seen`` up to the version
    ``last``.
    """
    changes = []
    for commit in commits:
        if seen < commit.version <= last and state_of(commit) is None and commit.changes_rows:
            changes.append(foreign(commit))
    return changes


@dataclass(frozen=True, slots=True)
class Standing:
    """The result of a search backwards through a log.

    Attributes:
        state: The state in our commit from which the table's rows come. None if they do not come from a commit of ours.
        replaced: The newest commit with which another writer has since removed all of these rows. None if there is
            no such commit.
        lost: The version to which the table was restored, if the log no longer contains this version.
        ended: True if the search ended before it reached the table's first version, because the log does not go back
            further.
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
    """Searches backwards from the last commit for the commit of this package from which the table's content comes.

    Args:
        commits: The log, the last commit first.
        whole: True if ``commits`` contains all commits of the log.
        decode: Returns the state in the metadata of a commit. Returns None for a commit of another writer.
        version_at: Returns the version that a restore by timestamp brought back. Returns None if the version is
            unknown.
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
    """Returns the foreign commit that replaced the table's rows while ``commit``, a commit of ours, was being written.
    Returns None if there was no such commit.

    Delta places an append on top of such a commit without an error.
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
    """Returns the version that ``commit``, a restore, brought back. Returns -1 if the version is unknown."""
    version = commit.parameters.get("version")
    target = int(version) if version is not None else version_at(commit, commits)
    if target is None or target >= commit.version:
        return -1
    return target


def _target(commit: Commit) -> str:
    """Returns a phrase that names the version that ``commit``, a restore, brought back."""
    version = commit.parameters.get("version")
    if version is not None:
        return f"version {version}"
    return f"the version of {commit.parameters.get('timestamp') or commit.parameters.get('datetime')}"


def commit_settings(state: TableState) -> dict[str, str]:
    """Returns session settings with which the next statement commits ``state``."""
    return {
        "spark.databricks.delta.commitInfo.userMetadata": state.to_text(),
        "spark.databricks.delta.write.txnAppId": APPLICATION,
        "spark.databricks.delta.write.txnVersion": str(state.number),
        EMPTY_COMMITS: "false",
    }
