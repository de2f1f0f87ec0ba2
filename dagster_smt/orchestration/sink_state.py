"""What a table holds, read from its latest commit: the sink is the truth, Dagster its mirror."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from dagster_smt.model.report import RunReport
from dagster_smt.tables.spec import Sink, SourceSpec


@dataclass(frozen=True)
class SinkState:
    """A table, or what it holds of some topics.

    Attributes:
        rows: Rows committed.
        by_topic: The same per topic.
        ends: Where the progress ends, per topic and partition.
        gaps: Offsets that were left out for good, as ``{topic: {partition: [[start, end], …]}}``.
        last: Report of the last commit; it says ``already committed``.
    """

    rows: int = 0
    by_topic: dict[str, int] = field(default_factory=dict)
    ends: dict[str, dict[str, int]] = field(default_factory=dict)
    gaps: dict[str, dict[str, list[list[int]]]] = field(default_factory=dict)
    last: RunReport | None = None


def sink_state(session: Any, sink: Sink, topics: Sequence[str] = (), source: SourceSpec | None = None) -> SinkState:
    """Read the state of a sink.

    Args:
        session: The Spark session.
        sink: The sink.
        topics: Only what concerns these topics; empty for all.
        source: Where the records come from; see ``open_table``.

    Raises:
        TableError: SMT522, the state cannot be read.
        EngineError: Spark, the JVM or the file system failed.
    """
    from dagster_smt.run.failures import coded_failures
    from dagster_smt.run.report_json import report_of
    from dagster_smt.tables.sinks import open_table

    with coded_failures(sink.place):
        state = open_table(session, sink, source).state()
    if state is None:
        return SinkState()
    ends = {t: v for t, v in state.ends().items() if not topics or t in topics}
    gaps = {t: v for t, v in state.gaps.to_json().items() if not topics or t in topics}
    rows = {t: n for t, n in state.rows.items() if not topics or t in topics}
    last = report_of(state) if not topics or set(topics) & set(state.window.topics) else None
    return SinkState(sum(rows.values()), rows, ends, gaps, last)
