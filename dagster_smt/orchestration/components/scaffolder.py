"""``dg scaffold defs dagster_smt.SmtChainComponent``: a component that loads and runs at once."""

import re
from contextlib import suppress
from pathlib import Path

import dagster as dg
from click import ClickException, echo
from pydantic import BaseModel, Field

from dagster_smt.cli.connectors import print_report
from dagster_smt.connect import ANY_CLUSTER, Connector, Written, connectors_at, written_component
from dagster_smt.errors import ConfigError, Problem, SmtError
from dagster_smt.tables.proposal.look import Look
from dagster_smt.tables.spec import FileTopics, KafkaTopics
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


_SESSION = '''"""The Spark session of the project's tables: one for all of them, as a process has one."""

import dagster as dg

from dagster_smt import SparkSessionResource


@dg.definitions
def session() -> dg.Definitions:
    """The resource that tables ask for; secrets as ${env:NAME}."""
    return dg.Definitions(resources={"spark": SparkSessionResource(conf={"spark.master": "local[*]"})})
'''
_RESOURCE = re.compile(r"SparkSessionResource|PySparkResource|[\"']spark[\"']\s*:")
_SPARK = re.compile(r"^\s*spark:", re.MULTILINE)


class SmtScaffoldParams(BaseModel):
    """The options of the command."""

    topic: str = Field(
        default="", description="The topic to read; without one, an example with two records of its own."
    )
    bootstrap_servers: str = Field(
        default="", description="The Kafka cluster; without one, file topics beside defs.yaml."
    )
    from_connector: str = Field(
        default="", description="A connector (file, or REST address): its transforms, topics and converters."
    )
    sample: int = Field(
        default=100,
        description="How many of the last records of each topic tell the columns; 0: nobody is asked.",
    )


class SmtChainScaffolder(dg.Scaffolder[SmtScaffoldParams]):
    """Writes ``defs.yaml`` and the chain beside it; an example brings records along."""

    @classmethod
    def get_scaffold_params(cls) -> type[SmtScaffoldParams]:
        """See ``dg.Scaffolder``."""
        return SmtScaffoldParams

    def scaffold(self, request: dg.ScaffoldRequest[SmtScaffoldParams]) -> None:
        """Write the files.

        Raises:
            ClickException: The connector cannot be read; or not all of it is done, and all files are written.
        """
        params, target = request.params or SmtScaffoldParams(), Path(request.target_path)
        try:
            connector, written = _written(params, target)
        except (SmtError, OSError) as error:
            with suppress(OSError):  # dg has made the folder, and would refuse to make it again
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


def _written(params: SmtScaffoldParams, target: Path) -> tuple[Connector, Written]:
    """What becomes of a connector, of a topic, or of the example, whose records are written here.

    Raises:
        SmtError: There is no connector where one is named, or nothing says what it is.
    """
    connector = _connector(params, target.name)
    servers = params.bootstrap_servers or (ANY_CLUSTER if params.from_connector else "")
    if not servers:
        _example(target, connector.topics[0])
    source = {"kafka": {"bootstrap_servers": servers}} if servers else _FILES
    place = KafkaTopics(servers) if servers else FileTopics(target / _FILES["files"])
    look = Look(place, params.sample) if params.sample else None
    return connector, written_component(connector, source, look=look)


def _incomplete(connector: Connector, written: Written) -> ClickException:
    """What ``dg`` ends with where something of a connector is missing: the files are there, and the exit code is 1."""
    undone = []
    for v in written.options:
        if v.verdict == "not done":
            undone.append(v.option)
    parts = [v.part for v in (*written.stages, *written.notes) if v.verdict == "not supported"]
    what = ", ".join([*parts, *undone])
    text = f"{connector.name} is written, but not all of it is done: {what}. See the report above."
    return ClickException(visible(text))


def _session(target: Path) -> None:
    """Give the project a Spark session, if nothing in it has one: a second one would be refused."""
    folder = next((parent for parent in target.parents if parent.name == "defs"), target.parent)
    if folder.name == "defs":
        modules = [*folder.parent.rglob("*.py")]
    else:
        modules = [*folder.rglob("*.py")]
    texts = [file.read_text(encoding="utf-8", errors="replace") for file in modules]
    components = [file.read_text(encoding="utf-8", errors="replace") for file in folder.rglob("defs.yaml")]
    told = any(_RESOURCE.search(text) for text in texts) or any(_SPARK.search(text) for text in components)
    if not told:
        (folder / "spark.py").write_text(_SESSION, encoding="utf-8")
        echo(f"Creating the Spark session of the project at {folder / 'spark.py'}.", err=True)


def _connector(params: SmtScaffoldParams, name: str) -> Connector:
    if not params.from_connector:
        formats = {"key.converter": "org.apache.kafka.connect.storage.StringConverter"}
        formats |= {"value.converter": "org.apache.kafka.connect.json.JsonConverter"}
        formats |= {"value.converter.schemas.enable": "false"}
        return Connector(name, {"topics": params.topic or name, **formats, **_CHAIN})
    found = connectors_at(params.from_connector)
    if len(found) > 1:
        hint = f"dagster-smt import {params.from_connector} writes a component for each"
        raise ConfigError(Problem("SMT018", params.from_connector, f"there are {len(found)} connectors in it", hint))
    return found[0]


def _example(target: Path, topic: str) -> None:
    """File topics with two records, if there are none."""
    from dagster_smt.tables.sources.file_writer import NewRecord, append_records  # loads PySpark

    root = target / "topics"
    if not (root / topic).exists():
        append_records(FileTopics(root), topic, [NewRecord(None, value.encode()) for value in _RECORDS])
