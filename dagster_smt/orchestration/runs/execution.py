"""Executes the run of a table inside a Dagster step. The Spark work can be cancelled, and the result becomes outcomes
for Dagster.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import dagster as dg

from dagster_smt.chain import Plan
from dagster_smt.errors import Problem, RecordsRejected, SmtError, TableError, needs_extras
from dagster_smt.model.reports.destinations import summary_of
from dagster_smt.model.reports.run_report import RunReport, joined, sum_of_keys
from dagster_smt.model.windows.window import Window
from dagster_smt.orchestration.definitions.planned_table import PlannedTable
from dagster_smt.orchestration.launch.code_versions import EndOffsets
from dagster_smt.orchestration.launch.config_schema import RunSettings
from dagster_smt.orchestration.metadata.definition_metadata import Metadata
from dagster_smt.orchestration.metadata.run_metadata import RunContext, run_metadata
from dagster_smt.orchestration.metadata.table_values import batch_table
from dagster_smt.orchestration.pipes.pipes_spark import PipesSpark
from dagster_smt.orchestration.resources import spark_session_of
from dagster_smt.orchestration.runs.afterwards import Afterwards
from dagster_smt.orchestration.runs.guard import Progress
from dagster_smt.orchestration.runs.spark_work import RunResult, RunWork, run_result, run_spec
from dagster_smt.tables.kafka.spec import KafkaTopics
from dagster_smt.visible import visible

_Value = TypeVar("_Value")

LastMetadata = Callable[[str | None], Metadata | None]
"""A function that returns the metadata that Dagster shows now. The argument is the topic of a partition, or None for
the whole table.
"""


@dataclass(frozen=True)
class SmtOutcome:
    """The outcome of a run for a table or for one of its partitions. A materialization or observation is built from it.

    Attributes:
        report: The report, with all batches together.
        metadata: The metadata of a materialization.
        ends: The end of the table's progress, by topic and partition: runs have read or skipped all offsets before this
            end.
        shown: If the run has nothing new to report, the metadata that Dagster already shows. None if the run has
            something to report: records, a commit that Dagster does not know, or a table without any metadata in
            Dagster.
        chain_hash: The hash of the chain that produced the rows. If an earlier run had already committed the rows, this
            is the hash of that run's chain.
    """

    report: RunReport
    metadata: Metadata
    ends: EndOffsets
    shown: Metadata | None = None
    chain_hash: str = ""

    @property
    def news(self) -> bool:
        """True if the run has something to report."""
        return self.shown is None


@dataclass(frozen=True, kw_only=True)
class SmtRun(RunResult):
    """A finished run of a table: the result, and the data that Dagster events about the result need.

    Attributes:
        table: The table.
        settings: The decoded run config.
        plan: The plan of the run's chain.
        afterwards: Collects the problems of steps that fail after the commit.
        log: Logs a line.
        last_metadata: Returns the metadata that Dagster already shows.
    """

    table: PlannedTable
    settings: RunSettings
    plan: Plan
    afterwards: Afterwards
    log: Progress = lambda line: None
    last_metadata: LastMetadata = lambda topic: None

    @cached_property
    def report(self) -> RunReport:
        """The report of all windows together."""
        return joined(self.reports)

    @cached_property
    def error(self) -> SmtError | None:
        """The error about the topics that were left out; None if there are none. Dagster retries the step only if the
        class of this error permits a retry.
        """
        failures = [*self.report.failures.values()]
        for one in self.report.destinations:
            if one.failed:
                failures.append(list(one.problems))
        problems = []
        for topic in failures:
            problems.extend(topic)
        if not problems:
            return None
        if all(map(_rejects_records, failures)):
            return RecordsRejected(problems)
        return TableError(problems)

    def outcome(self) -> SmtOutcome:
        """Returns the outcome of the run for the whole table."""
        report, facts, shown = self.report, self.facts, None
        if report.status == "empty":
            report, shown = self._unreported(report, facts.last, None, facts.ends)
        context = self._context(facts.ends, facts.last, facts.lag)
        return self._outcome(report, context, self.reports, shown)

    def outcome_of_topic(self, topic: str) -> SmtOutcome:
        """Returns the outcome of the run for the partition of ``topic``."""
        ends = _only(topic, self.facts.ends)
        last = self.facts.last
        if last is not None and topic in last.window.topics:
            last = last.of_topic(topic)
        else:
            last = None
        report, shown = self.report.of_topic(topic), None
        if topic not in self.report.window.topics:
            empty = RunReport(report.name, Window(), seconds=report.seconds, status="empty")
            report, shown = self._unreported(empty, last, topic, ends)
        batches = []
        for batch in self.reports:
            if topic in batch.window.topics:
                batches.append(batch.of_topic(topic))
        context = self._context(ends, last, _only(topic, self.facts.lag))
        gaps = _only(topic, self.facts.gaps) if ends else {}
        rows = self.facts.by_topic.get(topic, 0)
        return self._outcome(report, replace(context, rows=None, rows_of_partition=rows, gaps=gaps), batches, shown)

    def outcome_of_time(self, key: str, part: int) -> SmtOutcome:
        """Returns the outcome of the run for the time partition ``key``.

        The window of the run is divided into parts; ``part`` is the number of the part for this partition.
        """
        report = self.report.of_part(part) if self.report.parts else self.report
        if report.status == "empty":
            report = RunReport(report.name, Window(), seconds=report.seconds, status="empty")
        elif report.status == "already committed" and (self.settings.window.cuts or not report.window.ranges):
            # the run that committed ended early, so the table knows no counts, or only the counts of all partitions
            # together
            self.log(f"nothing new: {key} was committed by a run before")
            metadata = {"dagster/row_count": self.facts.rows, "dagster_smt/status": report.status}
            return SmtOutcome(report, metadata, self.facts.ends, chain_hash=report.chain)
        report = replace(report, name=f"{self.report.name} {key}")
        context = self._context(None, self.facts.last, self.facts.lag)
        return self._outcome(report, replace(context, rows_of_partition=report.records_out), [report], None)

    def _context(self, ends: EndOffsets | None, last: RunReport | None, lag: Mapping[str, int]) -> RunContext:
        return RunContext(
            plan=self.plan,
            sink=self.table.sink,
            topics=self.table.topics,
            overridden=self.settings.overridden(self.table.chain),
            rows=self.facts.rows,
            ends=ends,
            gaps=self.facts.gaps,
            app_id=self.app_id,
            window_id=last.window.id if last is not None else "",
            last=self.facts.last,
            lag=sum(lag.values()),
            policy=self.settings.policy,
        )

    def _outcome(
        self, report: RunReport, context: RunContext, batches: Sequence[RunReport], shown: Metadata | None
    ) -> SmtOutcome:
        metadata = run_metadata(report, context)
        if self.settings.micro_batch is not None:
            metadata["dagster_smt/batches"] = batch_table([b for b in batches if b.status != "empty"])
        return SmtOutcome(report, metadata, context.ends or {}, shown, report.chain or self.settings.chain.hash)

    def _unreported(
        self, report: RunReport, last: RunReport | None, topic: str | None, ends: EndOffsets
    ) -> tuple[RunReport, Metadata | None]:
        """Returns the report to show after a run without new records.

        Usually this is ``report``, the report of the run itself. An earlier run may have died after its commit, before
        Dagster received its report. The function then returns ``last``, the report of that commit.

        Returns:
            The report, and the metadata that Dagster already shows. If the report is ``last``, the metadata is None,
            because Dagster does not show this report yet.
        """
        metadata = self.last_metadata(topic)
        offsets = metadata.get("dagster_smt/end_offsets") if metadata is not None else None
        if last is None or (offsets is not None and offsets.value == ends):
            self.log(f"nothing new: the table holds every record of {topic or 'the topics'} already")
            return report, metadata
        self.log(f"nothing new; reporting window {last.window.id}, committed by a run that could not report it")
        return last, None


def execute(
    table: PlannedTable,
    settings: RunSettings,
    spark: Any,
    context: dg.OpExecutionContext,
    last_metadata: LastMetadata = lambda topic: None,
) -> SmtRun:
    """Runs the chain of a table over a window or a series of windows, and returns the finished run.

    Args:
        table: The table.
        settings: The decoded run config.
        spark: The Spark resource: a resource that ``spark_session_of`` accepts, or a ``PipesSpark``, which does the
            work in another process.
        context: The context of the step.
        last_metadata: Returns the metadata that Dagster already shows.

    Raises:
        PlanError: No record of the table can pass through the chain.
        SmtError: The run failed, and nothing was committed.
    """
    key = f"{first_try(context.instance, context.run)}/{context.op_handle}"
    plan = run_spec(table, settings, key).plan()  # a chain that can never work ends the run before Spark starts
    work = RunWork(table, settings, key, tag=f"dagster-{context.run.run_id}-{context.op_handle}")

    def log(line: str) -> None:
        context.log.info(visible(line))

    if isinstance(spark, PipesSpark):
        result = spark.run_result(work, context)
    else:
        check_brokers(table)
        result = run_result(work, spark_session_of(spark), log)
    return SmtRun(
        **vars(result),
        table=table,
        settings=settings,
        plan=plan,
        afterwards=Afterwards(table.name, context.log.warning),
        log=log,
        last_metadata=last_metadata,
    )


def first_try(instance: dg.DagsterInstance, run: dg.DagsterRun) -> str:
    """Returns the id of the run that first attempted the work of ``run``.

    For example, run 3 retries run 2, and run 2 retries run 1: the result is the id of run 1. If somebody executes a
    successful run again, this is not a retry, and the new run is the first one.
    """
    while run.parent_run_id:
        parent = instance.get_run_by_id(run.parent_run_id)
        if parent is None or parent.is_success:
            break
        run = parent
    return run.run_id


def summary(report: RunReport) -> str:
    """Returns a line for the log that summarizes ``report``."""
    if report.rows_in != report.records_in:
        rows = f" ({report.rows_in} rows)"
    else:
        rows = ""
    if report.keyed:
        keys = f"; {sum_of_keys(report.keyed.values()).text}"
    else:
        keys = ""
    tables = f"; {summary_of(report.destinations)}" if report.destinations else ""
    return (
        f"{report.name}: {report.status}, {report.records_in} records in{rows}, {report.records_out} out, "
        f"{report.dropped} dropped, {report.failed_records} dead letters{keys}{tables}"
    )


def check_brokers(table: PlannedTable) -> None:
    """Asks the brokers of ``table`` for their topics.

    If no broker can be reached, the run ends here, before a Spark session starts.

    Raises:
        EngineError: SMT625, no broker responds; SMT626, the login fails; SMT627, TLS fails.
        UnsupportedError: SMT650, Kafka's client is not installed.
    """
    if isinstance(table.table.source, KafkaTopics):
        with needs_extras():
            from dagster_smt.tables.kafka.client import KafkaClient

        KafkaClient(table.table.source).names()


def _only(topic: str, by_topic: Mapping[str, _Value]) -> dict[str, _Value]:
    """Returns the part of ``by_topic`` that belongs to ``topic``; an empty dictionary if the topic has no entry."""
    return {topic: by_topic[topic]} if topic in by_topic else {}


def _rejects_records(problems: Iterable[Problem]) -> bool:
    return any(problem.code == "SMT530" for problem in problems)
