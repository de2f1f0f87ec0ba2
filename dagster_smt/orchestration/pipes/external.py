"""Does the Spark work of a run in another process, which a Dagster Pipes client has started. The process reads a
request, does the work and sends an answer.
"""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from dagster_pipes import PipesContext, PipesEnvVarParamsLoader, open_dagster_pipes

from dagster_smt.errors import ConfigError, Problem, SmtError
from dagster_smt.orchestration.definitions.loading import load_definitions
from dagster_smt.orchestration.definitions.planned_table import PlannedAsset, PlannedTable, planned_tables
from dagster_smt.orchestration.pipes.messages import (
    ANSWER,
    REQUEST,
    ErasureRequest,
    ExternalRequest,
    erasure_answer,
    error_answer,
    maintenance_answer,
    read_request,
    run_answer,
    run_work,
)
from dagster_smt.orchestration.resources import SparkSessionResource, submitted_session
from dagster_smt.orchestration.runs.erasure_work import ErasureWork, erasure_report
from dagster_smt.orchestration.runs.guard import Progress
from dagster_smt.orchestration.runs.spark_work import MaintenanceWork, maintenance_results, run_result
from dagster_smt.visible import visible


def run_external(spark: Any = None, **pipes: Any) -> None:
    """Does the Spark work of one run, in a process that the client of a ``PipesSpark`` has started.

    If this process can send an answer, its exit code is 0. The answer may contain an error. The Dagster run then fails
    with this error.

    Args:
        spark: The Spark session. By default the session of ``spark-submit``, or a local session.
        pipes: The arguments of ``dagster_pipes.open_dagster_pipes``, if the client needs them: ``context_loader``,
            ``message_writer``, ``params_loader``.

    Raises:
        ConfigError: SMT651, no client of Pipes has started this process.
    """
    params_loader = pipes.get("params_loader") or PipesEnvVarParamsLoader()
    if not params_loader.is_dagster_pipes_process():
        hint = "launch the asset; its resource `spark` is a PipesSpark whose client starts this process"
        raise ConfigError(
            Problem("SMT651", "run_external", "no client of Dagster Pipes has started this process", hint)
        )
    with open_dagster_pipes(**pipes) as context, _sigterm_as_interrupt():
        context.report_custom_message({ANSWER: _answer(context, spark)})


def _answer(context: PipesContext, spark: Any) -> dict[str, Any]:
    """Returns the answer to the request in ``context``, the context of a Pipes session."""
    from dagster_smt.run.spark_failures import coded_failures  # loads PySpark

    def log(line: str) -> None:
        context.log.info(visible(line))

    try:
        request = read_request(context.extras.get(REQUEST))
        table = _table(request.definitions, request.table)
        with coded_failures(table.name):
            session = spark if spark is not None else _session()
            return _work_answer(request, table, session, log)
    except SmtError as error:
        return error_answer(error)


def _work_answer(request: ExternalRequest, table: PlannedTable, session: Any, log: Progress) -> dict[str, Any]:
    """Does the work that ``request`` describes, and returns an answer with its result."""
    if request.run is not None:
        return run_answer(run_result(run_work(request.run, table, request.tag), session, log))
    if request.maintenance is not None and isinstance(table, PlannedAsset):
        options, steps = request.maintenance.maintenance, request.maintenance.steps
        work = MaintenanceWork(table, options, steps, request.tag)
        return maintenance_answer(maintenance_results(work, session, log))
    if request.erasure is not None:
        erasure = _erasure_work(request.definitions, request.erasure, request.tag)
        return erasure_answer(erasure_report(erasure, session, log))
    raise ConfigError(Problem("SMT656", table.name, "the request names no work", "launch the run again"))


def _erasure_work(definitions: str, request: ErasureRequest, tag: str) -> ErasureWork:
    """Returns the work that the erasure request ``request`` describes.

    Raises:
        ConfigError: SMT654, see ``_table``; SMT754, a table has no ``erasure`` in the definitions of this process.
    """
    tables = []
    for name in request.tables:
        table = _table(definitions, name)
        if not isinstance(table, PlannedAsset) or table.definition.erasure is None:
            hint = "install the same code on both sides"
            raise ConfigError(Problem("SMT754", name, "the table has no erasure in this process", hint))
        tables.append(table)
    return ErasureWork(tables, request.subjects, request.run, request.no_writers, tag)


def _session() -> Any:
    """Returns the session that ``spark-submit`` has prepared, or a local session if there is none."""
    if "PYSPARK_GATEWAY_PORT" in os.environ:
        return submitted_session()
    return SparkSessionResource().spark_session


def _table(definitions: str, name: str) -> PlannedTable:
    """Loads the definitions and returns their table ``name``.

    Raises:
        ConfigError: The definitions are wrong; SMT654, they cannot be loaded, or do not contain the table.
    """
    hint = "install the code location in the process elsewhere; --py-files of spark-submit ships modules"
    loaded = load_definitions(definitions, hint)
    tables = planned_tables(name)
    if not tables:
        hint = "name the module of the code location; install the same code on both sides"
        raise ConfigError(Problem("SMT654", definitions, f"has no table {name}", hint))
    places = {table.sink.place for table in tables}
    if len(places) > 1:
        statement = f"has {len(places)} tables {name}: {', '.join(sorted(places))}"
        raise ConfigError(Problem("SMT654", definitions, statement, "give each asset and op a name of its own"))
    del loaded  # kept until here, because tables exist only as long as their definitions
    return tables[-1]


@contextmanager
def _sigterm_as_interrupt() -> Iterator[None]:
    """Lets SIGTERM cancel the work in the block, as SIGINT does."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
