"""From a window and the state before it to the state after it, and to the rows that a commit replaces."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import functions as F

from dagster_smt.errors import Problem, TableError, UnsupportedError
from dagster_smt.model.offsets import OffsetSet, offsets_of
from dagster_smt.model.report import RunReport, TopicCounts
from dagster_smt.model.table_state import MOST_FAILED, CommittedRun, Notes, TableState
from dagster_smt.model.window import Window
from dagster_smt.run.spec import RunSpec
from dagster_smt.run.unmasked import unmasked_after
from dagster_smt.tables.sinks.protocol import Replaced, Table
from dagster_smt.tables.sinks.sql import replaced_rows


def replaced_rows_of(
    spec: RunSpec, window: Window, state: TableState | None, absent: OffsetSet | None = None
) -> Replaced:
    """Which rows a run replaces.

    Args:
        spec: The run.
        window: Its window.
        state: The state of the table.
        absent: What was asked for beside the window, and the source does not have any more.

    Raises:
        TableError: SMT514, rows would have to be replaced in a table that does not tell where they come from.
        UnsupportedError: SMT574, records of topics cannot be replaced at all.
    """
    replaced = _wanted(spec, window, state, offsets_of(window) | (absent or OffsetSet()))
    if replaced and not spec.sink.replaceable:
        hint = "leave the fixed range or the rebuild out; to write the records again, choose another group"
        statement = "records in a topic cannot be replaced"
        raise UnsupportedError(Problem("SMT574", spec.sink.place, statement, hint))
    if replaced and not replaced.everything and spec.sink.coordinates is None:
        statement = "rows would have to be replaced, but the table does not tell where each comes from"
        hint = "make the table with source_columns, or launch with window.rebuild: true for all of it"
        raise TableError(Problem("SMT514", spec.sink.place, statement, hint))
    return replaced


def _wanted(spec: RunSpec, window: Window, state: TableState | None, asked: OffsetSet) -> Replaced:
    if spec.window.redrive:  # failed records have no rows, unless the table knows them roughly
        return Replaced(offsets=offsets_of(window)) if state is not None and state.roughly else Replaced()
    if spec.rebuild and not spec.window.topics:
        return Replaced(everything=True)
    if spec.rebuild:
        known = state is not None and {t for t, _ in state.held.parts} & set(window.topics)
        return Replaced(topics=tuple(window.topics)) if known else Replaced()
    if state is not None and (asked & state.held):
        return Replaced(offsets=asked)
    return Replaced()


@dataclass(frozen=True)
class Draft:
    """A commit in the making.

    Attributes:
        spec: The run.
        attempt: Random name of this try.
        window: What it read.
        notes: What is noted beside it: what it leaves out for good, where partitions begin, and so on.
        identities: Identity of each topic.
        replaced: The rows that go.
        before: The state before it.
    """

    spec: RunSpec
    attempt: str
    window: Window
    notes: Notes
    identities: Mapping[str, str]
    replaced: Replaced
    before: TableState | None

    def without(self, topics: Collection[str]) -> "Draft":
        """The same without some topics."""
        if not topics:
            return self
        replaced = replace(
            self.replaced,
            topics=tuple(t for t in self.replaced.topics if t not in topics),
            offsets=self.replaced.offsets.without(topics),
        )
        window = Window(tuple(r for r in self.window.ranges if r.topic not in topics))
        identities = {t: i for t, i in self.identities.items() if t not in topics}
        notes = self.notes.without(topics)
        return replace(self, window=window, notes=notes, identities=identities, replaced=replaced)

    def of_topics(self, counts: Mapping[str, TopicCounts]) -> dict[str, TopicCounts]:
        """The counts of the window's topics."""
        return {topic: counts[topic] for topic in self.window.topics if topic in counts}

    def state(
        self,
        report: RunReport,
        data: Mapping[str, Any],
        dead_letters: Mapping[str, int],
        failed: OffsetSet,
        table: Table,
        *,
        partly: bool = False,
    ) -> TableState:
        """The state after this commit.

        Args:
            report, data: The report, and as JSON data.
            dead_letters: Where the next run begins to look for letters.
            failed: The offsets of this window whose records failed.
            table: The table.
            partly: Whether some of these have rows nevertheless: those of other elements of their arrays.
        """
        spec = self.spec
        before = unmasked_after(self._going_on_from(table), spec, report, self.window)
        rows = dict(before.rows)
        for topic, gone in self.gone(table, before).items():
            rows[topic] = max(0, rows.get(topic, 0) - gone)
        for topic, counts in report.topics.items():
            rows[topic] = rows.get(topic, 0) + counts.kept
        read = offsets_of(self.window)
        former = before.failed - read
        exactly = former | failed
        failed = exactly.coarse(MOST_FAILED)
        number = before.number + 1
        return replace(
            before.with_window(self.window, self.notes),
            number=number,
            attempt=self.attempt,
            kind=spec.sink.kind,
            failed=failed,
            roughly=partly or failed != exactly or (before.roughly and bool(former)),
            identities={**before.identities, **self.identities},
            rows=rows,
            dead_letters=dead_letters,
            report=data,
        ).with_run(CommittedRun(spec.key, spec.request, number, self.window.id, tuple(report.failures)))

    def _going_on_from(self, table: Table) -> TableState:
        """The state before, without what starts over."""
        before = self.before or TableState(table.numbered(), "", self.spec.sink.kind)
        if self.replaced.everything:
            return replace(before.without(before.known_topics()), rows={}, identities={}, unmasked=())
        return before.without(self.window.topics) if self.spec.rebuild else before

    def gone(self, table: Table, before: TableState) -> dict[str, int]:
        """How many rows of each topic the commit replaces."""
        if self.replaced.everything or not self.replaced:
            return {}
        if self.replaced.topics:
            return {topic: before.rows.get(topic, 0) for topic in self.replaced.topics}
        coordinates = self.spec.sink.coordinates
        assert coordinates is not None
        rows = table.read().where(replaced_rows(self.replaced, coordinates))
        found = rows.groupBy(F.col(f"`{coordinates.topic}`").alias("topic")).count().collect()
        return {row["topic"]: row["count"] for row in found}
