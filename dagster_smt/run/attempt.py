"""Does the Spark work of a run: evaluates the records once, counts them, writes the rows and commits. The offsets to
read and the output schema have been determined before.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from dagster_smt.chain import Plan
from dagster_smt.errors import Problem, RecordsRejected, TableError
from dagster_smt.model.reports.run_report import RunReport, SchemaUse, sum_of_keys
from dagster_smt.model.schema import Schema
from dagster_smt.model.topics.state import TableState
from dagster_smt.model.windows.division import Division
from dagster_smt.model.windows.offsets import OffsetSet
from dagster_smt.privacy.field_scan import schema_without_data
from dagster_smt.run.commits import (
    Draft,
    miscounted,
    rebuild_without,
)
from dagster_smt.run.counts import add_totals
from dagster_smt.run.dead_letters import publish
from dagster_smt.run.keyed import (
    KeyedWindow,
    keyed_window,
    with_key_failures,
    without_conflicts,
)
from dagster_smt.run.misrouted import misrouted, refused
from dagster_smt.run.output_rows import output_rows
from dagster_smt.run.rejects import first_rejects, located, not_committed, rejected_rows
from dagster_smt.run.report_json import report_of, report_to_json
from dagster_smt.run.resume import mirror
from dagster_smt.run.run_spec import Progress, RunSpec
from dagster_smt.run.spark_failures import problems_after_commit
from dagster_smt.run.staging import EvaluatedWindow, staged
from dagster_smt.run.time_parts import Parts
from dagster_smt.run.topic_demands import unmet, without_unmet
from dagster_smt.run.unread import with_erased, with_unread
from dagster_smt.spark import evaluate as on_spark
from dagster_smt.spark.reading.window_forms import WindowForms
from dagster_smt.tables.keyed.key_events import Keyed
from dagster_smt.tables.keyed.remembered_deletions import remember, remembers_deletions
from dagster_smt.tables.push_down import Narrowed
from dagster_smt.tables.schemas import conformed
from dagster_smt.tables.sink_options import TableSink
from dagster_smt.tables.sinks.protocol import MergingTable, NewCommit, Table, check_expected, same_state
from dagster_smt.tables.sinks.records import RecordTable, TargetRecords
from dagster_smt.tables.sources import Source


class Running(Protocol):
    """The attributes and methods of a run that an ``Attempt`` uses. An attempt is one pass of the run over its window
    (a range of offsets): it evaluates the records, writes the rows and commits.
    """

    spec: RunSpec
    session: SparkSession
    table: Table
    source: Source
    seconds: dict[str, float]
    failures: dict[str, list[Problem]]
    warnings: list[Problem]
    schemas: tuple[SchemaUse, ...]
    way: str
    division: Division
    erased: dict[str, int]

    @property
    def say(self) -> Progress:
        """A function that reports a line of text about the progress of the run."""
        ...

    @property
    def deletions(self) -> Table:
        """A second table, which remembers the deleted keys of the run's table. Only a table with keys and the option
        ``sequence_by`` needs this second table.
        """
        ...

    def timed(self, phase: str) -> AbstractContextManager[None]:
        """Measures the duration of the block, and adds it to the seconds of ``phase``."""
        ...

    def warn(self, problems: Iterable[Problem]) -> None:
        """Notes ``problems`` as warnings, which do not stop the run."""
        ...


@dataclass
class Attempt:
    """An attempt to do the Spark work of a run: evaluate the records once, count, write and commit."""

    run_: Running
    plan: Plan
    frame: DataFrame
    evaluated: DataFrame
    schema: StructType
    draft: Draft
    narrow: Narrowed
    forms: WindowForms | None
    keyed: Keyed | None = None
    later: DataFrame | None = None

    @property
    def spec(self) -> RunSpec:
        return self.run_.spec

    def run(self) -> RunReport:
        with self.staged() as result:
            with self.run_.timed("evaluate"):
                self.run_.schemas = self.run_.schemas or result.schemas(self.spec.table)
            return self.commit_sendable(result)

    def commit_sendable(self, result: EvaluatedWindow) -> RunReport:
        """Commits the window (the range of offsets) in ``result``. If the chain sends records to a forbidden topic,
        such as the topic of the dead letters, these records are first marked as failed.
        """
        targets = self.targets(result)
        problems = misrouted(targets, self.spec, self.run_.table, self.draft.window.topics)
        if problems:
            return self.without_misrouted(result, problems)
        return self.commit_fitting(result, targets)

    def targets(self, result: EvaluatedWindow) -> list[TargetRecords]:
        """Returns an item for each topic to which the run will write. An item contains the number of records, the size
        of the longest record and similar facts. If the run writes to a Delta or Iceberg table, the list is empty.
        """
        if not isinstance(self.run_.table, RecordTable):
            return []
        with self.run_.timed("evaluate"):
            return self.run_.table.measure(result.rows_out(), "__out.")

    def without_misrouted(self, result: EvaluatedWindow, problems: Mapping[str, Problem]) -> RunReport:
        """Marks the records for forbidden topics as failed, and then commits the window (the range of offsets) in
        ``result``.

        ``problems`` maps each forbidden topic, such as the topic of the dead letters, to its problem. If the run
        tolerates no errors, or if the chain has no stages, the method raises these problems instead of committing.
        """
        stages = len(self.spec.chain.stages)
        if self.spec.errors_tolerance == "none" or not stages:
            raise TableError(problems.values())
        with replace(self, evaluated=refused(result.frame, problems, stages)).staged() as again:
            return self.commit_fitting(again, self.targets(again))

    def commit_fitting(self, result: EvaluatedWindow, targets: Sequence[TargetRecords]) -> RunReport:
        """Commits the window (the range of offsets) in ``result``. If the topics in ``targets`` would reject some
        records, for example because of their size, these records are first marked as failed.
        """
        table = self.run_.table
        with self.run_.timed("evaluate"):
            refused_ones = unmet(targets, table, tolerant=self.spec.errors_tolerance == "all")
        if not refused_ones:
            return self.commit_ordered(result)
        fitting = without_unmet(result.frame, refused_ones, table, self.spec.chain)
        with replace(self, evaluated=fitting).staged() as again:
            self.targets(again)
            return self.commit(again)

    def commit_ordered(self, result: EvaluatedWindow) -> RunReport:
        """Commits the window (the range of offsets) in ``result``.

        For a table with keys, records of one key that come from two partitions have no known order, unless
        ``sequence_by`` orders them. The method marks such records as failed before the commit (see
        ``without_conflicts``).
        """
        if self.keyed is None:
            return self.commit(result)
        with self.keyed_window(result) as window:
            if not window.effects.conflicts:
                return self.commit(result, window)
            ordered = replace(self, evaluated=without_conflicts(result, window, self.spec.chain))
            with ordered.staged() as again, ordered.keyed_window(again) as rest:
                return ordered.commit(again, rest)

    @contextmanager
    def keyed_window(self, result: EvaluatedWindow) -> Iterator[KeyedWindow]:
        """Yields the changes that the window in ``result`` makes to a table with keys."""
        keyed, sink, table = self.keyed, self.spec.sink, self.run_.table
        assert keyed is not None and isinstance(sink, TableSink)
        now, deletions = None, None
        if not self.draft.replaced.everything and table.schema() is not None:
            now = table
            if remembers_deletions(keyed):
                deletions = self.run_.deletions
        left_out = frozenset(self.run_.failures)
        read, over = self.draft.window, self.draft.over - self.draft.anew - left_out
        with ExitStack() as stack:
            with self.run_.timed("changes"):
                window = keyed_window(result, left_out, self.later, keyed, self.schema, now, deletions, read, over)
                changes = stack.enter_context(window)
            yield changes

    def run_as_guessed(self) -> RunReport | None:
        """Evaluates and commits the window (the range of offsets), assuming that all records have the same schemas as
        the one record that the run has read before (``forms``). Returns the report. If a record uses a different
        schema, returns None and writes nothing.
        """
        assert self.forms is not None
        with self.staged() as result:
            if result.other:
                self.run_.say(f"{result.other} records name other schemas than the first one")
                return None
            self.run_.schemas = result.schemas_as_guessed(self.forms)
            return self.commit_sendable(result)

    @contextmanager
    def staged(self) -> Iterator[EvaluatedWindow]:
        self.run_.say("evaluating")
        with ExitStack() as stack:
            with self.run_.timed("evaluate"):
                result = stack.enter_context(staged(self.evaluated, self.plan, self.left_records, self.run_.division))
            yield result

    def left_records(self, frame: DataFrame) -> DataFrame:
        """Evaluates in Python those rows of ``frame`` that the JVM lane, a faster path in Java, could not evaluate.
        Returns the results.
        """
        spec = self.spec
        rows = on_spark.left_records(frame, self.plan, spec.table, spec.written)
        if self.keyed is not None:
            return with_key_failures(rows, self.keyed, spec.chain)
        return rows

    def commit(self, result: EvaluatedWindow, keyed: KeyedWindow | None = None) -> RunReport:
        run_, draft = self.run_, self.draft
        failures = set(run_.failures)
        self.verify(result)
        sizes = len(self.spec.chain.stages), len(self.plan.entries)
        counts = with_erased(result.topics, run_.erased, *sizes)
        result = replace(result, topics=with_unread(counts, self.narrow.unread, *sizes))
        report = self.report(result)
        if draft.before and not self.spec.rebuild:
            letters = dict(draft.before.dead_letters)
        else:
            letters = {}
        if any(c.all_failed for c in result.topics.values()):
            with run_.timed("rejects"):
                letters = dict(self.reject(result, report)) or letters
        draft = draft.without(run_.failures)
        again = any(result.topics[t].all_failed for t in draft.window.topics if t in result.topics)
        failed = result.failed().without(run_.failures) if again else OffsetSet()
        partly = again and result.partly_failed()
        report = replace(report, window=draft.window, topics=draft.of_topics(report.topics))
        divided = Parts(run_.division, self.narrow.unread, run_.source, sizes)
        report.parts = divided.of(draft.window, result.parts)
        report.unread = tuple(u for u in self.narrow.unread if u.topic in report.topics)
        report = add_totals(report, self.spec.chain, self.plan.entries, [*self.run_.warnings, *self.plan.warnings])
        with ExitStack() as stack:
            if keyed is not None and failures != set(run_.failures):  # topics have been left out since then
                keyed = stack.enter_context(self.keyed_window(result))
            written, state = self.write(result, keyed, draft, report, letters, failed, partly=partly)
        report.files, report.bytes = written.files, written.bytes
        if isinstance(self.spec.sink, TableSink) and written.rows is not None and keyed is None:
            report.rows_written = written.rows
            if written.rows != report.records_out:
                report.warnings.append(miscounted(self.spec.sink.place, written.rows, report.records_out))
        mirror(run_.spec, run_.source, state, run_.say)
        changes = f"; {sum_of_keys(report.keyed.values()).text}" if report.keyed else ""
        run_.say(f"committed: {report.records_out} records in {written.files} files, {report.dropped} dropped{changes}")
        return report

    def write(
        self,
        result: EvaluatedWindow,
        keyed: KeyedWindow | None,
        draft: Draft,
        report: RunReport,
        letters: Mapping[str, int],
        failed: OffsetSet,
        *,
        partly: bool,
    ) -> tuple[NewCommit, TableState]:
        """Writes two things in one commit: the rows in ``result``, and the new state of the table."""
        run_ = self.run_
        if keyed is None:
            return self.write_rows(result, draft, report, letters, failed, partly=partly)
        report.keyed = dict(keyed.effects.counts)
        report.key_after, report.key_lineage = self.plan.key_after, self.plan.key_lineage
        state = draft.state(
            report,
            report_to_json(report),
            letters,
            failed,
            run_.table,
            partly=partly,
            changed_rows=keyed.effects.rows,
        )
        run_.say("committing")  # a cancelled run stops here
        with run_.timed("write"):
            self.remember_deletions(keyed)
            if draft.replaced.everything or run_.table.schema() is None:
                write = partial(run_.table.commit, keyed.new_rows(), state, draft.replaced, draft.before)
            else:
                assert isinstance(run_.table, MergingTable)
                write = partial(run_.table.merge, keyed.written(), keyed.merge(), state, draft.before, keyed.seen)
            return self.confirmed(write, state, report), state

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
        """Writes two things in one commit: a row for each record in ``result`` that passed through the chain, and the
        new state of the table.
        """
        run_ = self.run_
        state = draft.state(report, report_to_json(report), letters, failed, run_.table, partly=partly)
        run_.say("committing")  # a cancelled run stops here
        with run_.timed("write"):
            rows = conformed(output_rows(result.rows_out(frozenset(run_.failures)), self.spec), self.schema)
            write = partial(run_.table.commit, rows, state, draft.replaced, draft.before)
            return self.confirmed(write, state, report), state

    def confirmed(self, write: Callable[[], NewCommit], state: TableState, report: RunReport) -> NewCommit:
        """Calls ``write``, which commits, and returns its result.

        ``write`` may commit and then fail, for example because the catalog cannot be updated. If the table holds the
        commit in spite of the error, the run succeeds and its report gets a warning (SMT595). Otherwise, the error is
        raised.
        """
        try:
            return write()
        except Exception as error:
            if not self.is_committed(state):
                raise
            report.warnings += problems_after_commit(self.spec.sink.place, error)
            return NewCommit(None, 0, 0)

    def is_committed(self, state: TableState) -> bool:
        """Returns True if the table certainly holds the commit of ``state``."""
        with suppress(Exception):
            return same_state(self.run_.table.state(), state)
        return False

    def remember_deletions(self, keyed: KeyedWindow) -> None:
        """Writes the deletions in ``keyed`` to a second table, which remembers the deleted keys. Only a table in the
        mode ``upsert`` with ``sequence_by``, whose deletions remove rows, has such a second table. For other tables,
        the method does nothing.
        """
        if not remembers_deletions(keyed.keyed):
            return
        remember(keyed.changes, self.run_.deletions)

    def verify(self, result: EvaluatedWindow) -> None:
        """Raises a ``TableError`` if ``result`` does not contain every record of the window."""
        read = dict(self.run_.erased)
        for topic, counts in result.topics.items():
            read[topic] = read.get(topic, 0) + counts.records
        if problems := self.run_.source.verify(self.narrow.window, read, lambda: self.run_.say("")):
            raise TableError(problems)

    def report(self, result: EvaluatedWindow) -> RunReport:
        """Returns the report of the run. The report contains the counts in ``result`` for each topic of the window."""
        before = self.plan.before
        return RunReport(
            self.spec.name,
            self.draft.window,
            before=None if before is None else schema_without_data(before),
            after=self.plan.after,
            previous=self.before(),
            lineage=self.plan.lineage,
            masked=tuple(sorted(self.plan.masked)),
            chain=self.spec.chain.hash,
            topics=result.topics,
            failures=self.run_.failures,
            schemas=self.run_.schemas,
            way=self.run_.way,
            seconds=self.run_.seconds,
        )

    def before(self) -> Schema | None:
        """Returns the output schema of the previous run. Returns None if there was no previous run, or if this run
        replaces all rows.
        """
        state = self.draft.before
        if state is not None and not self.draft.replaced.everything:
            return report_of(state).after
        return None

    def reject(self, result: EvaluatedWindow, report: RunReport) -> Mapping[str, int]:
        """Reports the first failed records in ``result``. Then, depending on ``errors_tolerance``, writes dead letters
        or leaves out the topics of the failed records.

        Returns the offsets at which the next run starts to search for dead letters.
        """
        spec = self.spec
        rows = rejected_rows(result.frame, spec.chain, spec.table)
        report.rejects = first_rejects(rows, spec.chain)
        failed = {}
        for topic, counts in result.topics.items():
            if counts.all_failed:
                failed[topic] = counts
        if spec.errors_tolerance == "none":
            self.leave_out(failed, report)
            return {}
        if not spec.dead_letter_topic and spec.dead_letters is None:
            return {}
        count = sum(c.failed_records for c in failed.values())
        self.run_.say(f"{count} records failed: reading the window again for dead letters")
        draft, settle = self.draft, spec.settle
        check_expected(
            partial(self.run_.table.state, settle=settle), draft.before, draft.replaced, spec.sink.place
        )  # a run that has already lost the race publishes nothing
        published = publish(draft, rows, self.frame, count, self.run_.say)
        report.unwritten = published.unwritten
        self.run_.warn(published.problems)
        return published.ends

    def leave_out(self, failed: Collection[str], report: RunReport) -> None:
        """Leaves out the topics in ``failed``, which have failed records. If no other topic remains, or if the run
        replaces the whole table, raises ``RecordsRejected``.
        """
        whole = self.draft.replaced.everything or len(self.draft.window.topics) == 1
        for topic in failed:
            place = self.spec.name if len(self.draft.window.topics) == 1 else topic
            summary = not_committed(place, report.topics[topic], whole=whole)
            rejects = []
            for r in report.rejects:
                if r.topic == topic:
                    rejects.append(located(r))
            self.run_.failures[topic] = [*rejects, summary]
        report.rejects = [r for r in report.rejects if r.topic not in failed]
        problems = [p for problems in self.run_.failures.values() for p in problems]
        if not set(self.draft.window.topics) - set(self.run_.failures):
            raise RecordsRejected(problems)
        if self.draft.replaced.everything:
            raise RecordsRejected([*problems, rebuild_without(self.spec.sink.place)])
