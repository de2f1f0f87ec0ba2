"""Determines two parts of a commit: the rows that the commit replaces, and the state of the table after the window."""

import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import functions as F

from dagster_smt.errors import Problem, TableError, UnsupportedError
from dagster_smt.model.reports.run_report import RunReport, TopicCounts
from dagster_smt.model.reports.unmasked import without_topics
from dagster_smt.model.topics.state import MOST_FAILED, MOST_SETTLED, CommittedRun, Notes, Settlement, TableState
from dagster_smt.model.windows.offsets import OffsetSet, offsets_of, topics_in
from dagster_smt.model.windows.window import Window
from dagster_smt.run.run_spec import RunSpec
from dagster_smt.run.unmasked import unmasked_after
from dagster_smt.spark.sql import quoted
from dagster_smt.tables.sink_options import Sink
from dagster_smt.tables.sinks.protocol import Replaced, Table
from dagster_smt.tables.sinks.replaced_rows import replaced_rows


def commit_state(table: Table, state: TableState, before: TableState) -> None:
    """Commits ``state`` to ``table`` without any rows. ``before`` is the state of the table before the commit."""
    table.commit(table.read().limit(0), state, Replaced(), before)


def replaced_rows_of(
    spec: RunSpec,
    window: Window,
    state: TableState | None,
    absent: OffsetSet | None = None,
    topics: Collection[str] = (),
    anew: Collection[str] = (),
) -> Replaced:
    """Returns the rows that the commit of a run replaces.

    Args:
        spec: The request of the run.
        window: The window of the run.
        state: The state of the table.
        absent: The requested offsets that the source no longer has.
        topics: The topics that the run can read, including empty topics.
        anew: Topics that have been deleted and created again. The run reads them from their beginning, and the rows of
            the former topics stay.

    Raises:
        TableError: SMT514, the run would replace rows in a table without source columns.
        UnsupportedError: SMT574, the sink writes to topics, and records in a topic cannot be replaced.
    """
    if state is not None and anew:
        state = state.without(anew)
    replaced = _replaced(spec, window, state, offsets_of(window) | (absent or OffsetSet()), topics)
    if replaced and not spec.sink.replaceable:
        hint = "leave the fixed range or the rebuild out; to write the records again, choose another group"
        statement = "records in a topic cannot be replaced"
        raise UnsupportedError(Problem("SMT574", spec.sink.place, statement, hint))
    if replaced and not replaced.everything and spec.sink.coordinates is None:
        statement = "rows must be replaced, but the table has no source columns"
        hint = "make the table with source_columns, or launch with window.rebuild: true for all of it"
        raise TableError(Problem("SMT514", spec.sink.place, statement, hint))
    return replaced


def _replaced(
    spec: RunSpec, window: Window, state: TableState | None, to_read: OffsetSet, topics: Collection[str]
) -> Replaced:
    if spec.sink.keyed is not None and not (spec.rebuild and not spec.window.topics):
        return Replaced()  # a table with keys merges its rows; see run.keyed
    if spec.window.redrive:  # failed records have no rows, unless the table knows their offsets only roughly
        if state is not None and state.roughly:
            return Replaced(offsets=offsets_of(window))
        return Replaced()
    if spec.rebuild and not spec.window.topics:
        return Replaced(everything=True)
    if spec.rebuild:
        all_topics = {*topics, *window.topics}
        if state is not None:
            known = set()
            for s in (state.held, state.former):
                for t, _ in s.parts:
                    known.add(t)
        else:
            known = set()
        if known & all_topics:
            return Replaced(topics=tuple(sorted(all_topics)))
        return Replaced()
    if state is not None and (to_read & state.held):
        return Replaced(offsets=to_read)
    return Replaced()


def check_removal(
    spec: RunSpec, replaced: Replaced, state: TableState | None, there: OffsetSet, remade: Collection[str]
) -> None:
    """Raises an error if the run would remove rows, but cannot read their records again, because no topic holds the
    records any more. The run config can accept this loss.

    A rebuild that names a topic which has been created again also accepts the loss for this topic.

    Args:
        spec: The request of the run.
        replaced: The rows that the commit removes.
        state: The state of the table.
        there: The offsets that the run's topics hold.
        remade: Topics that have been created again since the table read them.

    Raises:
        TableError: SMT556, for each topic.
    """
    if state is None or spec.window.accept_gap or not replaced:
        return
    gone = state.former & replaced.offsets
    # a rebuild removes all rows of its topics, including rows whose records the topics have lost since then
    if replaced.everything or replaced.topics:
        held = set()
        for s in (state.held, state.former):
            for t, _ in s.parts:
                held.add(t)
        if not replaced.everything:
            kept_topics = held - {*replaced.topics}
        else:
            kept_topics = set[str]()
        removed = (state.held - there).without(kept_topics)
        gone = removed.without({*remade} & {*spec.window.topics}) | state.former.without(kept_topics)
    of_connector = state.taken_over.offsets.parts if state.taken_over is not None else {}
    topics_with_rows = set()
    for place in gone.parts:
        if state.rows.get(place[0]) or place in of_connector:
            topics_with_rows.add(place[0])
    # offsets without rows, such as those of records that the chain dropped, may be lost
    with_rows = sorted(topics_with_rows)
    if with_rows:
        raise TableError([_removed(topic, gone) for topic in with_rows])


def rebuild_without(place: str) -> Problem:
    """Returns the problem of a rebuild that would replace all rows of the table ``place``, although some topics cannot
    be read. The rows of these topics would be lost.
    """
    statement = "a rebuild replaces all rows, also those of topics that fail, so nothing was committed"
    hint = "fix these topics and launch again; or rebuild the other topics: name them in window.topics"
    return Problem("SMT556", place, statement, hint)


def miscounted(place: str, written: int, counted: int) -> Problem:
    """Returns a warning about the table ``place``: the table format reports ``written`` rows, but the run has counted
    ``counted``.
    """
    statement = f"the commit added {written} rows, {counted} were counted before: records changed while they were read"
    hint = "run this window again as a fixed range, which replaces its rows"
    return Problem("SMT558", place, statement, hint)


def _removed(topic: str, gone: OffsetSet) -> Problem:
    ranges = []
    for r in gone.ranges():
        if r.topic == topic:
            ranges.append(r)
    places = ", ".join(f"{r.partition} [{r.start}, {r.end})" for r in ranges[:3])
    more = f" and {len(ranges) - 3} more" if len(ranges) > 3 else ""
    statement = f"rows would be removed whose records the run cannot read again: partition {places}{more}"
    hint = "leave this topic or these offsets out; or launch with window.accept_gap: true as well, and the rows go"
    return Problem("SMT556", topic, statement, hint)


@dataclass(frozen=True)
class Draft:
    """A commit that a run is preparing.

    Attributes:
        spec: The request of the run.
        attempt: The random name of this attempt.
        window: The window that the run has read.
        notes: Additions to the state, such as skipped offsets and the beginnings of partitions.
        identities: The id of each topic, which changes if the topic is deleted and created again.
        replaced: The rows that the commit removes.
        before: The state before the commit.
        over: Topics that are read again from the beginning. The new state does not contain the offsets that the
            previous state had for these topics.
        anew: Topics in ``over`` whose old rows stay in the table, because the topic was deleted and created again.
        progress: If the run writes many tables: the state of the table that stores the common progress of all tables.
            The offsets in this state also count as read for the table of this commit.
    """

    spec: RunSpec
    attempt: str
    window: Window
    notes: Notes
    identities: Mapping[str, str]
    replaced: Replaced
    before: TableState | None
    over: frozenset[str] = frozenset()
    anew: frozenset[str] = frozenset()
    progress: TableState | None = None

    def without(self, topics: Collection[str]) -> "Draft":
        """Returns the draft without the topics in ``topics``."""
        if not topics:
            return self
        replaced = replace(
            self.replaced,
            topics=tuple(t for t in self.replaced.topics if t not in topics),
            offsets=self.replaced.offsets.without(topics),
        )
        window = Window(tuple(r for r in self.window.ranges if r.topic not in topics))
        identities = {}
        for t, i in self.identities.items():
            if t not in topics:
                identities[t] = i
        notes = self.notes.without(topics)
        over, anew = self.over.difference(topics), self.anew.difference(topics)
        return replace(self, window=window, notes=notes, identities=identities, replaced=replaced, over=over, anew=anew)

    def of_topics(self, counts: Mapping[str, TopicCounts]) -> dict[str, TopicCounts]:
        """Returns those entries of ``counts`` that belong to topics of the window."""
        results = {}
        for topic in self.window.topics:
            if topic in counts:
                results[topic] = counts[topic]
        return results

    def state(
        self,
        report: RunReport,
        data: Mapping[str, Any],
        dead_letters: Mapping[str, int],
        failed: OffsetSet,
        table: Table,
        *,
        partly: bool = False,
        changed_rows: Mapping[str, int] | None = None,
    ) -> TableState:
        """Returns the state of the table after this commit.

        Args:
            report, data: The report of the run, as an object and as JSON data.
            dead_letters: The offsets at which the next run starts to search for dead letters.
            failed: The offsets of this window whose records failed.
            table: The table.
            partly: True if failed records may still have rows: each element of an array is a row, and only some of
                the elements failed.
            changed_rows: For a table with keys: the number of additional rows by topic. If None, each record that
                passed through the chain is a row.
        """
        spec = self.spec
        before = unmasked_after(self._going_on_from(table), spec, report, self.window)
        rows = dict(before.rows)
        for topic, gone in self.gone(table, before).items():
            rows[topic] = max(0, rows.get(topic, 0) - gone)
        if changed_rows is None:
            changed_rows = {}
            for topic, counts in report.topics.items():
                changed_rows[topic] = counts.rows_out
        for topic, number in changed_rows.items():
            rows[topic] = max(0, rows.get(topic, 0) + number)  # rows of other writers may never have been counted
        read = offsets_of(self.window)
        former = before.failed - read
        exactly = former | failed
        failed = exactly.coarse(MOST_FAILED)
        number = table.next_number(self.before)
        return replace(
            before.with_window(self.window, self.notes),
            number=number,
            attempt=self.attempt,
            kind=spec.sink.holds,
            failed=failed,
            roughly=partly or failed != exactly or (before.roughly and bool(former)),
            identities={**before.identities, **self.identities},
            rows=rows,
            dead_letters=dead_letters,
            report=data,
        ).with_run(CommittedRun(spec.key, spec.request, number, self.window.id, tuple(report.failures), report.chain))

    def _going_on_from(self, table: Table) -> TableState:
        """Returns the state from which the new state is built. It is the state before this commit, without the topics
        in ``over`` (topics that the run reads again from the beginning). If the run replaces all rows, the result
        contains no rows and no offsets. If the run accepts the changes of other writers (``settle``), the result
        already contains the accepted row counts.
        """
        before = self.before or TableState(0, "", self.spec.sink.holds)
        if self.progress is not None:
            before = with_progress(before, self.progress)
        if self.spec.settle and self.before is not None:
            before = settled(before, table, self.spec)
        if self.replaced.everything:
            nothing = before.without(before.known_topics())
            nothing = replace(nothing, rows={}, identities={}, unmasked=(), taken_over=None)
            return replace(nothing, former=OffsetSet())
        former = before.former.without(self.over - self.anew)
        for topic in self.anew:
            others = topics_in(before.held.parts) - {topic}
            former |= before.held.without(others)
        unmasked = without_topics(before.unmasked, self.over - self.anew)  # only rows that stay can be unmasked
        return replace(before.without(self.over), former=former, unmasked=unmasked)

    def gone(self, table: Table, before: TableState) -> dict[str, int]:
        """Returns a dict from topic to the number of rows that ``table`` loses because the commit replaces these rows.
        ``before`` is the state before the commit.

        If the commit replaces all rows, the dict is empty: ``before`` then counts no rows (see ``_going_on_from``).
        """
        if self.replaced.everything or not self.replaced:
            return {}
        if self.replaced.topics:
            return {topic: before.rows.get(topic, 0) for topic in self.replaced.topics}
        coordinates = self.spec.sink.coordinates
        assert coordinates is not None
        rows = table.read().where(replaced_rows(self.replaced, coordinates))
        counts = rows.groupBy(F.col(quoted(coordinates.topic)).alias("topic")).count().collect()
        numbers = {}
        for row in counts:
            numbers[row["topic"]] = row["count"]
        return numbers


def with_progress(state: TableState, progress: TableState) -> TableState:
    """Adds the offsets in ``progress`` to ``state``, and returns the new state.

    A run that writes many tables stores its progress for all of them in one state, ``progress``. ``state`` belongs to
    one of the tables, and lacks the offsets of windows that contained no record for this table.
    """
    return replace(
        state,
        held=state.held | progress.held,
        gaps=state.gaps | progress.gaps,
        absent=(state.absent | progress.absent) - progress.held - progress.gaps - state.held - state.gaps,
        begins={**progress.begins, **state.begins},
        identities={**progress.identities, **state.identities},
    )


def settled(state: TableState, table: Table, spec: RunSpec) -> TableState:
    """Returns ``state`` after the run of ``spec`` has accepted the changes of other writers. The new row counts include
    the rows of these writers, and a note records the acceptance.
    """
    rows = counted_rows(state, table, spec.sink)
    commits = tuple(unsettled(table, state))
    now = round(time.time() * 1000)
    settlement = Settlement(spec.key, now, sum(state.rows.values()), sum(rows.values()), commits)
    return replace(state, rows=rows, settled=(*state.settled, settlement)[-MOST_SETTLED:])


def counted_rows(state: TableState, table: Table, sink: Sink) -> dict[str, int]:
    """Returns a dict from topic to the number of rows that ``table`` contains now. Rows without a topic are counted
    under the topic ``""``.

    If the table of ``sink`` has no source columns, all rows beyond the counts in ``state`` are counted under ``""``.
    """
    coordinates = sink.coordinates
    if coordinates is None:
        rows = {**state.rows}
        rows[""] = rows.get("", 0) + table.read().count() - sum(rows.values())
        return rows
    counts = table.read().groupBy(F.col(quoted(coordinates.topic)).alias("topic")).count().collect()
    numbers = {}
    for row in counts:
        numbers[row["topic"] or ""] = row["count"]
    return numbers  # rows that a connector wrote name no topic


def unsettled(table: Table, state: TableState) -> list[str]:
    """Returns descriptions of the commits of other programs that may have changed rows. Commits that a user has already
    accepted (settled) are left out.
    """
    since = state.settled[-1].millis if state.settled else 0
    results = []
    for commit in table.foreign():
        if commit.millis > since:
            results.append(commit.text)
    return results
