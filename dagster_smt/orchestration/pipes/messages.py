"""Defines two JSON messages: the request and the answer. A run sends the request to the process that does the run's
Spark work, and the process sends the answer.

Both sides check the messages that they receive. An answer may come from a bucket to which other programs can also
write.
"""

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import msgspec

from dagster_smt import errors
from dagster_smt.chain import parse_chain
from dagster_smt.errors import ConfigError, EngineError, Problem, SmtError
from dagster_smt.model.reports.erasure_report import ErasureReport
from dagster_smt.model.reports.run_report import RunReport
from dagster_smt.orchestration.definitions.planned_table import PlannedTable
from dagster_smt.orchestration.launch.config_schema import RunSettings, Tolerance, chain_config
from dagster_smt.orchestration.runs.erasure_work import ErasureWork
from dagster_smt.orchestration.runs.spark_work import MaintenanceResult, MaintenanceWork, RunResult, RunWork
from dagster_smt.tables.erasure.subjects import SubjectSource
from dagster_smt.tables.maintenance.maintenance_options import SmtMaintenance
from dagster_smt.tables.window_request import MicroBatches, WindowRequest
from dagster_smt.version import __version__

Result = TypeVar("Result")
REQUEST = "dagster_smt_request"
"""The key under which a Pipes session stores the request among its extras."""
ANSWER = "dagster_smt_answer"
"""The key of the answer in a custom message of a Pipes session."""


@dataclass(frozen=True, kw_only=True)
class RunRequest:
    """The request of a run.

    Attributes:
        chain: The chain without the policy of the table, in the form of a run config.
        chain_hash: The hash of the chain with the policy.
        chain_warns: True if a mask, drop or rename that can never change a record is only a warning.
        window, rebuild, errors_tolerance, take_over, micro_batch, settle: The settings of the run, as in
            ``RunSettings``.
        key: The run and the step, as in ``RunWork``.
    """

    chain: dict[str, Any]
    chain_hash: str
    chain_warns: bool
    window: WindowRequest
    rebuild: bool
    errors_tolerance: Tolerance
    take_over: bool
    micro_batch: MicroBatches | None
    settle: bool
    key: str


@dataclass(frozen=True, kw_only=True)
class MaintenanceRequest:
    """The request of a maintenance.

    Attributes:
        maintenance: The settings of the maintenance.
        steps: The steps to which the maintenance is limited; None for all steps that the options switch on.
    """

    maintenance: SmtMaintenance
    steps: list[str] | None


@dataclass(frozen=True, kw_only=True)
class ErasureRequest:
    """The request of an erasure.

    Attributes:
        tables: The names of the tables.
        subjects: The location of the ids. The request contains no id, because the process reads the ids itself.
        run, no_writers: The name of the run, and whether no run is writing, as in ``ErasureWork``.
    """

    tables: list[str]
    subjects: SubjectSource
    run: str
    no_writers: bool


@dataclass(frozen=True, kw_only=True)
class ExternalRequest:
    """The request for a run, a maintenance or an erasure of a table. The table is identified by its name in the
    definitions.

    Attributes:
        version: The version of this package in the requesting process.
        definitions: The module of the definitions, optionally with ``:`` and the name of an object in the module.
        table: The name of the table: the asset key or the name of the op.
        tag: The tag of the Spark jobs.
        run: The run; None for other work.
        maintenance: The maintenance; None for other work.
        erasure: The erasure, whose first table is ``table``; None for other work.
    """

    version: str
    definitions: str
    table: str
    tag: str
    run: RunRequest | None = None
    maintenance: MaintenanceRequest | None = None
    erasure: ErasureRequest | None = None


@dataclass(frozen=True, kw_only=True)
class ExternalAnswer:
    """The answer to a request: a result or an error.

    Attributes:
        result: The result in MessagePack and base64; empty if the work failed.
        error: The name of the error's class, such as ``TableError``; empty if the work succeeded.
        problems: The problems of the error.
    """

    result: str = ""
    error: str = ""
    problems: list[Problem] = field(default_factory=list)


def request_of(work: RunWork | MaintenanceWork | ErasureWork, definitions: str) -> dict[str, Any]:
    """Returns the request for ``work`` as JSON data."""
    request = ExternalRequest(version=__version__, definitions=definitions, table=work.table.name, tag=work.tag)
    if isinstance(work, RunWork):
        request = replace(request, run=_run_request(work))
    elif isinstance(work, ErasureWork):
        request = replace(request, erasure=_erasure_request(work))
    else:
        steps = list(work.steps) if work.steps is not None else None
        request = replace(request, maintenance=MaintenanceRequest(maintenance=work.maintenance, steps=steps))
    data: dict[str, Any] = msgspec.to_builtins(request)
    return data


def _run_request(work: RunWork) -> RunRequest:
    settings = work.settings
    return RunRequest(
        chain=chain_config(settings.own or settings.chain),
        chain_hash=settings.chain.hash,
        chain_warns=settings.chain.dead_paths == "warn",
        window=settings.window,
        rebuild=settings.rebuild,
        errors_tolerance=settings.errors_tolerance,
        take_over=settings.take_over,
        micro_batch=settings.micro_batch,
        settle=settings.settle,
        key=work.key,
    )


def _erasure_request(work: ErasureWork) -> ErasureRequest:
    names = [table.name for table in work.tables]
    return ErasureRequest(tables=names, subjects=work.subjects, run=work.run, no_writers=work.no_writers)


def read_request(data: object) -> ExternalRequest:
    """Reads a request from ``data``, the JSON data of a Pipes session.

    Raises:
        ConfigError: SMT653, the request comes from a different version.
    """
    version = data.get("version") if isinstance(data, Mapping) else None
    if version != __version__:
        hint = "install the version of the code location on both sides"
        statement = f"this process has dagster_smt {__version__}, and the run has {_version(version)}"
        raise ConfigError(Problem("SMT653", "dagster_smt", statement, hint))
    return msgspec.convert(data, ExternalRequest)


def _version(version: object) -> str:
    if isinstance(version, str):
        return version
    return "none"


def run_work(request: RunRequest, table: PlannedTable, tag: str) -> RunWork:
    """Returns the work of the run that ``request`` describes.

    Raises:
        ConfigError: The chain cannot be read in this process, and the error lists all of its problems; SMT655, this
            process has a different chain.
    """
    ((form, source),) = request.chain.items()
    chain = parse_chain(source, place=f"{table.name} {form}", foreign=table.chain.foreign)
    if request.chain_warns:
        chain = replace(chain, dead_paths="warn")
    settings = RunSettings(
        chain=chain,
        window=request.window,
        rebuild=request.rebuild,
        errors_tolerance=request.errors_tolerance,
        take_over=request.take_over,
        micro_batch=request.micro_batch,
        settle=request.settle,
    )
    settings = table.under_policy(settings)
    if settings.chain.hash != request.chain_hash:
        hint = "install the same code on both sides; if a policy asks a registry for tags, both must reach the registry"
        raise ConfigError(Problem("SMT655", table.name, "the chain has another meaning in this process", hint))
    return RunWork(table, settings, request.key, tag)


def run_answer(result: RunResult) -> dict[str, Any]:
    """Returns the answer with ``result``, the result of a run, as JSON data. Default values of schemas are left out."""
    last = result.facts.last
    plain = replace(
        result,
        reports=[_plain(report) for report in result.reports],
        facts=replace(result.facts, last=_plain(last) if last is not None else None),
    )
    return _answer(plain)


def maintenance_answer(results: list[MaintenanceResult]) -> dict[str, Any]:
    """Returns the answer with ``results``, the results of a maintenance, as JSON data."""
    return _answer(results)


def erasure_answer(report: ErasureReport) -> dict[str, Any]:
    """Returns the answer with ``report``, the record of an erasure, as JSON data."""
    return _answer(report)


def _answer(result: object) -> dict[str, Any]:
    packed = base64.b64encode(msgspec.msgpack.encode(result)).decode()
    data: dict[str, Any] = msgspec.to_builtins(ExternalAnswer(result=packed))
    return data


def _plain(report: RunReport) -> RunReport:
    """Returns ``report`` without the default values in its schemas. JSON would not preserve the types of these
    values.
    """
    schemas = {}
    for name in ("before", "after", "previous", "key_after"):
        schema = getattr(report, name)
        if schema is not None:
            schemas[name] = schema.without_defaults()
    tables = {}
    for topic, of_table in report.destination_reports.items():
        tables[topic] = _plain(of_table)
    return replace(report, **schemas, destination_reports=tables)


def error_answer(error: SmtError) -> dict[str, Any]:
    """Returns an answer that contains ``error``, as JSON data."""
    data: dict[str, Any] = msgspec.to_builtins(
        ExternalAnswer(error=type(error).__name__, problems=list(error.problems))
    )
    return data


def read_answer(data: object, table: str, type_: type[Result]) -> Result:
    """Returns the result that the answer ``data`` contains.

    Args:
        data: The answer.
        table: The name of the table, for messages.
        type_: The type of the result.

    Raises:
        SmtError: The error in the answer; SMT657, the answer does not come from this package.
    """
    try:
        answer = msgspec.convert(data, ExternalAnswer)
        if not answer.error:
            return msgspec.msgpack.decode(base64.b64decode(answer.result, validate=True), type=type_)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        statement = f"the answer of the external process cannot be read: {type(error).__name__}"
        hint = "let nobody else write to the place of the messages; run again"
        raise EngineError(Problem("SMT657", table, statement, hint)) from None
    raise _error_class(answer.error)(answer.problems)


def _error_class(name: str) -> type[SmtError]:
    """Returns the error class called ``name``. For an unknown name, returns ``EngineError``."""
    error_class = getattr(errors, name, None)
    if isinstance(error_class, type) and issubclass(error_class, SmtError):
        return error_class
    return EngineError
