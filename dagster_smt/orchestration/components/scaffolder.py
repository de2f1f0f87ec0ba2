"""``dg scaffold defs dagster_smt.SmtChainComponent``: a component that loads and runs at once."""

from pathlib import Path

import dagster as dg
from pydantic import BaseModel, Field

from dagster_smt.cli.connectors import print_report
from dagster_smt.connect import ANY_CLUSTER, Connector, connectors_at, written_component
from dagster_smt.connect.component import CHAIN_FILE
from dagster_smt.errors import ConfigError, Problem
from dagster_smt.tables.spec import FileTopics

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

    topic: str = Field(
        default="", description="The topic to read; without one, an example with two records of its own."
    )
    bootstrap_servers: str = Field(
        default="", description="The Kafka cluster; without one, file topics beside defs.yaml."
    )
    from_connector: str = Field(
        default="", description="A connector (file, or REST address): its transforms, topics and converters."
    )


class SmtChainScaffolder(dg.Scaffolder[SmtScaffoldParams]):
    """Writes ``defs.yaml`` and the chain beside it; an example brings records along."""

    @classmethod
    def get_scaffold_params(cls) -> type[SmtScaffoldParams]:
        """See ``dg.Scaffolder``."""
        return SmtScaffoldParams

    def scaffold(self, request: dg.ScaffoldRequest[SmtScaffoldParams]) -> None:
        """Write the files."""
        params, target = request.params or SmtScaffoldParams(), Path(request.target_path)
        connector = _connector(params, target.name)
        servers = params.bootstrap_servers or (ANY_CLUSTER if params.from_connector else "")
        written = written_component(connector, {"kafka": {"bootstrap_servers": servers}} if servers else _FILES)
        (target / CHAIN_FILE).write_text(written.chain, encoding="utf-8")
        if not servers:
            _example(target, connector.topics[0])
        spark = {"spark": {"conf": {"spark.master": "local[*]"}}}
        dg.scaffold_component(request, {**written.attributes, **spark})
        if params.from_connector:
            print_report(connector, written)


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
