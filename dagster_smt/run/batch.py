"""One run: fix a window, read it, apply the chain, write and commit, report."""

import hashlib
import json
import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Literal

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql.types import StructType

from dagster_smt.chain import Chain, Plan
from dagster_smt.chain.forms import plan_forms
from dagster_smt.errors import ConfigError, Problem, RecordsRejected, TableError
from dagster_smt.model.report import RunReport
from dagster_smt.model.window import Window
from dagster_smt.run.counts import Counts, decode_counts, observed_columns, silent_entries
from dagster_smt.run.rejects import (
    PROBLEMS,
    dead_letters_of,
    first_rejects,
    located,
    publish_dead_letters,
    rejected_rows,
    stage_dead_letters,
)
from dagster_smt.run.report_json import report_of, report_to_json
from dagster_smt.spark.envelopes import found_forms
from dagster_smt.spark.evaluate import evaluate as spark_evaluate
from dagster_smt.tables.commit_log import Commit, CommitLog, DeadLetters, Intent, live, progress
from dagster_smt.tables.file_topics import list_topics, read_window, topic_ranges
from dagster_smt.tables.local import local_folder
from dagster_smt.tables.planning import plan_table
from dagster_smt.tables.sink import check_schema, list_files, open_log, write_files
from dagster_smt.tables.spec import FileTopics, ParquetSink, TopicTable, WindowRequest
from dagster_smt.tables.windows import check_available, choose_topics, describe, replaced_windows, resolve_window

Evaluate = Callable[[DataFrame, Plan, TopicTable, Literal["records", "columns"]], DataFrame]
Progress = Callable[[str], None]


@dataclass(frozen=True)
class RunSpec:
    """What to run.

    Attributes:
        name: Name of the asset or op; the connector's name in dead letters.
        chain: The chain.
        table: What it reads.
        sink: What it writes.
        window: Which offsets; by default those after the last committed window.
        errors_tolerance: Connect's ``errors.tolerance``: ``none`` commits nothing if a record fails, ``all`` goes on.
        dead_letters: Where dead letters go; ``None`` is beside the topics read.
        dead_letter_topic: Their topic; empty for none.
        rebuild: Start the table over: this window replaces everything.
        run_id: Id of the orchestrator's run. A second run with the same id and the same request is a retry.
    """

    name: str
    chain: Chain
    table: TopicTable
    sink: ParquetSink
    window: WindowRequest = field(default_factory=WindowRequest)
    errors_tolerance: Literal["none", "all"] = "none"
    dead_letters: FileTopics | None = None
    dead_letter_topic: str = ""
    rebuild: bool = False
    run_id: str = ""

    @property
    def request(self) -> str:
        """Identifies what is asked for, not what runs: the window request and ``rebuild``."""
        explicit = self.window.explicit.to_json() if self.window.explicit else None
        asked = [sorted(self.window.topics), explicit, self.window.max_records, self.rebuild]
        return hashlib.sha256(json.dumps(asked).encode()).hexdigest()[:16]

    @property
    def finds_schemas(self) -> bool:
        """Whether the columns depend on the records."""
        return self.sink.kind == "columns" and self.table.value.kind == "envelope"


def run(
    spec: RunSpec,
    session: SparkSession,
    progress: Progress = lambda line: None,
    *,
    evaluate: Evaluate | None = None,
) -> RunReport:
    """Read one window, apply the chain, commit, report.

    What dead runs left behind is put in order first: their dead letters are published, their windows replayed.

    Args:
        spec: What to run.
        session: The Spark session.
        progress: Receives lines that say how far the run is, and empty ones that only ask whether to go on.
        evaluate: The evaluator; by default ``dagster_smt.spark.evaluate``.

    Raises:
        ConfigError, PlanError: Nothing was read.
        TableError: Topics, window or sink do not allow it; nothing was committed.
        RecordsRejected: Records failed under ``errors_tolerance="none"``; nothing was committed.
    """
    log = open_log(spec.sink.root)
    with log.locked(spec.run_id):
        evaluate = evaluate or partial(spark_evaluate, beat=lambda: progress(""))
        return _Run(spec, session, progress, evaluate, log).run()


@dataclass
class _Run:
    spec: RunSpec
    session: SparkSession
    say: Progress
    evaluate: Evaluate
    log: CommitLog
    seconds: dict[str, float] = field(default_factory=dict)

    def run(self) -> RunReport:
        with self.timed("recovery"):
            commits = self.recover()
        for commit in reversed(commits):
            if self.spec.run_id and (commit.run_id, commit.request) == (self.spec.run_id, self.spec.request):
                self.say(f"committed before: {describe(commit.window)}")
                return report_of(commit)
        with self.timed("window"):
            intent, replaces = self.resolve(live(commits))
        if not intent.window.ranges:
            self.say("nothing new")
            return RunReport(self.spec.name, intent.window, seconds=self.seconds, status="empty")
        self.say(f"window: {intent.window.records} records, {describe(intent.window)}")
        plan = plan_table(self.spec.chain, self.spec.table, intent.window.topics)
        beside = [c for c in live(commits) if c.number not in replaces]
        with self.timed("read"):
            frame = read_window(self.session, self.spec.table.source, intent.window, lambda: self.say(""))
        if self.spec.finds_schemas:
            with self.timed("schemas"):
                plan = self.plan_found(frame, intent.window, beside)
        with self.timed("read"):
            evaluated = self.evaluate(frame, plan, self.spec.table, self.spec.sink.kind)
            schema = self.checked_schema(evaluated, beside)
        if not intent.id:
            intent = self.log.take(intent.window, explicit=intent.explicit, rebuild=intent.rebuild)
        draft = Commit(
            number=len(commits) + 1,
            intent=intent.id,
            attempt=self.log.new_attempt(intent.window),
            window=intent.window,
            kind=self.spec.sink.kind,
            schema=json.loads(schema.json()),
            replaces=replaces,
            run_id=self.spec.run_id,
            request=self.spec.request,
        )
        return _Attempt(self, plan, frame, evaluated, draft).run(intent)

    def recover(self) -> list[Commit]:
        """Finish what dead runs began; return all commits."""
        commits = self.log.commits()
        for commit in commits:
            if published := publish_dead_letters(self.log, commit):
                self.say(f"published {published} dead letters of an earlier run")
        self.log.clean()
        return commits

    def resolve(self, commits: list[Commit]) -> tuple[Intent, tuple[int, ...]]:
        """The window to run, and the commits that it replaces. An intent without id is still to be written."""
        spec, source = self.spec, self.spec.table.source
        topics = choose_topics(spec.table, spec.window, list_topics(source))
        _check_dead_letter_topic(spec, topics)
        windows = {c.number: c.window for c in commits}
        fixed = spec.window.explicit is not None or spec.rebuild
        waiting = [] if fixed else [i for i in self.log.intents() if {*i.window.topics} & {*topics}]
        if waiting:
            intent = waiting[0]
            self.say("replaying the window of a run that did not commit")
            check_available(intent.window, topic_ranges(source, intent.window.topics))
        else:
            reached = {} if spec.rebuild else progress(commits)
            window = resolve_window(spec.window, topic_ranges(source, topics), reached)
            intent = Intent("", window, spec.window.explicit is not None, spec.rebuild)
        if intent.rebuild:
            return intent, tuple(windows)
        return intent, replaced_windows(intent.window, windows) if intent.explicit else ()

    def plan_found(self, frame: DataFrame, window: Window, beside: list[Commit]) -> Plan:
        """The plan of records that bring their schemas along: a pass over the window finds them."""
        self.say("looking for the schemas of the records")
        forms = found_forms(frame, self.spec.table)
        self.say(f"{len({form.value for form in forms})} schemas of values found")
        last = next((report_of(c) for c in reversed(beside) if c.kind == self.spec.sink.kind), None)
        return plan_forms(self.spec.chain, forms, topics=window.topics, last=last)

    def checked_schema(self, evaluated: DataFrame, beside: list[Commit]) -> StructType:
        schema = evaluated.schema["__out"].dataType
        assert isinstance(schema, StructType)
        sensitive = self.session.conf.get("spark.sql.caseSensitive") == "true"
        check_schema(self.spec.sink, beside, schema, case_sensitive=sensitive)
        return schema

    @contextmanager
    def timed(self, phase: str) -> Iterator[None]:
        start = time.monotonic()
        yield
        self.seconds[phase] = round(self.seconds.get(phase, 0.0) + time.monotonic() - start, 3)


@dataclass
class _Attempt:
    """One attempt at a window: its data folder is removed unless it comes to a commit."""

    run_: _Run
    plan: Plan
    frame: DataFrame
    evaluated: DataFrame
    draft: Commit

    @property
    def spec(self) -> RunSpec:
        return self.run_.spec

    @property
    def folder(self) -> Path:
        return self.run_.log.data_folder(self.draft.attempt)

    def run(self, intent: Intent) -> RunReport:
        log, committing = self.run_.log, False
        try:
            commit, report = self.write()
            self.run_.say("committing")  # a cancelled run stops here
            committing = True  # from here on the folder may belong to a commit: only the next run can know
            log.commit(commit)
        finally:
            if not committing:
                shutil.rmtree(self.folder, ignore_errors=True)
        self.run_.say(f"committed: {report.records_out} records in {len(report.files)} files, {report.dropped} dropped")
        if published := publish_dead_letters(log, commit):
            self.run_.say(f"published {published} dead letters")
        log.drop(intent)
        return report

    def write(self) -> tuple[Commit, RunReport]:
        """Write the data files and dead letters; return the commit that makes them count."""
        spec, log, draft = self.spec, self.run_.log, self.draft
        self.run_.say("writing")
        with self.run_.timed("write"):
            counts = self.write_kept()
            files = list_files(log, draft.attempt)
        self.verify(counts, sum(f.rows for f in files))
        report = RunReport(
            spec.name,
            draft.window,
            records_in=counts.records,
            records_out=counts.kept,
            dropped=counts.dropped,
            failed=counts.failed,
            stages=counts.stages,
            ledger=counts.ledger,
            before=self.plan.before,
            after=self.plan.after,
            lineage=self.plan.lineage,
            masked=tuple(sorted(self.plan.masked)),
            files=[f.path for f in files],
            bytes=sum(f.bytes for f in files),
            seconds=self.run_.seconds,
            warnings=list(dict.fromkeys([*self.plan.warnings, *silent_entries(counts, spec.chain)])),
        )
        letters = None
        if counts.failed:
            with self.run_.timed("rejects"):
                letters = self.reject(counts, report)
        return replace(draft, files=files, dead_letters=letters, report=report_to_json(report)), report

    def write_kept(self) -> Counts:
        """Write what is kept, and count everything on the way."""
        chain, entries = self.spec.chain, self.plan.entries
        observation = Observation()
        observed = self.evaluated.observe(observation, *observed_columns(chain, entries))
        write_files(observed.where("__status = 0").select("__out.*"), self.folder)
        return decode_counts(observation.get, chain, entries)

    def verify(self, counts: Counts, rows: int) -> None:
        expected = self.draft.window.records
        if (counts.records, rows) == (expected, counts.kept):
            return
        statement = f"{expected} records were to be read, {counts.records} were; {counts.kept} to be kept, {rows} were"
        raise TableError(Problem("SMT533", self.draft.window.id, statement, "the topic changed while it was read"))

    def reject(self, counts: Counts, report: RunReport) -> DeadLetters | None:
        """Name the first rejects; make dead letters, or give up."""
        spec = self.spec
        rows = rejected_rows(self.evaluated, spec.chain, spec.table)
        letters = None
        if spec.errors_tolerance == "all" and spec.dead_letter_topic:
            self.run_.say(f"{counts.failed} records failed: reading the window again for dead letters")
            rows = stage_dead_letters(rows, self.frame, self.folder, counts.failed)
            source = spec.dead_letters or spec.table.source
            log, attempt = self.run_.log, self.draft.attempt
            letters = dead_letters_of(source, spec.dead_letter_topic, spec.name, counts.failed, log, attempt)
        report.rejects = first_rejects(rows, spec.chain)
        shutil.rmtree(self.folder / PROBLEMS, ignore_errors=True)
        if spec.errors_tolerance == "none":
            statement = f"{counts.failed} of {counts.records} records failed; nothing was committed"
            hint = "mend the chain and run again: it takes the same window; or set errors.tolerance to all"
            summary = Problem("SMT530", spec.name, statement, hint)
            raise RecordsRejected([*map(located, report.rejects), summary])
        return letters


def _check_dead_letter_topic(spec: RunSpec, topics: tuple[str, ...]) -> None:
    """Refuse dead letters that have no topic, or that the same table would read again."""
    if spec.dead_letters is not None and not spec.dead_letter_topic:
        raise ConfigError(Problem("SMT531", spec.name, "dead letters have a place but no topic", "name the topic"))
    source = spec.dead_letters or spec.table.source
    same = local_folder(source.root) == local_folder(spec.table.source.root)
    pattern = spec.table.pattern and re.fullmatch(spec.table.pattern, spec.dead_letter_topic)
    if same and spec.dead_letter_topic and (spec.dead_letter_topic in (*topics, *spec.table.topics) or pattern):
        hint = "choose a topic that neither the topics nor the pattern of the table name"
        raise ConfigError(Problem("SMT534", spec.dead_letter_topic, "the table would read its own dead letters", hint))
