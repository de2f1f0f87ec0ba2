"""A connector as a component: ``defs.yaml`` and the chain beside it."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from dagster_smt.chain.properties import written_comment, written_property
from dagster_smt.connect.chains import is_looked_up, written_chain
from dagster_smt.connect.connectors import Connector
from dagster_smt.connect.converters import converted
from dagster_smt.connect.options import family_of, option_verdicts
from dagster_smt.connect.rules import OptionVerdict
from dagster_smt.connect.schema import SchemaProposal, proposed_schema, seen_encodings
from dagster_smt.connect.survey import Verdict
from dagster_smt.connect.template_text import template_text, template_texts
from dagster_smt.connect.topics import topics_of
from dagster_smt.model.topics.format import SELF_DESCRIBED
from dagster_smt.tables.proposal.look import Look, Seen

CHAIN_FILE = "chain.properties"
ANY_CLUSTER = "${env:KAFKA_SERVERS}"
"""Servers where nobody named some: an environment variable that each run looks up."""
_LONGEST_NAME = 100
"""Characters of a folder's name; file systems take 255 bytes."""
_TABLES = "iceberg.tables"
_ISOLATION = "consumer.override.isolation.level"
_DEAD_LETTERS = "errors.deadletterqueue.topic.name"
_NAMES = ("name", "topics", "topics.regex", "topic.prefix", "fields.whitelist", _TABLES, _DEAD_LETTERS)
"""Options whose values are written as they are."""
_OFFSET_RESET = "consumer.override.auto.offset.reset"


@dataclass
class Written:
    """What stands for a connector.

    Attributes:
        folder: Name of its folder.
        attributes: The component's attributes, as ``defs.yaml`` has them: templates give the texts of the connector.
        chain: The chain, as properties text.
        notes: What could not be said, or was assumed.
        stages: A verdict on each transform.
        options: A verdict on each option of the connector, in the order of its file.
        proposals: What one may add to ``defs.yaml``.
        schema: The columns that the last records of the topics tell of; None if nobody looked.
    """

    folder: str
    attributes: dict[str, Any]
    chain: str
    notes: list[Verdict] = field(default_factory=list)
    stages: list[Verdict] = field(default_factory=list)
    options: list[OptionVerdict] = field(default_factory=list)
    proposals: list[str] = field(default_factory=list)
    schema: SchemaProposal | None = None

    @property
    def refused(self) -> bool:
        """Whether something of the connector is missing in what is written."""
        unsupported = any(v.verdict == "not supported" for v in (*self.stages, *self.notes))
        return unsupported or any(v.verdict == "not done" for v in self.options)

    @property
    def yaml(self) -> str:
        """``defs.yaml``."""
        data = {"type": "dagster_smt.SmtChainComponent", "attributes": self.attributes}
        return yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=120)

    @property
    def files(self) -> dict[str, str]:
        """What stands beside ``defs.yaml``: names and texts."""
        found = {CHAIN_FILE: self.chain}
        if self.schema is not None and self.schema.statement:
            found[self.schema.file] = self.schema.statement
        return found

    def save(self, root: Path) -> Path:
        """Write the folder below a root; returns it.

        Raises:
            FileExistsError: There is one with a ``defs.yaml``.
        """
        folder = root / self.folder
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in {"defs.yaml": self.yaml, **self.files}.items():
            with (folder / name).open("x", encoding="utf-8") as file:
                file.write(text)
        return folder


def written_component(
    connector: Connector, source: dict[str, Any], lake: str = "lake", look: Look | None = None
) -> Written:
    """Write a connector as a component that reads its topics into a table: of Iceberg if its was, else of Delta.

    Args:
        connector: The connector.
        source: Where the topics are, as ``defs.yaml`` says it; templates in it are rendered.
        lake: Folder or URI below which the table goes; templates in it are rendered.
        look: What reads the last records of its topics; None: nobody looks at them.
    """
    name = re.sub(r"[^A-Za-z0-9_]+", "_", connector.name).strip("_")[:_LONGEST_NAME] or "connector"
    notes: list[Verdict] = []
    topics = topics_of(connector, notes)
    if look is not None:
        seen = look.at(topics.get("topics", ()), topics.get("pattern", ""))
    else:
        seen = None
    encodings = seen_encodings(seen)
    key, value = (converted(connector, side, encodings.get(side)) for side in ("key", "value"))
    chain = written_chain(connector)
    properties = _properties(chain.connector, chain.ignored)
    schema = _schema(name, connector, topics, value.format, properties, seen)
    table = _table(connector, source, topics, schema)
    table |= {"key": key.format} if schema is not None and schema.wired else {"key": key.format, "value": value.format}
    columns = value.format["kind"] in SELF_DESCRIBED or (schema is not None and schema.wired)
    sink = _sink(connector, lake, name, "columns" if columns else "records")
    attributes: dict[str, Any] = {"asset_key": f"lake/{name}", "chain": CHAIN_FILE, "table": table, "sink": sink}
    attributes |= template_texts(_errors(connector))
    decided = [*_of_places(connector), *_of_references(connector), *key.options, *value.options, *chain.options]
    return Written(
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
    """Columns, where no converter says them: of JSON without schemas."""
    if seen is None or value["kind"] != "json" or not connector.is_sink:
        return None
    return proposed_schema(f"{name}.sql", topics, properties, seen)


def _table(
    connector: Connector, source: dict[str, Any], topics: dict[str, Any], schema: SchemaProposal | None
) -> dict[str, Any]:
    """What the chain reads, but for its formats."""
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
    """The source, reading what the connector's consumer was told to read of transactions."""
    level = connector.config.get(_ISOLATION, "").strip().lower()
    if "kafka" not in source or level not in ("read_committed", "read_uncommitted"):
        return source
    return {**source, "kafka": {**source["kafka"], "isolation_level": level}}


def _iceberg_table(connector: Connector) -> str:
    """The one table that an Iceberg sink names; empty if it is none, or names several."""
    tables = []
    for t in connector.config.get(_TABLES, "").split(","):
        if t.strip():
            tables.append(t.strip())
    if family_of(connector) == "iceberg" and len(tables) == 1:
        return tables[0]
    return ""


def _of_places(connector: Connector) -> Iterator[OptionVerdict]:
    """Verdicts on what says where records come from and go to."""
    config, family = connector.config, family_of(connector)
    if "topics" in config and not connector.is_sink:
        yield OptionVerdict("topics", "changed", "table.pattern: what they are called where the connector writes them")
    elif "topics" in config:
        several = len(connector.topics) > 1
        what = "all of them go into one table, whose source columns name the topic"
        yield OptionVerdict("topics", *(("changed", what) if several else ("used", "table.topics")))
    if "topics.regex" in config:
        what = "table.pattern: all of them go into one table, whose source columns name the topic"
        yield OptionVerdict("topics.regex", "changed", what)
    level = config.get(_ISOLATION, "").strip().lower()
    if level and level not in ("read_committed", "read_uncommitted"):
        yield OptionVerdict(_ISOLATION, "not done", "there is no such level")
    if family == "search" and not _each_is_new(config):
        what = "a record replaces the document of its key (key.ignore is false); the table has a row for each record"
        yield OptionVerdict("connector.class", "not done", what)
    if family == "iceberg":
        yield from _of_iceberg(connector)


def _of_references(connector: Connector) -> Iterator[OptionVerdict]:
    """Names that Connect looks up are not names: what is written would look for the reference itself."""
    for option in _NAMES:
        if is_looked_up(connector.config.get(option, "")):
            yield OptionVerdict(option, "not done", "it refers to what Connect looks up: write what it says there")


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
    what = "no single table is named: a Delta table is written; one component writes one table"
    yield OptionVerdict("connector.class", "not done", what)
    if _TABLES in connector.config:
        yield OptionVerdict(_TABLES, "not done", "one component writes one table: import the connector once for each")


def _proposals(connector: Connector, source: dict[str, Any]) -> list[str]:
    """What one may add: to go on where the connector is, its group's offsets are the table's first ones."""
    if not connector.is_sink:
        return []
    group = connector.config.get("consumer.override.group.id", "").strip() or f"connect-{connector.name}"
    found = [f"table.start: group:{group} begins where the connector is; without it the table begins anew"]
    if "kafka" in source and not connector.config.get(_ISOLATION, "").strip():
        level = "table.source.kafka.isolation_level: read_uncommitted"
        what = "also reads records of open and aborted transactions, as the connector does unless its worker says other"
        found.append(f"{level} {what}; without it the table has committed records only")
    return found


def _errors(connector: Connector) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if connector.config.get("errors.tolerance", "").strip().lower() == "all":
        found["errors_tolerance"] = "all"
    if topic := connector.config.get(_DEAD_LETTERS):
        found["dead_letter_topic"] = topic
    return found


def _properties(connector: Connector, left_out: list[str]) -> str:
    lines = [written_comment(f"The transforms of the connector {connector.name}.")]
    for key, value in connector.chain.items():
        line = written_property(key, value)
        mark = "# Kafka ignores it: " if key in left_out else ""
        lines.append(f"{mark}{line}")
    return "\n".join(lines) + "\n"
