"""Implements runs that write a table for each output topic. They evaluate the records once, and commit to each table.

A separate table, the progress table, stores which offsets the runs have read. Each output table also has its own state,
in the commit with its rows. If a run dies after it has written only some of the tables, the progress stays unchanged.
The next run reads the window again, skips the tables that already contain the window, and writes the other tables
(``docs/decisions/0034-many-tables-have-one-progress.md``).
"""

import secrets
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from dagster_smt.chain import Plan
from dagster_smt.chain.forms import FormsPlan
from dagster_smt.errors import Problem, SmtError, TableError
from dagster_smt.model.reports.destinations import Destination, summary_of
from dagster_smt.model.reports.run_report import KeyCounts, RunReport, SchemaUse, sum_of_keys
from dagster_smt.model.topics.state import MOST_FAILED, TableState
from dagster_smt.model.windows.division import WHOLE, Division
from dagster_smt.model.windows.offsets import OffsetSet, offsets_of
from dagster_smt.run.attempt import Attempt
from dagster_smt.run.commits import Draft, replaced_rows_of
from dagster_smt.run.counts import add_totals
from dagster_smt.run.destinations import (
    Bound,
    bounds_of,
    destination_column,
    narrowed,
    refusals,
    refused_condition,
)
from dagster_smt.run.keyed import keyed_of
from dagster_smt.run.rejects import last_stage, with_failed
from dagster_smt.run.report_json import report_of, report_to_json
from dagster_smt.run.resume import state_to_resume
from dagster_smt.run.run_spec import RunSpec
from dagster_smt.run.spark_failures import coded_failures
from dagster_smt.run.staging import EvaluatedWindow, ranges_of_records
from dagster_smt.run.table_schema import checked_schema
from dagster_smt.spark.versions import inheriting
from dagster_smt.tables.keyed.key_events import Keyed, key_failures
from dagster_smt.tables.keyed.remembered_deletions import deletions_table
from dagster_smt.tables.sink_options import TableSink
from dagster_smt.tables.sinks import open_table
from dagster_smt.tables.sinks.protocol import LaidOutTable, NewCommit, Replaced, Table
from dagster_smt.tables.sources import Source

PARALLEL = 8
"""The number of tables that are written at the same time. A small commit spends most of its time on files, not on
processors.
"""
LOG_COLUMNS = "commit BIGINT, topic STRING, table STRING, status STRING, records BIGINT, rows BIGINT, code STRING"
"""The columns of the progress table. A commit adds one row for each table about which the commit reports."""


@dataclass(frozen=True)
class TableOutcome:
    """The result of a run for one table.

    Attributes:
        destination: The result for the report.
        state: The state of the table after the run. None if the table does not exist, or if the run could not write the
            table.
        report: The report of the commit to the table.
        written: The files of the commit to the table.
    """

    destination: Destination
    state: TableState | None = None
    report: RunReport | None = None
    written: NewCommit = field(default_factory=lambda: NewCommit(None, 0, 0))


@dataclass
class ManyAttempt(Attempt):
    """The Spark work of a run that writes many tables. ``run_.table`` is the table that stores the progress."""

    @property
    def sink(self) -> TableSink:
        sink = self.spec.sink
        assert isinstance(sink, TableSink)
        return sink

    @property
    def known(self) -> tuple[str, ...]:
        """The topics that already have a table."""
        before = self.draft.before
        return tuple(before.tables) if before is not None else ()

    def commit_sendable(self, result: EvaluatedWindow) -> RunReport:
        """Commits the window (the range of offsets) in ``result``. If the sink's ``refused_tables`` is
        ``dead_letters``, the records for topics that get no table are first marked as failed.
        """
        if self.sink.refused_tables == "dead_letters":
            with self.run_.timed("evaluate"):
                bounds = bounds_of(result, frozenset(self.run_.failures), self.plan, self.sink, self.known)
                refused = refusals(bounds, self.sink, self.known)
            if refused:
                with replace(self, evaluated=self.without_refused(result.frame, refused)).staged() as again:
                    return self.commit(again)
        return self.commit(result)

    def without_refused(self, frame: DataFrame, refused: Mapping[str, Problem]) -> DataFrame:
        """Marks as failed the records for the topics in ``refused``, because these topics get no table. Returns
        ``frame``, the evaluated window.
        """
        stage = last_stage(self.spec.chain)
        for topic, problem in refused.items():
            condition = refused_condition([topic], self.sink.kind, self.known)
            frame = with_failed(frame, condition, stage, problem, F.lit(problem.statement))
        return frame

    def write_rows(
        self,
        result: EvaluatedWindow,
        draft: Draft,
        report: RunReport,
        letters: Mapping[str, int],
        failed: OffsetSet,
        *,
        partly: bool,
    ) -> tuple[NewCommit, TableState]:
        """Writes the rows in ``result`` to all tables, and then the progress, in separate commits.

        Raises:
            TableError: No table could be written.
        """
        return _Writing(self, result, draft, report).run(letters, failed, partly=partly)


@dataclass
class _Writing:
    """The writing of the tables of one window: see ``ManyAttempt.write_rows``."""

    attempt: ManyAttempt
    result: EvaluatedWindow
    draft: Draft
    report: RunReport
    stopped: threading.Event = field(default_factory=threading.Event)

    @cached_property
    def left_out(self) -> frozenset[str]:
        return frozenset(self.attempt.run_.failures)

    @cached_property
    def read(self) -> OffsetSet:
        return offsets_of(self.draft.window)

    @cached_property
    def reads_again(self) -> bool:
        """Returns True if the run must also write tables for which the window contains no record, because old rows in
        these tables may have to be removed. For example, the run is a rebuild, or its chain differs from the last run's
        chain.
        """
        spec, before = self.attempt.spec, self.draft.before
        window = spec.window
        if window.fixed or window.redrive or window.repair or spec.rebuild or spec.settle or self.draft.over:
            return True
        if before is None or not before.runs:
            return before is not None
        return before.runs[-1].chain != spec.chain.hash or bool(self.draft.notes.absent & before.held)

    def run(self, letters: Mapping[str, int], failed: OffsetSet, *, partly: bool) -> tuple[NewCommit, TableState]:
        attempt, run_, sink = self.attempt, self.attempt.run_, self.attempt.sink
        with run_.timed("tables"):
            bounds = bounds_of(self.result, self.left_out, attempt.plan, sink, attempt.known)
            refused = refusals(bounds, sink, attempt.known)
            targets = self.targets(bounds.bound, refused)
            self.register(targets)
        run_.say(f"writing {len(targets)} tables")
        with run_.timed("write"):
            outcomes = self.write(targets)
            for topic, problem in refused.items():
                outcomes.append(_refused(topic, problem, bounds.bound, sink))
            self.tell(outcomes)
            waiting = self.waiting(outcomes, refused)
            state = self.state(outcomes, waiting, letters, failed, partly=partly)
            ledger = Replaced(everything=self.draft.replaced.everything and self.draft.before is None)
            write = partial(run_.table.commit, self.log(outcomes, state.number), state, ledger, self.draft.before)
            attempt.confirmed(write, state, self.report)
        files, size = sum(o.written.files for o in outcomes), sum(o.written.bytes for o in outcomes)
        return NewCommit(None, files, size), state

    def targets(self, bound: Mapping[str, Bound], refused: Mapping[str, Problem]) -> dict[str, Bound]:
        """Returns a dict from output topic to the records for the topic's table. The dict contains the entries of
        ``bound``, but only for topics that get a table.

        If old rows may have to be removed (``reads_again``), the dict also contains each existing table without new
        records, with an empty entry.
        """
        known = self.attempt.known
        targets = {}
        for topic, records in bound.items():
            # "" stands for all topics without a table
            if topic not in refused and not ("" in refused and topic not in known):
                targets[topic] = records
        if self.reads_again:
            for topic in known:
                targets.setdefault(topic, Bound(topic))
        return targets

    def register(self, targets: Iterable[str]) -> None:
        """Writes the names of the tables in ``targets`` into the state, before the tables are created. If this run
        dies, the next run knows from the state which tables may exist.
        """
        new = [topic for topic in targets if topic not in self.attempt.known]
        if not new:
            return
        table, before, spec = self.attempt.run_.table, self.draft.before, self.attempt.spec
        state = before or TableState(0, "", spec.sink.holds)
        tables = {**state.tables, **{topic: {} for topic in new}}
        state = replace(state, number=table.next_number(before), attempt=secrets.token_hex(8), tables=tables)
        # only a rebuild that begins without a readable state replaces the progress table: its commit must not fail
        # because of the old state. In any other case, the log of earlier commits stays.
        everything = Replaced(everything=before is None and self.draft.replaced.everything)
        table.commit(self.log([], state.number), state, everything, before)
        # the commit of the progress, at the end of this run, expects the state of this commit
        self.draft = replace(self.draft, before=state)

    def write(self, targets: Mapping[str, Bound]) -> list[TableOutcome]:
        """Writes the tables in ``targets``, several at a time, and returns the result for each table. An interruption
        ends the writing of all tables.
        """
        session = self.attempt.run_.session
        former = self.attempt.known
        one = OneTable(self, frozenset(former))
        with ThreadPoolExecutor(PARALLEL, "smt-table") as pool:
            tasks = []
            for bound in targets.values():
                # Spark's job tags belong to a thread: without them, a cancellation of the run would not reach these
                # jobs
                tasks.append(pool.submit(inheriting(session, one.outcome), bound))
            try:
                return [task.result() for task in tasks]
            except BaseException:
                # leaving the pool waits for all tasks, so the tasks that have not begun must end at once
                self.stopped.set()
                raise

    def tell(self, outcomes: list[TableOutcome]) -> None:
        """Adds ``outcomes``, the results of the tables, to the report.

        Raises:
            TableError: None of the tables could be written.
        """
        outcomes.sort(key=lambda o: o.destination.topic)
        destinations = tuple(outcome.destination for outcome in outcomes)
        problems: list[Problem] = []
        for one in destinations:
            problems.extend(one.problems)
        if destinations and all(one.failed for one in destinations):
            raise TableError(problems)
        for problem in problems:
            self.attempt.run_.say(str(problem))
        if destinations:
            self.attempt.run_.say(summary_of(destinations))
        keyed: dict[str, list[KeyCounts]] = {}
        for outcome in outcomes:
            if outcome.report is not None and not outcome.destination.failed:
                for topic, counts in outcome.report.keyed.items():
                    keyed.setdefault(topic, []).append(counts)
        counts_by_topic = {}
        for topic, several in sorted(keyed.items()):
            counts_by_topic[topic] = sum_of_keys(several)
        self.report.keyed = counts_by_topic
        self.report.destinations = destinations
        reports = {}
        for o in outcomes:
            if o.report is not None and not o.destination.failed:
                reports[o.destination.topic] = o.report
        self.report.destination_reports = reports

    def waiting(self, outcomes: Iterable[TableOutcome], refused: Mapping[str, Problem]) -> OffsetSet:
        """Returns the offsets that the next run must read again, because tables in ``outcomes`` could not be written.

        Usually these are only the offsets of the records for these tables. If the run itself has read offsets again, as
        a replay does, the result is the whole window, because the next run must replace all rows of the window.
        """
        failed = [o.destination.topic for o in outcomes if o.destination.failed]
        if not failed:
            return OffsetSet()
        before = self.draft.before
        if before is not None and self.read & (before.held | before.former):
            return self.read
        condition = refused_condition(failed, self.attempt.sink.kind, self.attempt.known)
        waiting_rows = self.result.rows_out(self.left_out).where(condition)
        # coarse fills the gaps between ranges, and a gap may contain offsets that this run has not read
        return ranges_of_records(waiting_rows).coarse(MOST_FAILED) & self.read

    def state(
        self,
        outcomes: Iterable[TableOutcome],
        waiting: OffsetSet,
        letters: Mapping[str, int],
        failed: OffsetSet,
        *,
        partly: bool,
    ) -> TableState:
        """Returns the new state of the progress table, after the tables in ``outcomes`` have been written."""
        draft, spec = self.draft, self.attempt.spec
        # the progress table has no rows of records, so there are no offsets or topics to replace in it
        everything = Replaced(everything=draft.replaced.everything)
        plain = replace(spec, settle=False, asked=spec.request)  # changes of other writers are settled for each table
        draft = replace(draft, spec=plain, replaced=everything)
        table = self.attempt.run_.table
        data = report_to_json(self.report)
        state = draft.state(self.report, data, letters, failed, table, partly=partly, changed_rows={})
        tables = dict(draft.before.tables) if draft.before is not None else {}
        for outcome in outcomes:
            if outcome.state is not None:
                tables[outcome.destination.topic] = dict(outcome.state.rows)
        rows: dict[str, int] = {}
        for by_source in tables.values():
            for source, number in by_source.items():
                rows[source] = rows.get(source, 0) + number
        all_waiting = state.waiting | waiting
        state = replace(state, held=state.held - waiting, waiting=all_waiting, tables=tables, rows=rows)
        if waiting:  # a retry of this run still has to write tables
            state = replace(state, runs=state.runs[:-1])
        return state

    def log(self, outcomes: Iterable[TableOutcome], number: int) -> DataFrame:
        """Returns the rows that the commit ``number`` adds to the progress table."""
        rows = []
        for outcome in outcomes:
            one = outcome.destination
            code = one.problems[0].code if one.problems else None
            rows.append((number, one.topic, one.table, one.status, one.records, one.rows, code))
        return self.attempt.run_.session.createDataFrame(rows, LOG_COLUMNS)


@dataclass
class TableRun:
    """The part of a run that writes one table: see ``attempt.Running``."""

    spec: RunSpec
    session: SparkSession
    table: Table
    source: Source
    beat: Callable[[], None]
    failures: dict[str, list[Problem]]
    seconds: dict[str, float] = field(default_factory=dict)
    warnings: list[Problem] = field(default_factory=list)
    schemas: tuple[SchemaUse, ...] = ()
    division: Division = WHOLE
    way: str = ""
    erased: dict[str, int] = field(default_factory=dict)

    @cached_property
    def deletions(self) -> Table:
        """The table that remembers the deletions of this table."""
        assert isinstance(self.spec.sink, TableSink)
        return deletions_table(self.session, self.spec.sink)

    def say(self, line: str) -> None:
        """Ignores ``line``, and only checks whether the run has been cancelled. The run itself reports the progress of
        all tables.
        """
        self.beat()

    @contextmanager
    def timed(self, phase: str) -> Iterator[None]:
        """Does nothing with ``phase``, because the run measures all tables together."""
        yield

    def warn(self, problems: Iterable[Problem]) -> None:
        """Notes ``problems`` as warnings, which do not stop the writing of the table."""
        self.warnings += problems


@dataclass(frozen=True)
class OneTable:
    """A writer of the tables of a window. Each call of ``outcome`` writes one table.

    Attributes:
        writing: The tables of the window.
        former: The topics that had a table before this run.
    """

    writing: _Writing
    former: frozenset[str]

    def outcome(self, bound: Bound) -> TableOutcome:
        """Writes the records in ``bound`` to their table, and returns the result. An error does not stop the writing of
        other tables.
        """
        attempt = self.writing.attempt
        if self.writing.stopped.is_set():
            raise InterruptedError
        sink = attempt.sink.of_topic(bound.topic)
        is_new = bound.topic not in self.former
        destination = Destination(bound.topic, sink.place, "failed", bound.records, is_new=is_new)
        name = secrets.token_hex(8)
        try:
            with coded_failures(sink.place):
                return self.written(bound, sink, destination, name)
        except SmtError as error:
            landed = self.landed(sink, name)
            if landed is not None:  # a table that has been committed has not failed, even if a later step failed
                return _outcome(
                    replace(destination, status="written"), landed, report_of(landed), NewCommit(None, 0, 0)
                )
            problems = tuple(_placed(problem, sink) for problem in error.problems)
            return TableOutcome(replace(destination, problems=problems, is_new=False))

    def landed(self, sink: TableSink, name: str) -> TableState | None:
        """Returns the state of the table ``sink`` if its last commit is ``name``, otherwise None. Call this method
        after the writing of the table has ended with an error: the commit ``name`` may have succeeded before the error.
        """
        try:
            state = open_table(self.writing.attempt.run_.session, sink).state()
        except Exception:  # noqa: BLE001 - what the table says cannot be known
            return None
        if state is not None and state.attempt == name:
            return state
        return None

    def written(self, bound: Bound, sink: TableSink, destination: Destination, name: str) -> TableOutcome:
        """Writes the records in ``bound`` to their table, unless the table already holds the window.

        Raises:
            SmtError: The table cannot be written.
        """
        template = self.writing.attempt
        spec = replace(template.spec, sink=sink, asked=template.spec.request)
        session = template.run_.session
        table = open_table(session, sink)
        state = state_to_resume(spec, table, lambda line: None)
        if self.holds(state):
            assert state is not None
            return _outcome(replace(destination, status="held", rows=bound.records), state, None, NewCommit(None, 0, 0))
        draft = self.draft(spec, state, name)
        plan = template.plan
        if isinstance(plan, FormsPlan):
            plan = plan.of_forms(bound.value_forms, bound.key_forms, report_of(state) if state is not None else None)
        if not bound.counts and not (draft.replaced or draft.over or spec.settle):
            return TableOutcome(replace(destination, status="held"), state)
        # these records are deletions, and a table without rows cannot contain their keys
        if plan.typed and plan.rows is None:
            return TableOutcome(replace(destination, status="held"), state)
        of_topic = destination_column(sink.kind) == bound.topic
        rows = narrowed(self.writing.result.frame.where(of_topic), bound, template.plan, plan)
        keyed = keyed_of(spec, plan)
        schema = checked_schema(spec, table, rows, draft.replaced, keyed)
        run_ = TableRun(
            spec,
            session,
            table,
            template.run_.source,
            lambda: template.run_.say(""),
            template.run_.failures,
            way=template.run_.way,
        )
        if isinstance(table, LaidOutTable):
            run_.warn(table.layout_warnings(rebuild=draft.replaced.everything))
        later = self.later(bound, plan, of_topic)
        attempt = Attempt(run_, plan, template.frame, rows, schema, draft, template.narrow, None, keyed, later)
        return self.committed(attempt, EvaluatedWindow(rows, dict(bound.counts)), destination, sink)

    def holds(self, state: TableState | None) -> bool:
        """Returns True if ``state`` shows that the table already contains the window. An earlier run with the same
        chain wrote the window, and ended before it stored the progress.
        """
        if state is None or self.writing.reads_again or not state.runs:
            return False
        is_same_chain = state.runs[-1].chain == self.writing.attempt.spec.chain.hash
        return is_same_chain and not self.writing.read - state.held

    def draft(self, spec: RunSpec, state: TableState | None, name: str) -> Draft:
        """Returns a ``Draft``, which describes the next commit to one of the tables. ``state`` is the table's state
        before the commit, and ``name`` is the name of the commit.
        """
        draft = self.writing.draft
        if draft.replaced.everything:
            replaced = Replaced(everything=True)
        elif spec.window.redrive and spec.sink.keyed is None and state is not None and self.writing.read & state.held:
            replaced = Replaced(offsets=self.writing.read)
        else:
            absent = draft.notes.absent
            replaced = replaced_rows_of(spec, draft.window, state, absent, draft.over - draft.anew, draft.anew)
        return replace(draft, spec=spec, attempt=name, replaced=replaced, before=state, progress=draft.before)

    def later(self, bound: Bound, plan: Plan, of_topic: Column) -> DataFrame | None:
        """Returns the records after the window that go to the same table as the records in ``bound``, if the run is a
        replay of a table with keys. These records may contain later events of the window's keys. For all other runs,
        returns None.
        """
        template = self.writing.attempt
        if template.later is None:
            return None
        return narrowed(template.later.where(of_topic), bound, template.plan, plan)

    def committed(
        self, attempt: Attempt, result: EvaluatedWindow, destination: Destination, sink: TableSink
    ) -> TableOutcome:
        """Commits the rows of the table ``sink``, and returns the result.

        Raises:
            TableError: SMT720, SMT721, records have no key or no value of ``sequence_by``; SMT734, events of a key are
                in two partitions, so their order is unknown.
        """
        report = attempt.report(result)
        report = add_totals(report, attempt.spec.chain, attempt.plan.entries, [])
        # a mask that touches no record of this table may touch records of other tables
        report.warnings = attempt.run_.warnings
        if attempt.keyed is None:
            # dead letters and failed offsets are stored once for all tables, in the state of the progress table
            written, state = attempt.write_rows(result, attempt.draft, report, {}, OffsetSet(), partly=False)
        else:
            _check_keys(result, attempt.keyed, sink)
            with attempt.keyed_window(result) as window:
                if window.effects.conflicts:
                    raise TableError(_conflict(window.effects.conflicts, sink))
                written, state = attempt.write(result, window, attempt.draft, report, {}, OffsetSet(), partly=False)
        report.files, report.bytes, report.rows_written = written.files, written.bytes, written.rows
        return _outcome(replace(destination, status="written"), state, report, written)


def _outcome(destination: Destination, state: TableState, report: RunReport | None, written: NewCommit) -> TableOutcome:
    rows = written.rows
    if rows is None:
        rows = destination.rows or destination.records
    return TableOutcome(replace(destination, rows=rows), state, report, written)


def _refused(topic: str, problem: Problem, bound: Mapping[str, Bound], sink: TableSink) -> TableOutcome:
    """Returns the result for ``topic``, which gets no table because of ``problem``. If there are too many new topics,
    all of these topics share one result.
    """
    records = bound[topic].records if topic in bound else 0
    table = sink.of_topic(topic).place if topic else sink.place
    return TableOutcome(Destination(topic, table, "failed", records, problems=(problem,)))


def _placed(problem: Problem, sink: TableSink) -> Problem:
    """Returns ``problem`` with a location that names the table of ``sink``. If the location already names the table,
    ``problem`` is returned unchanged.
    """
    if sink.place in problem.place:
        return problem
    return problem.at(sink.place)


def _check_keys(result: EvaluatedWindow, keyed: Keyed, sink: TableSink) -> None:
    """Raises an error if a record in ``result`` has no key, or no value of ``sequence_by``. With a declared schema,
    such records have already failed.

    Raises:
        TableError: SMT720, SMT721.
    """
    for condition, problem in key_failures(result.frame, keyed):
        records = result.rows_out().where(condition).count()
        if records:
            raise TableError(replace(problem, place=sink.place, statement=f"{records} records: {problem.statement}"))


def _conflict(keys: int, sink: TableSink) -> Problem:
    statement = f"{keys} keys are met in two partitions, and nothing orders their events"
    hint = "name a column of the source that does with sequence_by, such as a log position or source.ts_ms"
    return Problem("SMT734", sink.place, statement, hint)
