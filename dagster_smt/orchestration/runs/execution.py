"""One run of a chain inside a Dagster step: config in, cancellable Spark work, report and metadata out."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import dagster as dg

from dagster_smt.chain import Chain, Plan
from dagster_smt.errors import ConfigError, PlanError, Problem, RecordsRejected, SmtError, TableError, UnsupportedError
from dagster_smt.model.reports.causes import log_causes
from dagster_smt.model.reports.run_report import RunReport, joined
from dagster_smt.model.schema import Schema
from dagster_smt.model.windows.window import Window
from dagster_smt.orchestration.launch.config_schema import RunSettings
from dagster_smt.orchestration.launch.versions import EndOffsets
from dagster_smt.orchestration.metadata.definition_metadata import Metadata
from dagster_smt.orchestration.metadata.run_metadata import RunContext, run_metadata
from dagster_smt.orchestration.metadata.table_values import batch_table, problem_table
from dagster_smt.orchestration.resources import need_packages
from dagster_smt.orchestration.runs.guard import Progress, run_cancellable
from dagster_smt.orchestration.runs.progress import RunProgress
from dagster_smt.tables.planning import plan_sink
from dagster_smt.tables.spec import KafkaSink, KafkaTopics, LetterPlace, Sink, TableSink, TopicTable, packages_of
from dagster_smt.visible import visible

if TYPE_CHECKING:
    from dagster_smt.run.facts import TableFacts
    from dagster_smt.run.spec import RunSpec

_FINAL = (ConfigError, PlanError, RecordsRejected, UnsupportedError)  # the same again would fail the same way
Told = Callable[[str | None], Metadata | None]


@dataclass(frozen=True)
class SmtWork:
    """What an asset or op does, as fixed when it is defined.

    Attributes:
        name: Name in reports and logs.
        chain: The chain, unless the run config gives another one.
        table, sink: What it reads and writes.
        topics: Asset keys of the topics.
        dead_letters, dead_letter_topic: Where records go that fail under ``errors.tolerance=all``.
        search_masked: Whether masked values are looked for elsewhere in the output.
        contract: Columns that the table must have.
        allow_chain_override: Whether the run config may give another chain; None: unless the chain masks or drops
            something.
    """

    name: str
    chain: Chain
    table: TopicTable
    sink: Sink
    topics: Sequence[dg.AssetKey] = ()
    dead_letters: LetterPlace | None = None
    dead_letter_topic: str = ""
    search_masked: bool = False
    contract: Schema | None = None
    allow_chain_override: bool | None = None

    @property
    def only(self) -> Chain | None:
        """The chain that runs must have; None if the run config may choose."""
        if self.allow_chain_override is None:
            allowed = not self.chain.hides
        else:
            allowed = self.allow_chain_override
        if allowed:
            return None
        return self.chain

    @property
    def letter_place(self) -> str:
        """What people call the place of the dead letters; empty if there are none."""
        if isinstance(self.dead_letters, TableSink):
            return self.dead_letters.place
        place = (self.dead_letters or self.table.source).place
        if self.dead_letter_topic:
            return f"{place}: {self.dead_letter_topic}"
        return ""

    def __post_init__(self) -> None:
        if isinstance(self.sink, KafkaSink):  # its consumer group has the name of the asset
            object.__setattr__(self, "sink", self.sink.of(re.sub(r"[^A-Za-z0-9._-]+", ".", self.name)))
        need_packages(packages_of(self.table, self.sink, self.dead_letters))


@dataclass(frozen=True)
class SmtOutcome:
    """What a run did, ready for Dagster.

    Attributes:
        report: The report, of all batches together.
        metadata: The metadata of a materialization.
        ends: Where the table's progress ends.
        shown: What Dagster shows already, where the run has nothing to add to it; None if there is something to tell:
            records, or that the table is empty, which nobody knew.
        chain_hash: Of the chain that made the rows: a run that finds them committed has not run its own.
    """

    report: RunReport
    metadata: Metadata
    ends: EndOffsets
    shown: Metadata | None = None
    chain_hash: str = ""

    @property
    def news(self) -> bool:
        """Whether there is something to tell."""
        return self.shown is None


@dataclass(frozen=True)
class SmtRun:
    """A run of some work: decoded config, plan, session.

    Attributes:
        work: The work.
        settings: The run's settings.
        plan: The plan of the run's chain.
        session: The Spark session.
        key: Dagster's run and step: of the first try if this run repeats one that failed.
        tag: Spark's tag for the jobs.
        log: Receives progress lines.
        told: Gives the metadata that Dagster shows, of a topic's partition or (None) of the table.
    """

    work: SmtWork
    settings: RunSettings
    plan: Plan
    session: Any
    key: str
    tag: str
    log: Progress
    told: Told = lambda topic: None

    def execute(self) -> "Executed":
        """Run the chain over the window, or over a series of windows.

        Raises:
            SmtError: Nothing was committed.
        """
        known = RunProgress(self.session, self.tag)
        work = partial(self._run, known)
        return run_cancellable(self.session, self.tag, work, log=self.log, beat=known.line)

    def _run(self, known: RunProgress, progress: Progress) -> "Executed":
        from dagster_smt.run.batch import run  # loads PySpark
        from dagster_smt.run.facts import table_facts
        from dagster_smt.run.micro_batch import run_batches

        def say(line: str) -> None:
            known.phase = line.partition(":")[0] or known.phase
            progress(line)

        spec, limits = self._spec(), self.settings.micro_batch
        if limits is None:
            reports = [run(spec, self.session, say, begun=known.begun)]
        else:
            reports = run_batches(spec, self.session, limits, say, begun=known.begun)
        window = next((r.window for r in reversed(reports) if r.status == "committed"), Window())
        known.phase = "checking the table"
        facts = table_facts(
            spec, self.plan, self.session, window, search=self.work.search_masked, contract=self.work.contract
        )
        return Executed(self, reports, facts)

    def _spec(self) -> "RunSpec":
        from dagster_smt.run.spec import RunSpec

        return RunSpec(
            name=self.work.name,
            chain=self.settings.chain,
            table=self.work.table,
            sink=self.work.sink,
            window=self.settings.window,
            errors_tolerance=self.settings.errors_tolerance,
            dead_letters=self.work.dead_letters,
            dead_letter_topic=self.work.dead_letter_topic,
            rebuild=self.settings.rebuild,
            take_over=self.settings.take_over,
            settle=self.settings.settle,
            key=self.key,
            defined=self.work.chain,
        )


@dataclass(frozen=True)
class Executed:
    """A run that came to its end: its reports, and what holds of the table now."""

    run: SmtRun
    reports: list[RunReport]
    facts: "TableFacts"

    @cached_property
    def report(self) -> RunReport:
        """All windows together."""
        return joined(self.reports)

    def failure(self) -> SmtError | None:
        """The failure of the topics that were left out; its class, and so whether to retry, is theirs."""
        problems = []
        for found in self.report.failures.values():
            for p in found:
                problems.append(p)
        if not problems:
            return None
        if all(map(_rejects_records, self.report.failures.values())):
            return RecordsRejected(problems)
        return TableError(problems)

    def outcome(self) -> SmtOutcome:
        """Of the whole table."""
        report, facts, shown = self.report, self.facts, None
        if report.status == "empty":
            report, shown = self._untold(report, facts.last, None, facts.ends)
        context = self._context(facts.ends, facts.last, facts.lag)
        return self._outcome(report, context, self.reports, shown)

    def outcome_of(self, topic: str) -> SmtOutcome:
        """Of one topic's partition."""
        ends = {t: v for t, v in self.facts.ends.items() if t == topic}
        last = self.facts.last
        if last is not None and topic in last.window.topics:
            last = last.of_topic(topic)
        else:
            last = None
        report, shown = self.report.of_topic(topic), None
        if topic not in self.report.window.topics:
            empty = RunReport(report.name, Window(), seconds=report.seconds, status="empty")
            report, shown = self._untold(empty, last, topic, ends)
        batches = []
        for r in self.reports:
            if topic in r.window.topics:
                batches.append(r.of_topic(topic))
        lag = {t: n for t, n in self.facts.lag.items() if t == topic}
        context = self._context(ends, last, lag)
        gaps = {t: v for t, v in self.facts.gaps.items() if t in ends}
        rows = self.facts.by_topic.get(topic, 0)
        return self._outcome(report, replace(context, rows=None, rows_of_partition=rows, gaps=gaps), batches, shown)

    def outcome_of_time(self, key: str, part: int) -> SmtOutcome:
        """Of a partition of time, which is a part of the window or all of it."""
        report = self.report.of_part(part) if self.report.parts else self.report
        if report.status == "empty":
            report = RunReport(report.name, Window(), seconds=report.seconds, status="empty")
        elif report.status == "already committed" and (self.run.settings.window.cuts or not report.window.ranges):
            # by a run that could not tell: the table remembers no counts, or those of all partitions together
            self.run.log(f"nothing new: {key} was committed by a run before")
            metadata = {"dagster/row_count": self.facts.rows, "dagster_smt/status": report.status}
            return SmtOutcome(report, metadata, self.facts.ends, chain_hash=report.chain)
        report = replace(report, name=f"{self.report.name} {key}")
        context = self._context(None, self.facts.last, self.facts.lag)
        return self._outcome(report, replace(context, rows_of_partition=report.records_out), [report], None)

    def _context(self, ends: EndOffsets | None, last: RunReport | None, lag: Mapping[str, int]) -> RunContext:
        run = self.run
        return RunContext(
            plan=run.plan,
            sink=run.work.sink,
            topics=run.work.topics,
            overridden=run.settings.chain.hash != run.work.chain.hash,
            rows=self.facts.rows,
            ends=ends,
            gaps=self.facts.gaps,
            app_id=run.session.conf.get("spark.app.id", ""),
            window_id=last.window.id if last is not None else "",
            last=self.facts.last,
            lag=sum(lag.values()),
        )

    def _outcome(
        self, report: RunReport, context: RunContext, batches: Sequence[RunReport], shown: Metadata | None
    ) -> SmtOutcome:
        metadata = run_metadata(report, context)
        if self.run.settings.micro_batch is not None:
            metadata["dagster_smt/batches"] = batch_table([b for b in batches if b.status != "empty"])
        made_by = report.chain or self.run.settings.chain.hash
        return SmtOutcome(report, metadata, context.ends or {}, shown, made_by)

    def _untold(
        self, report: RunReport, last: RunReport | None, topic: str | None, ends: EndOffsets
    ) -> tuple[RunReport, Metadata | None]:
        """Nothing is new; but a commit whose run died before Dagster heard of it is reported now.

        Returns:
            What to report, and what Dagster shows already if that is all.
        """
        told = self.run.told(topic)
        shown = told.get("dagster_smt/end_offsets") if told is not None else None
        if last is None or (shown is not None and shown.value == ends):
            self.run.log(f"nothing new: the table holds every record of {topic or 'the topics'} already")
            return report, told
        self.run.log(f"nothing new; reporting window {last.window.id}, committed by a run that could not say so")
        return last, None


def first_try(instance: dg.DagsterInstance, run: dg.DagsterRun) -> str:
    """The run that this one tries again: the first of those in a row that did not succeed.

    A run that succeeded and is executed again is asked for anew.
    """
    while run.parent_run_id:
        parent = instance.get_run_by_id(run.parent_run_id)
        if parent is None or parent.is_success:
            break
        run = parent
    return run.run_id


def make_run(
    work: SmtWork,
    settings: RunSettings,
    session: Any,
    context: dg.OpExecutionContext,
    told: Told = lambda topic: None,
) -> SmtRun:
    """Bring together what a step needs to run.

    Raises:
        PlanError: No record of the table can pass the chain.
    """
    run = context.run
    return SmtRun(
        work=work,
        settings=settings,
        plan=plan_sink(settings.chain, work.table, work.sink),
        session=session,
        key=f"{first_try(context.instance, run)}/{context.op_handle}",
        tag=f"dagster-{run.run_id}-{context.op_handle}",
        log=lambda line: context.log.info(visible(line)),
        told=told,
    )


def summary(report: RunReport) -> str:
    """One line for the log."""
    if report.rows_in != report.records_in:
        rows = f" ({report.rows_in} rows)"
    else:
        rows = ""
    return (
        f"{report.name}: {report.status}, {report.records_in} records in{rows}, {report.records_out} out, "
        f"{report.dropped} dropped, {report.failed_records} dead letters"
    )


@contextmanager
def problems_as_failure() -> Iterator[None]:
    """Turn our errors into Dagster's failure: all problems in the description and as a table; no blind retries.

    Dagster keeps the causes of what is raised, and their messages may quote values: the failure has none.
    """
    try:
        yield
    except SmtError as error:
        log_causes(error)
        raise failure(error) from None


def failure(error: SmtError) -> "SmtFailure":
    """The failure that stands for an error."""
    failed = SmtFailure(
        description=str(error),
        metadata={"dagster_smt/problems": problem_table(error.problems)},
        allow_retries=not isinstance(error, _FINAL),
    )
    failed.foreseen = all(problem.code != "SMT591" for problem in error.problems)
    if failed.foreseen:
        return failed
    return failed.with_traceback(error.__traceback__)


class SmtFailure(dg.Failure):
    """A failure that says what is wrong and what to do.

    The stack behind it would be Dagster's and ours, twice in the log of a run, and help nobody: only where nobody has
    foreseen a failure it tells something.

    Attributes:
        foreseen: Whether the problems say it all.
    """

    foreseen = True

    @property
    def description(self) -> str | None:
        """What is wrong. Dagster asks for it before it writes the stack down, and nothing else of ours is asked."""
        if self.foreseen and self.__traceback__ is not None:
            self.__traceback__.tb_next = None
        return self._description

    @description.setter
    def description(self, text: str | None) -> None:
        self._description = text


def ask_brokers(work: SmtWork) -> None:
    """Ask the brokers of a table for their topics, before a Spark session is made: if they are not there, it is no use.

    Raises:
        EngineError: SMT625 no broker answers, SMT626 a refused login, SMT627 TLS.
    """
    if isinstance(work.table.source, KafkaTopics):
        from dagster_smt.tables.kafka.client import KafkaClient

        KafkaClient(work.table.source).names()


def _rejects_records(problems: Iterable[Problem]) -> bool:
    return any(problem.code == "SMT530" for problem in problems)
