"""Writes a connector as a component: ``defs.yaml`` and the file of its chain."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from dagster_smt.chain.foreign_classes import absolute_entries
from dagster_smt.chain.properties import written_comment, written_property
from dagster_smt.connect.chains import is_looked_up, written_chain
from dagster_smt.connect.connectors import Connector
from dagster_smt.connect.converters import converter_format
from dagster_smt.connect.options import family_of, option_verdicts
from dagster_smt.connect.rules import OptionVerdict
from dagster_smt.connect.schema import SchemaProposal, proposed_schema, seen_encodings
from dagster_smt.connect.survey import TransformVerdict
from dagster_smt.connect.template_text import template_text, template_texts
from dagster_smt.connect.topics import topics_of
from dagster_smt.model.topics.format import SELF_DESCRIBED
from dagster_smt.tables.proposal.look import Look, Seen

CHAIN_FILE = "chain.properties"
ANY_CLUSTER = "${env:KAFKA_SERVERS}"
"""The servers if nobody names any: an environment variable that each run reads."""
_LONGEST_NAME = 100
"""Characters of a folder's name; file systems take 255 bytes."""
_TABLES = "iceberg.tables"
_ISOLATION = "consumer.override.isolation.level"
_DEAD_LETTERS = "errors.deadletterqueue.topic.name"
_NAMES = ("name", "topics", "topics.regex", "topic.prefix", "fields.whitelist", _TABLES, _DEAD_LETTERS)
"""Options whose values are written as they are."""
_OFFSET_RESET = "consumer.override.auto.offset.reset"


@dataclass
class ConnectorComponent:
    """The component for a connector.

    Attributes:
        folder: The name of the component's folder.
        attributes: The attributes in ``defs.yaml``; texts of the connector are templates.
        chain: The chain, as properties text.
        notes: Unknown or assumed settings.
        stages: A verdict on each transform.
        options: A verdict on each option of the connector, in the order of its file.
        proposals: Settings that a user may add to ``defs.yaml``.
        schema: The columns of the topics' last records; None if nobody read them.
    """

    folder: str
    attributes: dict[str, Any]
    chain: str
    notes: list[TransformVerdict] = field(default_factory=list)
    stages: list[TransformVerdict] = field(default_factory=list)
    options: list[OptionVerdict] = field(default_factory=list)
    proposals: list[str] = field(default_factory=list)
    schema: SchemaProposal | None = None

    @property
    def refused(self) -> bool:
        """True if the component lacks a part of the connector."""
        unsupported = any(v.verdict == "not supported" for v in (*self.stages, *self.notes))
        return unsupported or any(v.verdict == "not done" for v in self.options)

    @property
    def yaml(self) -> str:
        """The text of ``defs.yaml``."""
        data = {"type": "dagster_smt.SmtChainComponent", "attributes": self.attributes}
        return yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=120)

    @property
    def files(self) -> dict[str, str]:
        """The other files of the component: names and texts."""
        files = {CHAIN_FILE: self.chain}
        if self.schema is not None and self.schema.statement:
            files[self.schema.file] = self.schema.statement
        return files

    def save(self, root: Path) -> Path:
        """Writes the folder of the component below a root, and returns the folder.

        Raises:
            FileExistsError: The folder already has a ``defs.yaml``.
        """
        folder = root / self.folder
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in {"defs.yaml": self.yaml, **self.files}.items():
            with (folder / name).open("x", encoding="utf-8") as file:
                file.write(text)
        return folder


def written_component(
    connector: Connector,
    source: dict[str, Any],
    lake: str = "lake",
    look: Look | None = None,
    smt_jars: Sequence[str] = (),
) -> ConnectorComponent:
    """Returns a component that reads a connector's topics into a table: Iceberg for an Iceberg sink, else Delta.

    Args:
        connector: The connector.
        source: The source of the topics, as in ``defs.yaml``; templates in it are rendered.
        lake: The folder or URI for the table; templates in it are rendered.
        look: Reads the last records of the topics; None to read no records.
        smt_jars: Jars for classes that this package does not have.
    """
    name = re.sub(r"[^A-Za-z0-9_]+", "_", connector.name).strip("_")[:_LONGEST_NAME] or "connector"
    notes: list[TransformVerdict] = []
    topics = topics_of(connector, notes)
    if look is not None:
        seen = look.at(topics.get("topics", ()), topics.get("pattern", ""))
    else:
        seen = None
    encodings = seen_encodings(seen)
    key, value = (converter_format(connector, side, encodings.get(side)) for side in ("key", "value"))
    chain = written_chain(connector, smt_jars)
    properties = _properties(chain.connector, chain.ignored)
    schema = _schema(name, connector, topics, value.format, properties, seen)
    table = _table(connector, source, topics, schema)
    table |= {"key": key.format} if schema is not None and schema.wired else {"key": key.format, "value": value.format}
    columns = value.format["kind"] in SELF_DESCRIBED or (schema is not None and schema.wired)
    sink = _sink(connector, lake, name, "columns" if columns else "records")
    attributes: dict[str, Any] = {"asset_key": f"lake/{name}", "chain": CHAIN_FILE, "table": table, "sink": sink}
    if smt_jars:
        attributes["smt_jars"] = [template_text(entry) for entry in absolute_entries(smt_jars, Path())]
    attributes |= template_texts(_errors(connector))
    decided = [*_of_places(connector), *_of_references(connector), *key.options, *value.options, *chain.options]
    return ConnectorComponent(
        name,
        attributes,
        properties,
        [*notes, *key.notes, *value.notes],
        chain.stages,
        option_verdicts(connector, decided),
        _proposals(connector, source),
        schema,
    )


def _schema(
    name: str,
    connector: Connector,
    topics: dict[str, Any],
    value: dict[str, Any],
    properties: str,
    seen: Seen | None,
) -> SchemaProposal | None:
    """Returns the proposed columns of JSON without a schema; None for other formats."""
    if seen is None or value["kind"] != "json" or not connector.is_sink:
        return None
    return proposed_schema(f"{name}.sql", topics, properties, seen)


def _table(
    connector: Connector, source: dict[str, Any], topics: dict[str, Any], schema: SchemaProposal | None
) -> dict[str, Any]:
    """Returns the topic table without its formats."""
    table: dict[str, Any] = {"source": _source(connector, source)}
    table |= {"statement": schema.file} if schema is not None and schema.wired else template_texts(topics)
    if connector.config.get(_OFFSET_RESET, "").strip().lower() == "latest":
        table["start"] = "latest"
    return table


def _sink(connector: Connector, lake: str, name: str, kind: str) -> dict[str, Any]:
    iceberg = _iceberg_table(connector)
    if iceberg:
        return {"iceberg": {"table": template_text(iceberg), "kind": kind}}
    return {"delta": {"path": f"{lake}/{name}", "kind": kind}}


def _source(connector: Connector, source: dict[str, Any]) -> dict[str, Any]:
    """Returns the source, with the isolation level of the connector's consumer."""
    level = connector.config.get(_ISOLATION, "").strip().lower()
    if "kafka" not in source or level not in ("read_committed", "read_uncommitted"):
        return source
    return {**source, "kafka": {**source["kafka"], "isolation_level": level}}


def _iceberg_table(connector: Connector) -> str:
    """Returns the table of an Iceberg sink; empty for another sink, or one with several tables."""
    tables = []
    for t in connector.config.get(_TABLES, "").split(","):
        if t.strip():
            tables.append(t.strip())
    if family_of(connector) == "iceberg" and len(tables) == 1:
        return tables[0]
    return ""


def _of_places(connector: Connector) -> Iterator[OptionVerdict]:
    """Yields verdicts on the options for topics and tables."""
    config, family = connector.config, family_of(connector)
    if "topics" in config and not connector.is_sink:
        yield OptionVerdict("topics", "changed", "table.pattern: their names in the target cluster")
    elif "topics" in config:
        several = len(connector.topics) > 1
        text = "one table holds all topics; its source columns name the topic"
        yield OptionVerdict("topics", *(("changed", text) if several else ("used", "table.topics")))
    if "topics.regex" in config:
        text = "table.pattern: one table holds all topics; its source columns name the topic"
        yield OptionVerdict("topics.regex", "changed", text)
    level = config.get(_ISOLATION, "").strip().lower()
    if level and level not in ("read_committed", "read_uncommitted"):
        yield OptionVerdict(_ISOLATION, "not done", "the level is unknown")
    if family == "search" and not _each_is_new(config):
        text = "a record replaces the document of its key (key.ignore is false); the table has a row for each record"
        yield OptionVerdict("connector.class", "not done", text)
    if family == "iceberg":
        yield from _of_iceberg(connector)


def _of_references(connector: Connector) -> Iterator[OptionVerdict]:
    """Yields verdicts on names that are references, because the component would use the reference as the name."""
    for option in _NAMES:
        if is_looked_up(connector.config.get(option, "")):
            yield OptionVerdict(option, "not done", "Connect resolves this reference: write the value itself")


def _each_is_new(config: Mapping[str, str]) -> bool:
    names = ("key.ignore", "use.autogenerated.ids")
    return any(config.get(name, "").strip().lower() == "true" for name in names)


def _of_iceberg(connector: Connector) -> Iterator[OptionVerdict]:
    table = _iceberg_table(connector)
    if table:
        yield OptionVerdict("connector.class", "used", "an Iceberg table")
        if _TABLES in connector.config:
            yield OptionVerdict(_TABLES, "used", "sink.iceberg.table: Spark looks it up in its default catalog")
        return
    text = "the option names no table, or several: the component writes one Delta table"
    yield OptionVerdict("connector.class", "not done", text)
    if _TABLES in connector.config:
        yield OptionVerdict(_TABLES, "not done", "one component writes one table: import the connector once for each")


def _proposals(connector: Connector, source: dict[str, Any]) -> list[str]:
    """Returns settings to add, such as a start at the offsets of the connector's consumer group."""
    if not connector.is_sink:
        return []
    group = connector.config.get("consumer.override.group.id", "").strip() or f"connect-{connector.name}"
    proposals = [
        f"table.start: group:{group} starts at the connector's offsets; without it, the table starts at the beginning"
    ]
    if "kafka" in source and not connector.config.get(_ISOLATION, "").strip():
        level = "table.source.kafka.isolation_level: read_uncommitted"
        text = "also reads records of open and aborted transactions, as the connector does by default"
        proposals.append(f"{level} {text}; without it the table has committed records only")
    return proposals


def _errors(connector: Connector) -> dict[str, Any]:
    attributes: dict[str, Any] = {}
    if connector.config.get("errors.tolerance", "").strip().lower() == "all":
        attributes["errors_tolerance"] = "all"
    if topic := connector.config.get(_DEAD_LETTERS):
        attributes["dead_letter_topic"] = topic
    return attributes


def _properties(connector: Connector, left_out: list[str]) -> str:
    lines = [written_comment(f"The transforms of the connector {connector.name}.")]
    for key, value in connector.chain.items():
        line = written_property(key, value)
        mark = "# Kafka ignores it: " if key in left_out else ""
        lines.append(f"{mark}{line}")
    return "\n".join(lines) + "\n"
