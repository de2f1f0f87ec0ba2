"""Implements a run. It determines the offsets to read (the window), reads the records, applies the chain, writes the
rows, commits and reports.
"""

import secrets
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from dagster_smt.authoring.key_options import check_keys
from dagster_smt.chain import Plan
from dagster_smt.chain.after_foreign import plan_after
from dagster_smt.chain.forms import FormsPlan, plan_forms
from dagster_smt.errors import EngineError, PlanError, Problem, SmtError, TableError, UnsupportedError
from dagster_smt.foreign.check import check_options
from dagster_smt.model.reports.run_report import RunReport, SchemaUse
from dagster_smt.model.topics.format import Formats
from dagster_smt.model.topics.state import TableState
from dagster_smt.model.windows.division import WHOLE, Division
from dagster_smt.model.windows.offsets import OffsetSet, offsets_of
from dagster_smt.model.windows.window import Window
from dagster_smt.run.attempt import Attempt
from dagster_smt.run.commits import (
    Draft,
    check_removal,
    rebuild_without,
    replaced_rows_of,
)
from dagster_smt.run.erased_records import erased_persons, without_erased
from dagster_smt.run.first_schema import waiting, waits_for_rows, with_more_records
from dagster_smt.run.keyed import (
    Replay,
    keyed_of,
    offsets_to_read_on,
    with_key_failures,
)
from dagster_smt.run.lane import what_runs_in_python
from dagster_smt.run.late_records import late_offsets
from dagster_smt.run.letter_place import check_dead_letters
from dagster_smt.run.many_tables import ManyAttempt
from dagster_smt.run.redrive import redriven
from dagster_smt.run.report_json import report_of
from dagster_smt.run.resume import keep, mirror, state_to_resume
from dagster_smt.run.rows_of_connectors import check_rows_of_connector
from dagster_smt.run.run_spec import Progress, RunSpec
from dagster_smt.run.spark_failures import coded_failures
from dagster_smt.run.starting_over import with_columns
from dagster_smt.run.table_schema import checked_schema
from dagster_smt.run.unmasked import repaired
from dagster_smt.run.unread import counted, needed, records_of, what_is_unread
from dagster_smt.spark import evaluate as on_spark
from dagster_smt.spark.environment import check_settings
from dagster_smt.spark.executors import check_executors
from dagster_smt.spark.foreign_jars import ship_jars
from dagster_smt.spark.reading.window_forms import GUESSED, WindowForms, guessed_forms, window_forms
from dagster_smt.spark.records.arrow_map import ArrowMap
from dagster_smt.spark.records.schemas_after import schemas_after
from dagster_smt.spark.versions import check_version
from dagster_smt.spark.ways import Way
from dagster_smt.tables.available import Available, waiting_problem
from dagster_smt.tables.erasure.matching import Erased
from dagster_smt.tables.keyed.remembered_deletions import deletions_table
from dagster_smt.tables.planning import plan_sink
from dagster_smt.tables.push_down import Narrowed
from dagster_smt.tables.sink_options import SinkKind, TableSink
from dagster_smt.tables.sinks import open_table
from dagster_smt.tables.sinks.object_stores import commit_warnings
from dagster_smt.tables.sinks.protocol import LaidOutTable, Replaced, Table
from dagster_smt.tables.sources import Source, measured_topics, open_source
from dagster_smt.tables.topic_table import TopicTable
from dagster_smt.tables.windows import ResolvedWindow, choose_topics, describe, resolve_window

Failures = dict[str, list[Problem]]
Evaluate = Callable[[DataFrame, Plan, TopicTable, SinkKind, Formats, WindowForms | None], DataFrame]
"""A function that applies a chain to records, and returns the results. It has six arguments. The first four are the
records, the plan, the topic table and the kind of the sink. The fifth is the formats that the run writes. The last is
the schemas of the records, if the records contain schemas or schema ids; otherwise None.
"""
MANY = 100_000
"""The smallest number of records for which a run guesses the schema. For a guess, the run reads the schema id of one
record, and assumes that all records have this id. With fewer records, reading all ids is as fast as a guess.
"""


def run(
    spec: RunSpec,
    session: SparkSession,
    progress: Progress = lambda line: None,
    *,
    evaluate: Evaluate | None = None,
    begun: Callable[[Window], None] = lambda window: None,
) -> RunReport:
    """Runs a chain on one window: reads the records, commits the rows and returns the report.

    The run leaves out a topic in two cases: it cannot read the topic as requested, or records of the topic fail with
    ``errors_tolerance="none"``. The report lists this topic in ``failures``, and the run commits the other topics. If
    no topic is left, the run fails.

    Args:
        spec: The request of the run.
        session: The Spark session.
        progress: Receives lines about the progress of the run. The run passes an empty line only to check whether it
            may continue.
        begun: Receives the window, before the run reads any record.
        evaluate: The evaluator; by default ``dagster_smt.spark.evaluate``.

    Raises:
        ConfigError, PlanError: The request is wrong, for example an option of a class from a jar; nothing was
            read.
        TableError: The topics, the window or the sink do not allow the run; nothing was committed.
        RecordsRejected: Records failed with ``errors_tolerance="none"``; nothing was committed.
        UnsupportedError: Executors lack a module, or a setting of the session changes the meaning of SQL; nothing was
            read.
        EngineError: Spark, the JVM or the file system failed.
    """
    with coded_failures(spec.name):
        check_version(session)
        check_settings(session)
        check_executors(session)
        check_keys(spec.chain)
        if spec.erasure is not None:
            spec.erasure.check_keys()
        warnings = [*check_options(spec.chain), *commit_warnings(session, spec.sink, spec.dead_letters)]
        ship_jars(session, spec.chain)
        table, source = open_table(session, spec.sink, spec.table.source), open_source(spec.table.source, session)
        return _Run(spec, session, progress, evaluate, table, source, begun, warnings=warnings).run()


@dataclass
class _Run:
    spec: RunSpec
    session: SparkSession
    say: Progress
    evaluate: Evaluate | None
    table: Table
    source: Source
    begun: Callable[[Window], None]
    seconds: dict[str, float] = field(default_factory=dict)
    failures: Failures = field(default_factory=dict)
    warnings: list[Problem] = field(default_factory=list)
    schemas: tuple[SchemaUse, ...] = ()
    way: str = ""
    there: OffsetSet = field(default_factory=OffsetSet)
    topics: frozenset[str] = frozenset()
    division: Division = WHOLE
    without_schema: Window | None = None
    persons: Erased | None = None
    erased: dict[str, int] = field(default_factory=dict)

    def run(self) -> RunReport:
        self.spec.plan()  # a run whose request can never work ends before anything is read
        with self.timed("window"):
            state = state_to_resume(self.spec, self.table, self.say)
            self.persons = erased_persons(self.spec, self.session, state)
            if state is not None and (done := state.committed(self.spec.key, self.spec.request)) is not None:
                self.say(f"committed before: window {done.window}")
                if not done.left_out:
                    return report_of(state, done)
                self.spec = self.spec.of_topics(done.left_out)
            resolved, identities = self.resolve(state)
        spec, window = self.spec, resolved.window
        self.check_whole_rebuild()
        absent, anew = resolved.notes.absent, frozenset(resolved.anew)
        replaced = replaced_rows_of(spec, window, state, absent, self.topics, anew)
        if not replaced.everything:
            check_rows_of_connector(spec.sink.place, state, window, replaced.topics)
        check_removal(spec, replaced, state, self.there, resolved.remade)
        if isinstance(self.table, LaidOutTable):
            layout = self.table.layout_warnings(rebuild=replaced.everything)
            self.warn(problem for problem in layout if problem not in self.warnings)
        gone = absent & state.held if state is not None else OffsetSet()
        removes = gone or self.removes(replaced, state)
        settles = spec.settle and state is not None
        if not (window.ranges or resolved.notes.gaps or removes or settles or self.news(resolved, state)):
            if self.failures:
                all_problems = []
                for problems in self.failures.values():
                    all_problems.extend(problems)
                raise TableError(all_problems)
            self.say("nothing new")
            if state is not None:
                keep(self.spec, self.table, state, self.say)
                mirror(self.spec, self.source, state, self.say)
            return self.nothing(window)
        self.say(f"window: {window.records} records, {describe(window)}")
        self.begun(window)
        over = anew | self.topics if spec.rebuild else anew
        attempt, notes = secrets.token_hex(8), resolved.notes
        draft = Draft(spec, attempt, window, notes, identities, replaced, state, over, anew)
        try:
            return self.of_window(draft)
        except PlanError as error:
            more = with_more_records(self.spec, error, window, self.without_schema)
            if more is None and self.waits_for_rows(error, draft):
                self.warn([waiting(spec, window.records)])
                return self.nothing(Window())
            if more is None:
                raise
        self.spec, self.without_schema = more, window
        self.say("no record of the window has a schema to read: more records are read")
        return self.run()

    def nothing(self, window: Window) -> RunReport:
        """Returns the report of a run that commits nothing."""
        status = {"failures": self.failures, "warnings": self.warnings, "seconds": self.seconds, "status": "empty"}
        return RunReport(self.spec.name, window, **status)  # type: ignore[arg-type]

    def waits_for_rows(self, error: PlanError, draft: Draft) -> bool:
        """Returns True if the table with keys does not exist yet, and the window contains only tombstones. The result
        is False for a fixed window, because no later run would read this window again.

        Tombstones have no columns, so the run cannot create the table. The run waits until a record with a value
        arrives.

        Args:
            error: The error of the plan: the records name no schema.
            draft: The commit that the run prepares, with its window.
        """
        if draft.before is not None or self.table.schema() is not None:
            return False
        records = records_of(self.spec, self.source, draft.window, self.say)
        return waits_for_rows(self.spec, error, records)

    def check_whole_rebuild(self) -> None:
        """Raises an error if the run would replace all rows of the table, but cannot read the topics in ``failures``.
        The rows of these topics would be lost, because no later run reads the topics from the beginning.

        Raises:
            TableError: The problems of the topics, and SMT556.
        """
        if self.spec.rebuild and not self.spec.window.topics and self.failures:
            problems = [p for problems in self.failures.values() for p in problems]
            raise TableError([*problems, rebuild_without(self.spec.sink.place)])

    def removes(self, replaced: Replaced, state: TableState | None) -> bool:
        """Returns True if the run has rows to remove, so that it must commit even without records.

        The run has such rows if it replaces all rows of an existing table, or all rows of some topics. For example, a
        rebuild of a topic that is now empty removes all rows of the topic.
        """
        if replaced.offsets:
            return False
        return bool(replaced) and (state is not None or self.table.schema() is not None)

    def news(self, resolved: ResolvedWindow, state: TableState | None) -> bool:
        """Returns True if the run must commit even without records, because ``resolved`` (the offsets that the run
        reads) contains news for the table's state.

        For example, the first run on a topic stores the first offsets of the topic. There is one exception: a new table
        that takes its columns from records waits for its first record.
        """
        waits = self.spec.finds_schemas and state is None and self.spec.table.start == "earliest"
        return resolved.news and not waits

    def of_window(self, draft: Draft) -> RunReport:
        """Reads, evaluates and commits the window of ``draft``, and returns the report.

        Raises:
            TableError: The window cannot be committed; or Spark failed because a topic has changed during the run.
        """
        try:
            with coded_failures(self.spec.name):
                return with_columns(self.read_and_commit, draft, self.failures, self.say)
        except EngineError:
            problems: list[Problem] = []
            with suppress(SmtError):
                problems = self.source.changed(draft.window)
            if problems:
                raise TableError(problems) from None
            raise

    def read_and_commit(self, draft: Draft) -> RunReport:
        """Evaluates and commits the window of ``draft``, and returns the report.

        If the plan relies on a guess that is wrong, the window is evaluated twice.
        """
        spec = self.spec
        plan = plan_sink(spec.chain, spec.table, spec.sink, draft.window.topics)
        narrow = self.narrow(draft.window)
        with self.timed("read"):
            frame = records_of(spec, self.source, narrow.window, self.say)
            frame, self.erased = without_erased(frame, spec, self.persons)
            later = self.later_records(draft)
        if self.erased:
            self.say(f"left out: {sum(self.erased.values())} records of erased people")
        if not spec.finds_schemas:
            return self.attempt(plan, frame, draft, narrow, later=later).run()
        if spec.chain.has_foreign:
            plan = self.plan_after_chain(frame if later is None else frame.unionByName(later), draft)
            return self.attempt(plan, frame, draft, narrow, later=later).run()
        guess = self.guess(frame, draft, narrow) if later is None else None
        if guess is not None and (report := guess.run_as_guessed()) is not None:
            return report
        with self.timed("schemas"):
            self.say("looking for the schemas of the records")
            forms = window_forms(frame if later is None else frame.unionByName(later), spec.table)
            plan = self.plan_of_forms(forms, draft)
            self.schemas = forms.uses
            self.say(f"{len({form.value for form in forms.forms})} schemas of values found")
        return self.attempt(plan, frame, draft, narrow, forms, later=later).run()

    def later_records(self, draft: Draft) -> DataFrame | None:
        """Returns the records after the window that the table has already read; None if there are none.

        Only a replay has such records. For example, it reads ``orders-0 [10, 20)`` again, but the table has read up to
        50. The records 20 to 49 may contain later events of the same keys, so they determine the current rows.
        """
        before = None if draft.replaced.everything else draft.before
        later = offsets_to_read_on(self.spec, draft.window, before, self.there)
        if not later:
            return None
        self.say(f"reading on to the table's progress: {later.records} offsets after the window")
        records = records_of(self.spec, self.source, Window(tuple(later.ranges())), self.say)
        return without_erased(records, self.spec, self.persons)[0]

    def guess(self, frame: DataFrame, draft: Draft, narrow: Narrowed) -> "Attempt | None":
        """Reads the schema of one record, and returns an attempt that assumes this schema for all records in ``frame``.

        Returns None if it is better to read the schemas of all records. For example, the window is small, it has
        several topics, or the previous run met several schemas.
        """
        if draft.window.records < MANY:
            return None
        last = report_of(draft.before).schemas if draft.before is not None else ()
        if len(draft.window.topics) > 1 or len({use.schema for use in last if use.side == "value"}) > 1:
            return None
        with self.timed("schemas"):
            guess = guessed_forms(frame, self.spec.table)
        if guess is None:
            return None
        self.say(f"a record names schema {', '.join(use.schema for use in guess.uses)}, and may be like all others")
        try:
            attempt = self.attempt(self.plan_of_forms(guess, draft), frame, draft, narrow, guess)
        except (PlanError, TableError):  # these problems are reported for all schemas
            return None
        if GUESSED in attempt.evaluated.columns:
            return attempt
        return None

    def attempt(
        self,
        plan: Plan,
        frame: DataFrame,
        draft: Draft,
        narrow: Narrowed,
        forms: WindowForms | None = None,
        later: DataFrame | None = None,
    ) -> "Attempt":
        """Checks the columns that ``plan`` produces, and returns an ``Attempt``, which can evaluate and commit the
        records ``frame``. ``draft`` describes the commit.
        """
        spec = self.spec
        for line in what_runs_in_python(spec, plan):
            self.say(line)
        is_many = isinstance(spec.sink, TableSink) and spec.sink.per_topic
        keyed = None if isinstance(plan, FormsPlan) else keyed_of(spec, plan)
        with self.timed("read"):
            evaluated = self.evaluated(frame, plan, forms)
            if keyed is not None:
                evaluated = with_key_failures(evaluated, keyed, spec.chain)
            if is_many:  # each table has its own columns
                schema = StructType()
            else:
                schema = checked_schema(spec, self.table, evaluated, draft.replaced, keyed)
            if later is not None:
                replay = Replay(frame, later, draft.before)
                later = on_spark.evaluate(later, plan, spec.table, "columns", spec.written, forms)
                if keyed is not None:
                    later = with_key_failures(later, keyed, spec.chain)
                replay.check(later, keyed, plan, spec.sink.place)
                later = later.where("__status = 0")
        kind = ManyAttempt if is_many else Attempt
        return kind(self, plan, frame, evaluated, schema, draft, narrow, forms, keyed, later)

    def evaluated(self, frame: DataFrame, plan: Plan, forms: WindowForms | None) -> DataFrame:
        """Returns the result of applying the chain to the records in ``frame``. The JVM lane, a faster path in Java,
        cannot handle some records. These records are only marked; ``Attempt.left_records`` evaluates them later, in
        Python.
        """
        spec = self.spec
        if self.evaluate is not None:
            return self.evaluate(frame, plan, spec.table, spec.sink.kind, spec.written, forms)
        return on_spark.evaluate(
            frame,
            plan,
            spec.table,
            spec.sink.kind,
            spec.written,
            forms,
            beat=lambda: self.say(""),
            whole=False,
            note=self.note_way,
        )

    def note_way(self, way: Way) -> None:
        """Notes ``way``, the path on which the records were evaluated, for the report."""
        self.way = way.name
        self.say(f"way: {way.name}")

    def narrow(self, window: Window) -> Narrowed:
        """Returns the needed part of ``window``, and reports the part that the run does not have to read."""
        with self.timed("window"):
            narrow = counted(needed(self.spec, window, self.source), self.source)
        for line in what_is_unread(narrow):
            self.say(line)
        return narrow

    def resolve(self, state: TableState | None) -> tuple[ResolvedWindow, dict[str, str]]:
        """Returns the offsets that the run reads, and the ids of their topics. Without a fixed range, the offsets begin
        where the progress in ``state`` ends. The problems of topics that cannot be read are added to ``failures``.
        """
        spec, source = self.spec, self.source
        topics = choose_topics(spec.table, spec.window, source.topics())
        check_dead_letters(spec, topics, self.session)
        measured, unreadable = measured_topics(source, topics)
        self.failures.update(unreadable)
        identities = source.identities([t for t in topics if t not in self.failures])
        available = Available(
            measured.ranges,
            identities,
            source.offsets_at,
            source.committed,
            measured.epochs,
            source.cut_back,
            source.same_topic,
            source.present if source.lacks_offsets else None,
            source.offsets_at_each,
            partial(late_offsets, source),
        )
        if spec.window.redrive or spec.window.repair:
            again = redriven if spec.window.redrive else repaired
            spec, lost = again(spec, available, state)
            self.spec = spec
            self.warn(lost)
        request = replace(spec.window, start=spec.window.start or spec.table.start)
        resolved = resolve_window(request, available, state, rebuild=spec.rebuild, on_data_loss=spec.table.on_data_loss)
        self.failures.update(resolved.problems)
        self.warnings += [*resolved.warnings, *(source.ahead() if spec.window.fixed else [])]
        self.there, self.division = offsets_of(measured.ranges), resolved.division
        self.topics = frozenset(topics) - {*self.failures}
        # without this warning, a run whose records wait would look like a run without new records
        self.warn(map(waiting_problem, measured.waiting))
        identities_left = {}
        for t, i in identities.items():
            if t not in self.failures:
                identities_left[t] = i
        return resolved, identities_left

    def warn(self, problems: Iterable[Problem]) -> None:
        """Notes ``problems``, which do not stop the run, in the report and in the log."""
        for problem in problems:
            self.warnings.append(problem)
            self.say(str(problem))

    def plan_after_chain(self, frame: DataFrame, draft: Draft) -> Plan:
        """Returns the plan of a chain with classes from jars. The output schemas of such classes are not known in
        advance, so the method runs the chain once on ``frame`` to find them.
        """
        spec = self.spec
        if spec.chain.keeps_topic:
            hint = "write records, or one table: a path without {topic}"
            statement = "foreign stages cannot fill the columns of many tables"
            raise UnsupportedError(Problem("SMT908", "sink", statement, hint))
        with self.timed("schemas"):
            self.say("running the chain to find the schemas of its records")
            schemas = schemas_after(frame, ArrowMap(spec.chain, spec.table.key, spec.table.value, 0, ledger=False))
        self.say(f"{len({form.value for form in schemas.forms})} schemas of values after the chain")
        return plan_after(spec.chain, schemas.before, schemas.forms, draft.window.topics, self.last_report(draft))

    def plan_of_forms(self, forms: WindowForms, draft: Draft) -> Plan:
        """Returns the plan for records that contain their schemas or schema ids. ``forms`` contains these schemas."""
        last = self.last_report(draft)
        return plan_forms(self.spec.chain, forms.forms, topics=draft.window.topics, last=last, unread=forms.problem)

    def last_report(self, draft: Draft) -> RunReport | None:
        """Returns the report of the last run that committed to the table before ``draft``.

        Returns None if there is no earlier commit, if this run replaces all rows, or if the last commit contained a
        different kind of rows, such as records instead of columns.
        """
        state = None if draft.replaced.everything else draft.before
        if state is not None and state.kind == self.spec.sink.holds:
            return report_of(state)
        return None

    @cached_property
    def deletions(self) -> Table:
        """The table that remembers deletions, if the run writes a table with ``sequence_by``. A run opens the table of
        deletions only once.
        """
        assert isinstance(self.spec.sink, TableSink)
        return deletions_table(self.session, self.spec.sink)

    @contextmanager
    def timed(self, phase: str) -> Iterator[None]:
        start = time.monotonic()
        yield
        self.seconds[phase] = round(self.seconds.get(phase, 0.0) + time.monotonic() - start, 3)
