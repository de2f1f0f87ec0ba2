"""One run of a chain inside a Dagster step: config in, cancellable Spark work, report and metadata out."""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import dagster as dg

from dagster_smt.chain import Chain, Plan
from dagster_smt.errors import ConfigError, PlanError, RecordsRejected, SmtError, UnsupportedError
from dagster_smt.model.report import RunReport
from dagster_smt.model.window import Window
from dagster_smt.orchestration.config_schema import RunSettings
from dagster_smt.orchestration.guard import Progress, run_cancellable
from dagster_smt.orchestration.metadata import Metadata, RunContext, problem_table, run_metadata
from dagster_smt.orchestration.sink_state import sink_state
from dagster_smt.orchestration.versions import data_version
from dagster_smt.tables.planning import plan_table
from dagster_smt.tables.spec import FileTopics, ParquetSink, TopicTable, WindowRequest

_FINAL = (ConfigError, PlanError, RecordsRejected, UnsupportedError)  # the same again would fail the same way


@dataclass(frozen=True)
class SmtWork:
    """What an asset or op does, as fixed when it is defined.

    Attributes:
        name: Name in reports and logs.
        chain: The chain, unless the run config gives another one.
        table, sink: What it reads and writes.
        topics: Asset keys of the topics.
        dead_letters, dead_letter_topic: Where records go that fail under ``errors.tolerance=all``.
    """

    name: str
    chain: Chain
    table: TopicTable
    sink: ParquetSink
    topics: Sequence[dg.AssetKey] = ()
    dead_letters: FileTopics | None = None
    dead_letter_topic: str = ""


@dataclass(frozen=True)
class SmtOutcome:
    """What a run did, ready for Dagster."""

    report: RunReport
    metadata: Metadata
    ends: dict[str, dict[str, int]]


@dataclass(frozen=True)
class SmtRun:
    """A run of some work: decoded config, plan, session.

    Attributes:
        work: The work.
        settings: The run's settings.
        plan: The plan of the run's chain.
        session: The Spark session.
        run_id: Dagster's id of the run, of the first one if this is a re-execution.
        tag: Spark's tag for the jobs.
        log: Receives progress lines.
        told: Gives the id of the last window that Dagster knows of, for a partition or (None) for the table.
    """

    work: SmtWork
    settings: RunSettings
    plan: Plan
    session: Any
    run_id: str
    tag: str
    log: Progress
    told: Callable[[str | None], str] = lambda topic: ""

    def execute(self, topic: str | None = None) -> SmtOutcome:
        """Run the chain over the window, of one topic if it is given.

        Raises:
            SmtError: Nothing was committed.
        """
        report = run_cancellable(self.session, self.tag, lambda progress: self._run(topic, progress), log=self.log)
        topics = (topic,) if topic is not None else ()
        state = sink_state(self.work.sink, topics)
        if report.status == "empty":
            report = self._untold(report, state.last, topic)
        context = RunContext(
            plan=self.plan,
            sink=self.work.sink,
            topics=self.work.topics,
            overridden=self.settings.chain.hash != self.work.chain.hash,
            rows=state.rows,
            partitioned=topic is not None,
            ends=state.ends,
            app_id=self.session.conf.get("spark.app.id", ""),
            window_id=state.last.window.id if state.last is not None else "",
            last=state.last,
        )
        return SmtOutcome(report, run_metadata(report, context), state.ends)

    def _run(self, topic: str | None, progress: Progress) -> RunReport:
        from dagster_smt.run.batch import RunSpec, run  # loads PySpark

        request, rebuild = self._window(topic)
        spec = RunSpec(
            name=self.work.name if topic is None else f"{self.work.name} {topic}",
            chain=self.settings.chain,
            table=self.work.table,
            sink=self.work.sink,
            window=request,
            errors_tolerance=self.settings.errors_tolerance,
            dead_letters=self.work.dead_letters,
            dead_letter_topic=self.work.dead_letter_topic,
            rebuild=rebuild,
            run_id=self.run_id,
        )
        return run(spec, self.session, progress)

    def _window(self, topic: str | None) -> tuple[WindowRequest, bool]:
        """The window to ask for. To rebuild one topic of a shared table is to replace all that it has of the topic."""
        request, rebuild = self.settings.window, self.settings.rebuild
        if topic is None:
            return request, rebuild
        explicit = request.explicit
        if explicit is not None:
            explicit = Window(tuple(r for r in explicit.ranges if r.topic == topic))
        elif rebuild:
            from dagster_smt.tables.file_topics import topic_ranges

            explicit = Window(tuple(r for r in topic_ranges(self.work.table.source, [topic]) if r.records))
        return dataclasses.replace(request, topics=(topic,), explicit=explicit), False

    def _untold(self, report: RunReport, last: RunReport | None, topic: str | None) -> RunReport:
        """Nothing is new; but a commit whose run died before Dagster heard of it is reported now."""
        if last is None or last.window.id == self.told(topic):
            self.log("nothing new: the table holds every record of the topic already")
            return report
        self.log(f"nothing new; reporting window {last.window.id}, committed by a run that could not say so")
        return last


def make_run(
    work: SmtWork,
    settings: RunSettings,
    session: Any,
    context: dg.OpExecutionContext,
    told: Callable[[str | None], str] = lambda topic: "",
) -> SmtRun:
    """Bring together what a step needs to run.

    Raises:
        PlanError: No record of the table can pass the chain.
    """
    run = context.run
    return SmtRun(
        work=work,
        settings=settings,
        plan=plan_table(settings.chain, work.table),
        session=session,
        run_id=run.root_run_id or run.run_id,
        tag=f"dagster-{run.run_id}-{context.op_handle}",
        log=context.log.debug,
        told=told,
    )


def outcome_version(outcomes: Sequence[SmtOutcome], chain: Chain) -> dg.DataVersion:
    """The data version after a run: of a partition, or of all the partitions of the run together."""
    return data_version({t: parts for outcome in outcomes for t, parts in outcome.ends.items()}, chain)


def summary(report: RunReport) -> str:
    """One line for the log."""
    return (
        f"{report.name}: {report.status}, {report.records_in} records in, {report.records_out} out, "
        f"{report.dropped} dropped, {report.failed} dead letters"
    )


@contextmanager
def problems_as_failure() -> Iterator[None]:
    """Turn our errors into Dagster's failure: all problems in the description and as a table; no blind retries."""
    try:
        yield
    except SmtError as error:
        raise failure(error) from error


def failure(error: SmtError) -> dg.Failure:
    """The failure that stands for an error."""
    return dg.Failure(
        description=str(error),
        metadata={"dagster_smt/problems": problem_table(error.problems)},
        allow_retries=not isinstance(error, _FINAL),
    )
