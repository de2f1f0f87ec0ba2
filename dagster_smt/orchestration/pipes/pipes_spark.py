"""Defines a resource that lets a Dagster Pipes client do the Spark work of runs."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from copy import copy, deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dagster as dg

from dagster_smt.errors import EngineError, Problem
from dagster_smt.jvm.availability import lane_settings
from dagster_smt.model.reports.erasure_report import ErasureReport
from dagster_smt.orchestration.pipes.messages import ANSWER, REQUEST, read_answer, request_of
from dagster_smt.orchestration.resources import external_settings
from dagster_smt.orchestration.runs.erasure_work import ErasureWork
from dagster_smt.orchestration.runs.spark_work import MaintenanceResult, MaintenanceWork, RunResult, RunWork
from dagster_smt.spark.versions import installed_version
from dagster_smt.visible import visible

Arguments = Mapping[str, Any]
SCRIPT = Path(__file__).parent / "submit" / "script.py"
"""The script that does the work of one run."""


@dataclass(frozen=True)
class PipesSpark:
    """A resource ``spark`` that lets another process, started by a Dagster Pipes client, do the Spark work of runs.

    The client starts a process that calls ``run_external``, for example with ``spark-submit``, on Databricks, on EMR or
    in a container. The process loads the same definitions, does the Spark work and returns the report.

    Example:
        .. code-block:: python

            spark = PipesSpark(
                client=dg.PipesSubprocessClient(),
                definitions="lake.definitions",
                arguments=SparkSubmit(options={"master": "spark://spark:7077"}),
            )
            defs = dg.Definitions(assets=[orders], resources={"spark": spark})

    Attributes:
        client: The client, for example ``dg.PipesSubprocessClient``, or ``PipesDatabricksClient`` from
            ``dagster-databricks``.
        definitions: The module that the process imports, as in ``dg dev -m``. ``lake.definitions:defs`` names an object
            in the module.
        arguments: The arguments of ``client.run``, or a function that returns the arguments for each run.
    """

    client: dg.PipesClient
    definitions: str
    arguments: Arguments | Callable[[], Arguments] = field(default_factory=dict)

    def run_result(self, work: RunWork, context: dg.OpExecutionContext) -> RunResult:
        """Lets the client do the work of a run.

        Args:
            work: The work.
            context: The context of the step.

        Raises:
            SmtError: The work failed, and nothing was committed. SMT652, the process ended without an answer. SMT657,
                the answer does not come from this package.
        """
        return read_answer(self._answer(work, context), work.table.name, RunResult)

    def maintenance_results(self, work: MaintenanceWork, context: dg.OpExecutionContext) -> list[MaintenanceResult]:
        """Lets the client do ``work``, a maintenance, and returns the results. The arguments and the errors are the
        same as in ``run_result``.
        """
        return read_answer(self._answer(work, context), work.table.name, list[MaintenanceResult])

    def erasure_report(self, work: ErasureWork, context: dg.OpExecutionContext) -> ErasureReport:
        """Lets the client do ``work``, an erasure, and returns the record of the erasure. The arguments and the errors
        are the same as in ``run_result``.

        The request names the location of the ids, but never an id. The other process reads the ids from this location.
        """
        return read_answer(self._answer(work, context), work.table.name, ErasureReport)

    def _answer(self, work: RunWork | MaintenanceWork | ErasureWork, context: dg.OpExecutionContext) -> object:
        """Starts the client for ``work``, and returns the answer of the client's process."""
        # a copy, because some clients change their arguments
        arguments = self.arguments() if callable(self.arguments) else deepcopy(self.arguments)
        extras = {REQUEST: request_of(work, self.definitions)}
        pipes_context = _PipesContext(context.get_step_execution_context())
        client, handlers = _unused(self.client)
        try:
            messages = client.run(context=pipes_context, extras=extras, **arguments).get_custom_messages()
        except Exception as error:  # noqa: BLE001 - clients raise whatever their service raises
            statement = f"the external process has failed: {_reason(error)}"
            # a client may fail after the process has answered, for example while it collects logs
            messages = _messages_of(handlers)
            if _answer_in(messages) is None:
                raise _no_answer(work, statement) from None
            context.log.warning(visible(f"{work.table.name} got its answer, although {statement}"))
        answer = _answer_in(messages)
        if answer is None:
            raise _no_answer(work, "the external process ended without an answer")
        return answer


def _answer_in(messages: Sequence[Any]) -> object:
    """Returns the answer among the messages of a process; None if no message is an answer."""
    for message in messages:
        if isinstance(message, Mapping) and ANSWER in message:
            return message[ANSWER]
    return None


def _messages_of(handlers: Sequence[Any]) -> list[Any]:
    messages: list[Any] = []
    for handler in handlers:
        messages += handler.get_custom_messages()
    return messages


class _PipesContext(dg.OpExecutionContext):
    """The context of a step that the client gets instead of the original context.

    With the original context, a step fails in Pipes if the step does not return a result for each asset. But a run
    without new records returns no result on purpose.
    """

    def set_requires_typed_event_stream(self, *, error_message: str | None = None) -> None:
        """Does nothing. Pipes calls this method to require a result for each asset."""


def _unused(client: dg.PipesClient) -> tuple[dg.PipesClient, list[Any]]:
    """Returns a copy of ``client`` whose message readers have not read anything yet, and a list that collects the
    handlers of the messages.

    A message reader of an object store cannot serve two runs. For example, after one run the reader expects message 6,
    but the process of the next run numbers its messages from 1. Without the copy, steps that run in one process would
    share the reader.
    """
    handlers: list[Any] = []
    unused = copy(client)
    for name, reader in getattr(client, "__dict__", {}).items():  # a class with slots has none
        if isinstance(reader, dg.PipesMessageReader):
            vars(unused)[name] = _unused_reader(reader, handlers)
    return unused, handlers


def _unused_reader(reader: dg.PipesMessageReader, handlers: list[Any]) -> dg.PipesMessageReader:
    """Returns a copy of ``reader``. When the copy starts to read messages, it appends its message handler to
    ``handlers``.
    """
    unused = copy(reader)
    for name, value in vars(reader).items():
        if isinstance(value, dict):  # clients add readers of logs to this dictionary
            vars(unused)[name] = dict(value)

    def read_messages(handler: Any) -> AbstractContextManager[Any]:
        handlers.append(handler)
        return type(unused).read_messages(unused, handler)

    vars(unused)["read_messages"] = read_messages
    return unused


def _reason(error: Exception) -> str:
    """Returns a text that describes ``error``.

    For an error from Dagster or the operating system, the result is the error's own text. It may contain an exit code,
    or the name of a missing program. For all other errors, the result is only the name of the class. An unknown text
    may quote a secret or the value of a field.
    """
    if isinstance(error, OSError) or type(error).__module__.startswith("dagster"):
        return str(error)
    return type(error).__name__


def _no_answer(work: RunWork | MaintenanceWork | ErasureWork, statement: str) -> EngineError:
    hint = "read the output of the process. If it had committed, the next run reports the commit"
    return EngineError(Problem("SMT652", work.table.name, statement, hint))


@dataclass(frozen=True)
class SparkSubmit:
    """The arguments of ``dg.PipesSubprocessClient`` for ``spark-submit``, with the packages that the tables need.

    Attributes:
        options: Options of ``spark-submit`` without the dashes: ``{"master": "yarn", "deploy-mode": "client"}``.
        conf: Spark settings. They take precedence over the settings that this package adds.
        script: The script that calls ``run_external``.
        program: The command and its first arguments; by default only ``spark-submit``.
        spark_version: The version of Spark that ``spark-submit`` starts; by default the version of the installed
            PySpark, or 4.0. This setting determines the versions of the jars for Spark, such as Delta Lake's. If
            ``spark-submit`` starts a different version, Spark fails.
        env: Environment variables of the process, in addition to the run's environment variables.
        jvm_lane: The jar of the JVM lane (Java code that evaluates records faster than Python). True: the jar in this
            environment; Spark must find the jar under the same path. A string: the address of a copy of the jar, such
            as ``s3://lake-code/dagster_smt.jar``, if Spark runs on another machine. False: no JVM lane; Python
            evaluates all records.
    """

    options: Mapping[str, str] = field(default_factory=dict)
    conf: Mapping[str, str] = field(default_factory=dict)
    script: Path | str = SCRIPT
    program: Sequence[str] = ("spark-submit",)
    spark_version: str = field(default_factory=installed_version)
    env: Mapping[str, str] = field(default_factory=dict)
    jvm_lane: bool | str = True

    def __call__(self) -> Arguments:
        """Returns the arguments of one run.

        Raises:
            UnsupportedError, ConfigError: See ``settings``.
        """
        command = list(self.program)
        for name, value in self.options.items():
            command += [f"--{name}", value]
        for key, value in self.settings().items():
            command += ["--conf", f"{key}={value}"]
        return {"command": [*command, str(self.script)], "env": dict(self.env)}

    def settings(self) -> dict[str, str]:
        """Returns the Spark settings of one run. They contain ``conf``, and settings for the packages and catalogs that
        the tables need, and for the JVM lane (Java code that evaluates records faster than Python).

        The command of ``spark-submit`` passes these settings as ``--conf``. If the client starts Spark without
        ``spark-submit``, call this method and pass the settings in the client's own way, for example as the
        ``properties`` of a Dataproc job.

        Raises:
            UnsupportedError: SMT611, no package is known for this version of Spark; SMT612, a package is for a
                different major version of Spark.
            ConfigError: SMT048, a setting contains a password, which other users of the machine could read.
        """
        return external_settings(self.conf, self.spark_version, self._lane())

    def _lane(self) -> Mapping[str, str]:
        if self.jvm_lane is False:
            return {}
        return lane_settings("" if self.jvm_lane is True else self.jvm_lane)
