"""What a sink holds, read from its commit log: the sink is the truth, Dagster its mirror."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from dagster_smt.model.report import RunReport
from dagster_smt.run.report_json import report_of
from dagster_smt.tables.commit_log import Commit, CommitLog, live, progress
from dagster_smt.tables.spec import ParquetSink


@dataclass(frozen=True)
class SinkState:
    """A table, or what it holds of some topics.

    Attributes:
        rows: Rows committed.
        ends: Where the committed windows end, per topic and partition.
        last: Report of the last commit; it says ``already committed``.
    """

    rows: int = 0
    ends: dict[str, dict[str, int]] = field(default_factory=dict)
    last: RunReport | None = None


def sink_state(sink: ParquetSink, topics: Sequence[str] = ()) -> SinkState:
    """Read the state of a sink.

    Args:
        sink: The sink.
        topics: Only the commits with these topics; empty for all.

    Raises:
        TableError: SMT522, the log is damaged.
    """
    commits = [c for c in live(CommitLog(sink.root.absolute()).commits()) if _concerns(c, topics)]
    ends: dict[str, dict[str, int]] = {}
    for (topic, partition), end in sorted(progress(commits).items()):
        if not topics or topic in topics:
            ends.setdefault(topic, {})[str(partition)] = end
    rows = sum(f.rows for c in commits for f in c.files)
    return SinkState(rows, ends, report_of(commits[-1]) if commits else None)


def _concerns(commit: Commit, topics: Sequence[str]) -> bool:
    return not topics or bool(set(topics) & set(commit.window.topics))
