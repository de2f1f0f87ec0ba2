"""Sends OpenLineage events around a run. If an event cannot be sent, the run does not fail, and the log contains a
warning.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID, uuid5

import dagster as dg

from dagster_smt.errors import Problem, SmtError
from dagster_smt.lineage.datasets import DatasetName, path_dataset, table_dataset, topic_dataset
from dagster_smt.lineage.open_lineage import Assertion, Emitter, LineageRun, OpenLineage, RunOutput
from dagster_smt.model.secrets import resolved
from dagster_smt.orchestration.definitions.planned_table import PlannedTable
from dagster_smt.orchestration.metadata.lineage_metadata import run_edges
from dagster_smt.orchestration.metadata.schema_metadata import column_schema
from dagster_smt.orchestration.runs.execution import SmtRun
from dagster_smt.tables.kafka.spec import KafkaTopics
from dagster_smt.tables.sink_options import TableSink
from dagster_smt.tables.topic_table import FileTopics, SourceSpec, TableSource


class LineageEvents:
    """The OpenLineage events of one run of a table. The methods send nothing if the definition has no ``lineage``.

    Attributes:
        run: The finished run; None until ``ran`` is called.
        assertions: The results of the checks so far.
        error: If set, ``lineage_events`` sends the event FAIL with this error, even if its ``with`` block raises no
            error. By default None.
    """

    def __init__(self, table: PlannedTable, context: dg.OpExecutionContext):
        self.table, self.context = table, context
        self.settings = table.definition.lineage
        self.run: SmtRun | None = None
        self.assertions: list[Assertion] = []
        self.emitter: Emitter | None = None
        self.error: SmtError | None = None

    def start(self) -> None:
        """Sends the event START."""
        settings = self.settings
        if settings is None:
            return

        def begin() -> None:
            self.emitter = Emitter(settings, _lineage_run(self.table, settings, self.context))
            self.emitter.start()

        self._safely(begin)

    def ran(self, run: SmtRun) -> SmtRun:
        """Stores the finished run in the attribute ``run``, and returns the run."""
        self.run = run
        return run

    def watch(self, events: Iterable[Any]) -> Iterator[Any]:
        """Yields ``events`` unchanged, and collects the check results among them."""
        for event in events:
            if isinstance(event, dg.AssetCheckResult | dg.AssetCheckEvaluation):
                severity = "warn" if event.severity == dg.AssetCheckSeverity.WARN else "error"
                self.assertions.append(Assertion(str(event.check_name), bool(event.passed), severity))
            yield event

    def complete(self) -> None:
        """Sends the event COMPLETE."""
        self._safely(lambda: self.emitter.complete(self._written()) if self.emitter is not None else None)

    def fail(self, error: BaseException) -> None:
        """Sends the event FAIL, with the codes of the problems in ``error``."""
        codes = [p.code for p in error.problems] if isinstance(error, SmtError) else [type(error).__name__]
        written = self._written if self.run is not None else lambda: None
        self._safely(lambda: self.emitter.fail(codes, written()) if self.emitter is not None else None)

    def _safely(self, send: Callable[[], object]) -> None:
        try:
            send()
        except Exception as error:  # noqa: BLE001 - whatever a transport raises, the run goes on
            statement = f"an event could not be sent: {type(error).__name__}"
            hint = "check the server or the file of OpenLineage; the run is not affected"
            self.context.log.warning(str(Problem("SMT773", f"lineage of {self.table.name}", statement, hint)))

    def _written(self) -> RunOutput:
        run = self.run
        assert run is not None
        report, sink = run.report, self.table.sink
        described = run.plan if run.plan.typed else (run.facts.last or report)
        schema = column_schema(described, sink)
        rows = 0 if report.status == "empty" else report.records_out
        records = {}
        for topic, counts in report.topics.items():
            records[topic] = counts.records
        return RunOutput(
            rows=rows,
            bytes=report.bytes,
            files=report.files,
            read=records,
            schema={column.name: column.type for column in schema.columns} if schema is not None else {},
            edges=run_edges(run.plan, run.facts.last or report) if sink.kind == "columns" else (),
            assertions=self.assertions,
        )


@contextmanager
def lineage_events(table: PlannedTable, context: dg.OpExecutionContext) -> Iterator[LineageEvents]:
    """Sends the event START for the run of ``table``, and then runs the block. After the block, sends COMPLETE, or FAIL
    if the block raised an error.
    """
    events = LineageEvents(table, context)
    events.start()
    try:
        yield events
    except GeneratorExit:
        raise
    except BaseException as error:
        events.fail(error)
        raise
    if events.error is not None:
        events.fail(events.error)
    else:
        events.complete()


def _lineage_run(table: PlannedTable, settings: OpenLineage, context: dg.OpExecutionContext) -> LineageRun:
    run = context.run
    topics = table.table.topics or tuple(key.path[-1] for key in table.topics)
    return LineageRun(
        id=str(uuid5(UUID(run.run_id), f"{context.op_handle}/{table.name}")),
        job=table.name.replace("/", "."),
        parent=(run.run_id, run.job_name),
        inputs=tuple(_input(table.table.source, topic, settings) for topic in topics),
        output=_output(table, settings),
    )


def _input(source: SourceSpec, topic: str, settings: OpenLineage) -> DatasetName:
    if isinstance(source, KafkaTopics):
        servers = resolved({"servers": source.bootstrap_servers}, "lineage")["servers"]
        return topic_dataset(servers, topic)
    if isinstance(source, FileTopics):
        return path_dataset(f"{source.root}/{topic}")
    assert isinstance(source, TableSource)
    return table_dataset(source.place, settings.catalogs) if _is_name(source.place) else path_dataset(source.place)


def _output(table: PlannedTable, settings: OpenLineage) -> DatasetName | None:
    sink = table.sink
    if not isinstance(sink, TableSink):
        return None
    if sink.table:
        return table_dataset(sink.table, settings.catalogs)
    return path_dataset(str(sink.path))


def _is_name(place: str) -> bool:
    return "/" not in place
