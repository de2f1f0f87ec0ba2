"""Does the Spark work of runs and maintenances. If another process does the work, it receives a request as JSON and
sends the result, such as a ``RunResult``, as data.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from dagster_smt.certify.certificate import Certificate
from dagster_smt.errors import Problem, SmtError
from dagster_smt.model.reports.maintenance_report import MaintenanceReport
from dagster_smt.model.reports.run_report import RunReport
from dagster_smt.model.reports.table_facts import TableFacts
from dagster_smt.model.windows.window import Window
from dagster_smt.orchestration.definitions.many_tables import writes_many
from dagster_smt.orchestration.definitions.planned_table import PlannedAsset, PlannedTable
from dagster_smt.orchestration.launch.config_schema import RunSettings
from dagster_smt.orchestration.runs.guard import Progress, run_cancellable
from dagster_smt.orchestration.runs.progress_log import RunProgress
from dagster_smt.orchestration.runs.run_certificate import certificate_of
from dagster_smt.tables.maintenance.maintenance_options import SmtMaintenance
from dagster_smt.tables.sink_options import TableSink

if TYPE_CHECKING:
    from dagster_smt.run.run_spec import RunSpec


@dataclass(frozen=True)
class RunWork:
    """The work of a run.

    Attributes:
        table: The table.
        settings: The decoded run config.
        key: Identifies the run and its step. A retry has the same key as the first attempt.
        tag: The tag of the Spark jobs, which no other run has.
    """

    table: PlannedTable
    settings: RunSettings
    key: str
    tag: str


@dataclass(frozen=True)
class RunResult:
    """The result of a run, as data.

    Attributes:
        reports: A report for each window.
        facts: The facts about the table after the run, such as its number of rows.
        destination_facts: For a run that writes many tables: a dict from topic to the facts about the topic's table.
            The dict contains only the tables that are separate assets.
        app_id: Spark's id of the application.
        certificate: The result of a comparison with Kafka Connect's own classes; None if there was no comparison.
        no_certificate: The reason why a requested comparison failed; None if no comparison failed.
    """

    reports: list[RunReport]
    facts: TableFacts
    destination_facts: Mapping[str, TableFacts] = field(default_factory=dict)
    app_id: str = ""
    certificate: Certificate | None = None
    no_certificate: Problem | None = None


@dataclass(frozen=True)
class MaintenanceWork:
    """The work of a maintenance.

    Attributes:
        table: The table, or many tables, one for each topic.
        maintenance: The settings of the maintenance.
        steps: The steps to which the maintenance is limited; None for all steps that the options switch on.
        tag: The tag of the Spark jobs, which no other run has.
    """

    table: PlannedAsset
    maintenance: SmtMaintenance
    steps: Sequence[str] | None
    tag: str


@dataclass(frozen=True)
class MaintenanceResult:
    """The result of the maintenance of one table.

    Attributes:
        topic: The topic of the table, if the asset consists of many tables.
        report: The report; None if Spark or the table could not be reached.
        problems: The problems, including the problems in the report.
    """

    topic: str | None
    report: MaintenanceReport | None
    problems: tuple[Problem, ...] = ()


def run_spec(table: PlannedTable, settings: RunSettings, key: str) -> "RunSpec":
    """Returns the ``RunSpec`` for a run of ``table``: an object with the chain, topics, sink and options of the run.
    The modules that execute the run do not import Dagster, and read only this object.
    """
    from dagster_smt.run.run_spec import RunSpec

    return RunSpec(
        name=table.name,
        chain=settings.chain,
        table=table.table,
        sink=table.sink,
        window=settings.window,
        errors_tolerance=settings.errors_tolerance,
        dead_letters=table.definition.dead_letters,
        dead_letter_topic=table.definition.dead_letter_topic,
        rebuild=settings.rebuild,
        take_over=settings.take_over,
        settle=settings.settle,
        key=key,
        defined=settings.defined or table.chain,
        erasure=table.definition.erasure,
    )


def run_result(work: RunWork, session: Any, log: Progress) -> RunResult:
    """Does the work of a run with the session of this process. A signal during the work cancels the Spark jobs.

    Args:
        work: The work.
        session: The Spark session.
        log: Logs a line.

    Raises:
        SmtError: The run failed, and nothing was committed.
    """
    state = RunProgress(session, work.tag)
    return run_cancellable(session, work.tag, partial(_run, work, session, state), log=log, beat=state.line)


def _run(work: RunWork, session: Any, state: RunProgress, progress: Progress) -> RunResult:
    """Does ``work``, a run, in the thread that ``run_cancellable`` starts."""
    from dagster_smt.run.batch import run  # loads PySpark
    from dagster_smt.run.facts import table_facts
    from dagster_smt.run.micro_batch import run_batches

    def say(line: str) -> None:
        state.phase = line.partition(":")[0] or state.phase
        progress(line)

    table, batches = work.table, work.settings.micro_batch
    spec = run_spec(table, work.settings, work.key)
    # read before the work, because after the commit a dead session must not make the run fail
    app_id = session.conf.get("spark.app.id", "")
    if batches is None:
        reports = [run(spec, session, say, begun=state.begun)]
    else:
        reports = run_batches(spec, session, batches, say, begun=state.begun)
    window = next((report.window for report in reversed(reports) if report.status == "committed"), Window())
    state.phase = "checking the table"
    facts = table_facts(
        spec,
        spec.plan(),
        session,
        window,
        search=table.searches_masked,
        contract=table.contract,
        count_keys=table.counts_keys,
        small_below=table.small_below,
    )
    destination_facts = _destination_facts(table, spec, session, window, facts, reports)
    result = RunResult(reports, facts, destination_facts, app_id)
    if table.certified_records is None:
        return result
    state.phase = "comparing a sample with Kafka Connect"
    certificate = certificate_of(spec, session, window, table.certified_records, table.connector_chain)
    if isinstance(certificate, Problem):
        return replace(result, no_certificate=certificate)
    return replace(result, certificate=certificate)


def _destination_facts(
    table: PlannedTable,
    spec: "RunSpec",
    session: Any,
    window: Window,
    facts: TableFacts,
    reports: Sequence[RunReport],
) -> dict[str, TableFacts]:
    """Returns a dict from topic to the facts about the topic's table. The dict contains the tables that the definition
    lists in ``destinations``.
    """
    from dagster_smt.run.facts import table_facts

    facts_by_topic = {}
    for topic in table.definition.destinations:
        assert isinstance(spec.sink, TableSink)
        own = replace(spec, sink=spec.sink.of_topic(topic))
        is_written = any(topic in report.destination_reports for report in reports)
        looked = window if is_written else Window()
        of_table = table_facts(own, spec.plan(), session, looked, count_keys=own.sink.keyed is not None)
        facts_by_topic[topic] = replace(of_table, lag=facts.lag, ends=facts.ends, gaps=facts.gaps, holes=facts.holes)
    return facts_by_topic


def maintenance_results(work: MaintenanceWork, session: Any, log: Progress) -> list[MaintenanceResult]:
    """Maintains one table, or each of many tables, with the session of this process.

    A table that fails does not stop the next tables. A signal during the work cancels the Spark jobs.

    Args:
        work: The work.
        session: The Spark session.
        log: Logs a line.

    Raises:
        SmtError: The state of many tables cannot be read.
    """
    return run_cancellable(session, work.tag, partial(_maintenance, work, session), log=log)


def _maintenance(work: MaintenanceWork, session: Any, progress: Progress) -> list[MaintenanceResult]:
    """Does ``work``, a maintenance, in the thread that ``run_cancellable`` starts."""
    from dagster_smt.run.maintenance import maintain  # loads PySpark

    table, results = work.table, []
    for topic in _topics_of(table, session):
        sink = table.sink
        if topic is not None and isinstance(sink, TableSink):
            sink = sink.of_topic(topic)
        try:
            report = maintain(sink, work.maintenance, session, progress, work.steps, table.checks.small_file_bytes)
            results.append(MaintenanceResult(topic, report, report.problems))
        except SmtError as error:
            results.append(MaintenanceResult(topic, None, error.problems))
    return results


def _topics_of(table: PlannedAsset, session: Any) -> Sequence[str | None]:
    """Returns the topic of each table of the asset ``table``. If the asset is a single table, returns a list that
    contains only None.
    """
    if not writes_many(table.sink):
        return (None,)
    from dagster_smt.tables.sinks import open_table  # loads PySpark

    state = open_table(session, table.sink).state()
    return sorted(state.tables) if state is not None else ()
