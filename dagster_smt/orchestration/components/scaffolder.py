"""Implements the scaffolder of ``dg scaffold defs dagster_smt.SmtChainComponent``. The scaffolder writes a component
that loads and runs without further changes.
"""

from contextlib import suppress
from pathlib import Path

import dagster as dg
from click import ClickException, echo
from pydantic import BaseModel, Field

from dagster_smt.cli.connector_commands import print_report
from dagster_smt.connect import ANY_CLUSTER, Connector, ConnectorComponent, connectors_at, written_component
from dagster_smt.connect.project_session import has_session, write_session_file
from dagster_smt.errors import ConfigError, Problem, SmtError
from dagster_smt.tables.kafka.spec import KafkaTopics
from dagster_smt.tables.proposal.look import Look
from dagster_smt.tables.topic_table import FileTopics
from dagster_smt.visible import visible

_CHAIN = {
    "transforms": "hide",
    "transforms.hide.type": "org.apache.kafka.connect.transforms.MaskField$Value",
    "transforms.hide.fields": "customer.email",
    "transforms.hide.field.syntax.version": "V2",
}
_FILES = {"files": "topics"}
_RECORDS = (
    '{"id": 1, "customer": {"name": "Ada", "email": "ada@example.org"}}',
    '{"id": 2, "customer": {"email": null}}',
)


class SmtScaffoldParams(BaseModel):
    """The options of the command."""

    topic: str = Field(default="", description="The topic to read; by default an example with two records.")
    bootstrap_servers: str = Field(
        default="", description="The Kafka cluster; by default file topics next to defs.yaml."
    )
    from_connector: str = Field(
        default="", description="A connector (file, or REST address) with transforms, topics and converters."
    )
    sample: int = Field(
        default=100,
        description="The number of last records of each topic that determine the columns; 0: no topic is read.",
    )


class SmtChainScaffolder(dg.Scaffolder[SmtScaffoldParams]):
    """A scaffolder that writes ``defs.yaml``, a chain file next to ``defs.yaml``, and example records."""

    @classmethod
    def get_scaffold_params(cls) -> type[SmtScaffoldParams]:
        """Returns the class of the scaffolding's parameters, as ``dg.Scaffolder`` describes."""
        return SmtScaffoldParams

    def scaffold(self, request: dg.ScaffoldRequest[SmtScaffoldParams]) -> None:
        """Writes the files that ``request`` asks for.

        Raises:
            ClickException: The connector cannot be read; or some of its options are not supported. In the second case,
                the files are written without these options.
        """
        params, target = request.params or SmtScaffoldParams(), Path(request.target_path)
        try:
            connector, written = _written(params, target)
        except (SmtError, OSError) as error:
            with suppress(OSError):  # dg has created the folder, and would reject it at the next attempt
                target.rmdir()
            if isinstance(error, OSError):
                text = visible(f"{error.filename}: {error.strerror}")
            else:
                text = str(error)
            raise ClickException(text) from None
        for name, text in written.files.items():
            (target / name).write_text(text, encoding="utf-8")
        _session(target)
        dg.scaffold_component(request, written.attributes)
        print_report(connector, written)
        if written.refused:
            raise _incomplete(connector, written)


def _written(params: SmtScaffoldParams, target: Path) -> tuple[Connector, ConnectorComponent]:
    """Reads the connector that ``params`` names. Returns the connector, and the component that replaces the connector.
    The caller writes the files of the component.

    If the component reads file topics, and its first topic does not exist yet, the function writes two example records
    into a folder below ``target``.

    Raises:
        SmtError: The connector does not exist or cannot be read.
    """
    connector = _connector(params, target.name)
    servers = params.bootstrap_servers or (ANY_CLUSTER if params.from_connector else "")
    if not servers:
        _example(target, connector.topics[0])
    source = {"kafka": {"bootstrap_servers": servers}} if servers else _FILES
    place = KafkaTopics(servers) if servers else FileTopics(target / _FILES["files"])
    look = Look(place, params.sample) if params.sample else None
    written = written_component(connector, source, look=look)
    if not written.attributes:  # the connector could stay in use; a user who scaffolds a component for it wants a table
        written = written_component(connector, source, look=look, into="table")
    return connector, written


def _incomplete(connector: Connector, written: ConnectorComponent) -> ClickException:
    """Returns an error that lists the options and transforms of ``connector`` that this package does not support. The
    command has already written the component without them. The error only sets the exit code to 1.
    """
    undone = []
    for option in written.options:
        if option.verdict == "not done":
            undone.append(option.option)
    parts = []
    for stage in (*written.stages, *written.notes):
        if stage.verdict == "not supported":
            parts.append(stage.part)
    missing = ", ".join([*parts, *undone])
    text = f"{connector.name} is written, but not all of it is done: {missing}. See the report above."
    return ClickException(visible(text))


def _session(target: Path) -> None:
    """Adds a Spark session to the project of ``target`` unless the project has one. A second session would be an
    error.
    """
    folder = next((parent for parent in target.parents if parent.name == "defs"), target.parent)
    if not has_session(folder):
        file = write_session_file(folder)
        echo(f"Creating the Spark session of the project at {file}.", err=True)


def _connector(params: SmtScaffoldParams, name: str) -> Connector:
    if not params.from_connector:
        formats = {"key.converter": "org.apache.kafka.connect.storage.StringConverter"}
        formats |= {"value.converter": "org.apache.kafka.connect.json.JsonConverter"}
        formats |= {"value.converter.schemas.enable": "false"}
        return Connector(name, {"topics": params.topic or name, **formats, **_CHAIN})
    connectors = connectors_at(params.from_connector)
    if len(connectors) > 1:
        hint = f"dagster-smt import {params.from_connector} writes a component for each"
        raise ConfigError(
            Problem("SMT018", params.from_connector, f"there are {len(connectors)} connectors in it", hint)
        )
    return connectors[0]


def _example(target: Path, topic: str) -> None:
    """Writes a file topic with two records under ``target``, unless ``topic`` already exists."""
    from dagster_smt.tables.sources.file_writer import NewRecord, append_records  # loads PySpark

    root = target / "topics"
    if not (root / topic).exists():
        append_records(FileTopics(root), topic, [NewRecord(None, value.encode()) for value in _RECORDS])
