"""Writes a component for a connector. The component consists of ``defs.yaml`` and a file with the chain."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from dagster_smt.chain.foreign_classes import absolute_entries
from dagster_smt.chain.properties import written_comment, written_property
from dagster_smt.connect.catalog import Goal, catalog
from dagster_smt.connect.chains import written_chain
from dagster_smt.connect.column_settings import fit_to_kind
from dagster_smt.connect.connector_topics import topics_of
from dagster_smt.connect.connectors import Connector
from dagster_smt.connect.consumer import (
    DEAD_LETTERS,
    ISOLATION,
    client_source,
    of_headers,
    of_options_that_stay,
    of_references,
    of_topics_and_consumer,
    topic_sink,
)
from dagster_smt.connect.converters import ConverterFormat, converter_format
from dagster_smt.connect.option_rules import OptionVerdict
from dagster_smt.connect.option_verdicts import family_of, option_verdicts
from dagster_smt.connect.proposed_columns import SchemaProposal, proposed_schema, sample_encodings
from dagster_smt.connect.settings import TableSettings
from dagster_smt.connect.settings_of_lakes import iceberg_table
from dagster_smt.connect.survey import FROM_JAR, TransformVerdict, routers, survey
from dagster_smt.connect.targets import goal_of, table_settings
from dagster_smt.connect.template_text import template_text, template_texts
from dagster_smt.connect.topic_component import PATCH_FILE, Patch, beside, without_transforms
from dagster_smt.connect.worker import NO_WORKER, Worker
from dagster_smt.model.topics.format import SELF_DESCRIBED
from dagster_smt.tables.proposal.look import Look, TopicSamples

CHAIN_FILE = "chain.properties"
_OF_CONNECTOR = "The transforms of the connector "
ANY_CLUSTER = "${env:KAFKA_SERVERS}"
"""The value for Kafka's servers if the user names no servers. It refers to an environment variable, which each run
reads.
"""
_LONGEST_NAME = 100
"""The largest number of characters in a folder's name. File systems accept 255 bytes."""
_OFFSET_RESET = "consumer.override.auto.offset.reset"


@dataclass
class ConnectorComponent:
    """The component that was written for a connector.

    Attributes:
        folder: The name of the component's folder.
        attributes: The attributes in ``defs.yaml``. Strings from the connector are written as templates.
        chain: The chain, as properties text.
        notes: Lines about settings that are unknown or assumed.
        stages: A verdict on each transform.
        options: A verdict on each option of the connector, in the order of its file.
        proposals: Lines with settings that a user may add to ``defs.yaml``.
        schema: The columns proposed for JSON values without a schema; None for other formats, for source connectors,
            and if no records were read.
        patch: The changes to a connector that stays in use without its transforms; None for other connectors.
        connector_class: The class of the connector, or its name in Confluent Cloud.
    """

    folder: str
    attributes: dict[str, Any]
    chain: str
    notes: list[TransformVerdict] = field(default_factory=list)
    stages: list[TransformVerdict] = field(default_factory=list)
    options: list[OptionVerdict] = field(default_factory=list)
    proposals: list[str] = field(default_factory=list)
    schema: SchemaProposal | None = None
    patch: Patch | None = None
    connector_class: str = ""

    @property
    def refused(self) -> bool:
        """True if the component cannot do everything that the connector does: a transform is not supported, or an
        option has the verdict "not done".
        """
        unsupported = any(v.verdict == "not supported" for v in (*self.stages, *self.notes))
        return unsupported or any(v.verdict == "not done" for v in self.options)

    @property
    def differs(self) -> bool:
        """True if the component does something differently than the connector: a transform differs, or an option has
        the verdict "changed".
        """
        other = any(v.verdict == "differs" for v in (*self.stages, *self.notes))
        return other or any(v.verdict == "changed" for v in self.options)

    @property
    def yaml(self) -> str:
        """The text of ``defs.yaml``."""
        data = {"type": "dagster_smt.SmtChainComponent", "attributes": self.attributes}
        return yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=120)

    @property
    def files(self) -> dict[str, str]:
        """The files of the component besides ``defs.yaml``, as a mapping from their names to their texts."""
        files = {CHAIN_FILE: self.chain} if self.attributes else {}
        if self.schema is not None and self.schema.statement:
            files[self.schema.file] = self.schema.statement
        if self.patch is not None:
            files[PATCH_FILE] = json.dumps(self.patch, indent=2, ensure_ascii=False) + "\n"
        return files

    def move_to(self, folder: str) -> None:
        """Gives the component the folder name ``folder``, and an asset key with this name."""
        self.folder = folder
        if self.attributes:
            kind, _, _ = self.attributes["asset_key"].partition("/")
            self.attributes["asset_key"] = f"{kind}/{folder}"

    def save(self, root: Path, more: Mapping[str, str] | None = None) -> Path:
        """Writes the folder of the component under ``root``, and returns the folder.

        Args:
            root: The folder in which the component's folder is created.
            more: Other files: their names and texts.

        Raises:
            FileExistsError: The folder already has one of the files.
        """
        folder = root / self.folder
        folder.mkdir(parents=True, exist_ok=True)
        files = {"defs.yaml": self.yaml} if self.attributes else {}
        for name, text in {**files, **self.files, **(more or {})}.items():
            with (folder / name).open("x", encoding="utf-8") as file:
                file.write(text)
        return folder


def written_component(
    connector: Connector,
    source: dict[str, Any],
    lake: str = "lake",
    look: Look | None = None,
    smt_jars: Sequence[str] = (),
    *,
    into: str = "",
    worker: Worker = NO_WORKER,
    group: str = "",
) -> ConnectorComponent:
    """Returns a component that replaces a connector or its transforms. The component writes a table, or topics that the
    connector reads.

    Args:
        connector: The connector.
        source: The source of the topics, as in ``defs.yaml``. Templates in the source are rendered.
        lake: The folder or URI for the table. Templates in the folder or URI are rendered.
        look: Reads the last records of the topics; None to read no records.
        smt_jars: Jars with classes that this package does not contain.
        into: ``table`` or ``topic``, for sinks. If empty, the catalog determines the target from the connector's class.
        worker: The worker's properties.
        group: The group of the assets, for a whole cluster. If empty, Dagster's default applies. Each component of a
            group gets a sensor, unless it has a schedule.
    """
    name = folder_name(connector.label)
    connector = worker.with_usual_providers(connector)
    notes: list[TransformVerdict] = []
    topics = topics_of(connector, notes)
    samples = look.at(topics.get("topics", ()), topics.get("pattern", "")) if look is not None else None
    encodings = sample_encodings(samples)
    key, value = (converter_format(connector, side, encodings.get(side), worker) for side in ("key", "value"))
    notes += [*key.notes, *value.notes]
    goal = goal_of(connector, into)
    if goal == "topic" and not connector.chain["transforms"].strip():
        return _untouched(name, connector)
    parts = _Parts(name, connector, source, topics, key, value, notes, worker, smt_jars)
    written = _of_topics(parts) if goal == "topic" else _of_table(parts, goal, lake, samples)
    if any(verdict.text.startswith(FROM_JAR) for verdict in written.stages):
        jars = []
        for entry in absolute_entries(smt_jars, Path()):
            jars.append(template_text(entry))
        written.attributes["smt_jars"] = jars
    if group:
        _in_group(written, group)
    return written


@dataclass
class _Parts:
    """The parts that components of tables and components of topics have in common."""

    name: str
    connector: Connector
    source: dict[str, Any]
    topics: dict[str, Any]
    key: ConverterFormat
    value: ConverterFormat
    notes: list[TransformVerdict]
    worker: Worker
    smt_jars: Sequence[str]

    @property
    def of_converters(self) -> list[OptionVerdict]:
        return [*of_references(self.connector), *self.key.options, *self.value.options]


def is_folder_of(folder: Path, connector: str) -> bool:
    """Returns False if ``folder`` has the component of another connector than ``connector``. The first line of the
    chain's file names the connector. A folder without this line may belong to any connector.
    """
    try:
        first = (folder / CHAIN_FILE).read_text(encoding="utf-8", errors="replace").partition("\n")[0]
    except OSError:
        return True
    return not first.startswith(written_comment(_OF_CONNECTOR)) or first == _first_line(connector)


def _first_line(connector: str) -> str:
    return written_comment(f"{_OF_CONNECTOR}{connector}.")


def folder_name(name: str) -> str:
    """Returns the name of the component's folder for the connector ``name``."""
    return re.sub(r"[^A-Za-z0-9_]+", "_", name).strip("_")[:_LONGEST_NAME] or "connector"


def _untouched(name: str, connector: Connector) -> ConnectorComponent:
    """Returns an empty component for ``connector``. The connector has no transforms and continues to write to its
    store, so it needs no component.
    """
    text = "the connector has no transforms: it stays as it is (--into table writes a table)"
    decided = [*of_options_that_stay(connector)]
    if connector.class_name in catalog().classes:
        decided.append(OptionVerdict("connector.class", "not needed", text))
    else:
        decided.append(OptionVerdict("connector.class", "not done", f"the class is unknown; {text}"))
    options = option_verdicts(connector, decided, unused="the connector stays as it is")
    return ConnectorComponent(name, {}, "", options=options, connector_class=connector.class_name)


def _of_topics(parts: _Parts) -> ConnectorComponent:
    """Returns a component that writes to topics. The connector in ``parts`` then reads these topics, without its
    transforms.
    """
    connector = parts.connector
    unknown = any(v.verdict == "not supported" for v in survey(connector))  # a class in a jar may change the topic
    rest = beside(connector, parts.name.lower(), unknown or bool(routers(connector)))
    chain = written_chain(connector, [rest.stage], parts.smt_jars, to_topics=True)
    properties = _properties(chain.connector, chain.ignored)
    table = _table(parts, None) | {"key": parts.key.format, "value": parts.value.format}
    sink = topic_sink(table["source"])
    attributes: dict[str, Any] = {"asset_key": f"kafka/{parts.name}", "chain": CHAIN_FILE, "table": table, "sink": sink}
    attributes |= template_texts(_errors(connector))
    decided = [*of_topics_and_consumer(connector, table["source"]), *parts.of_converters, *chain.options, *rest.options]
    decided += of_headers(connector, "topic")
    if connector.class_name in catalog().classes:
        text = "the connector stays: it reads the topics of the component, without transforms"
        decided.append(OptionVerdict("connector.class", "changed", text))
    else:
        text = "the class is unknown: the component writes topics for the connector: check them"
        decided.append(OptionVerdict("connector.class", "not done", text))
    return ConnectorComponent(
        parts.name,
        attributes,
        properties,
        [*parts.notes, *rest.notes],
        chain.stages,
        option_verdicts(connector, decided, unused="the connector keeps the option, and still does this part"),
        [*_proposals(connector, parts.source, parts.worker), *rest.proposals],
        patch=rest.patch,
        connector_class=connector.class_name,
    )


def _of_table(parts: _Parts, goal: Goal, lake: str, samples: TopicSamples | None) -> ConnectorComponent:
    """Returns a component that writes a table in place of the connector in ``parts``."""
    connector, name = parts.connector, parts.name
    settings = table_settings(connector, goal)
    chain = written_chain(connector, settings.stages, parts.smt_jars, to_topics=settings.many_tables)
    properties = _properties(chain.connector, chain.ignored)
    schema = _schema(name, connector, parts.topics, parts.value.format, properties, samples)
    wired = schema is not None and schema.wired
    kind = "columns" if parts.value.format["kind"] in SELF_DESCRIBED or wired else "records"
    fit_to_kind(settings, kind, parts.key.format["kind"])
    # fit_to_kind needs the kind of the table, which may follow from columns that are proposed for the chain. It may
    # then add a stage to this chain.
    if settings.stages != chain.extra:
        chain = written_chain(connector, settings.stages, parts.smt_jars, to_topics=settings.many_tables)
        properties = _properties(chain.connector, chain.ignored)
    table = _table(parts, schema)
    # a statement declares the format of the values itself, but not of the keys
    table |= {"key": parts.key.format} if wired else {"key": parts.key.format, "value": parts.value.format}
    sink = _sink(connector, lake, name, kind, settings)
    attributes: dict[str, Any] = {"asset_key": f"lake/{name}", "chain": CHAIN_FILE, "table": table, "sink": sink}
    attributes |= template_texts(_errors(connector)) | settings.attributes
    decided = [*of_topics_and_consumer(connector, table["source"]), *parts.of_converters, *chain.options]
    decided = [*decided, *settings.options, *of_headers(connector, kind), *of_references(connector)]
    patch = None
    if goal == "topics" and connector.is_source and connector.chain["transforms"].strip():
        patch = without_transforms(connector)
    return ConnectorComponent(
        name,
        attributes,
        properties,
        parts.notes,
        chain.stages,
        option_verdicts(connector, decided),
        _proposals(connector, parts.source, parts.worker),
        schema,
        patch,
        connector.class_name,
    )


def _in_group(written: ConnectorComponent, group: str) -> None:
    """Puts the assets of ``written`` into the group ``group``. A component without a schedule or sensor gets a
    sensor.
    """
    if not written.attributes:
        return
    if "schedule" not in written.attributes and "lag_sensor" not in written.attributes:
        written.attributes["lag_sensor"] = {"min_records": 1}
    written.attributes["translation"] = {"group_name": template_text(group)}


def _schema(
    name: str,
    connector: Connector,
    topics: dict[str, Any],
    value: dict[str, Any],
    properties: str,
    samples: TopicSamples | None,
) -> SchemaProposal | None:
    """Returns the proposed columns for values that are JSON without a schema. The proposal is based on ``samples``.
    Returns None for other formats, for source connectors, and if ``samples`` is None.
    """
    if samples is None or value["kind"] != "json" or not connector.is_sink:
        return None
    return proposed_schema(f"{name}.sql", topics, properties, samples)


def _table(parts: _Parts, schema: SchemaProposal | None) -> dict[str, Any]:
    """Returns the component's input without the formats: the source, and the topics or the file of the ``CREATE TABLE``
    statement. If the connector begins at the latest offsets, the first run does the same.
    """
    table: dict[str, Any] = {"source": client_source(parts.connector, parts.source, parts.worker)}
    wired = schema is not None and schema.wired
    table |= {"statement": schema.file} if schema is not None and wired else template_texts(parts.topics)
    reset = parts.connector.config.get(_OFFSET_RESET, "") or parts.worker.consumer("auto.offset.reset")
    if reset.strip().lower() == "latest" and parts.connector.is_sink:
        table["start"] = "latest"
    return table


def _sink(connector: Connector, lake: str, name: str, kind: str, settings: TableSettings) -> dict[str, Any]:
    options = template_texts(settings.sink)
    iceberg = iceberg_table(connector) if family_of(connector) == "iceberg" else ""
    if iceberg:
        return {"iceberg": {"table": template_text(iceberg), "kind": kind, **options}}
    place = f"{name}/{settings.table}" if settings.many_tables else settings.table or name
    return {"delta": {"path": f"{lake}/{place}", "kind": kind, **options}}


def _proposals(connector: Connector, source: dict[str, Any], worker: Worker) -> list[str]:
    """Returns lines with settings that a user may add to the component of ``connector``. For example, the first run may
    start at the offsets of the connector's consumer group.
    """
    if not connector.is_sink:
        return []
    start = f"table.start: group:{connector.group}"
    proposals = [f"{start} starts at the connector's offsets; without it, the table starts at the beginning"]
    level = connector.config.get(ISOLATION, "").strip() or worker.consumer("isolation.level")
    if "kafka" in source and not level:
        level = "table.source.kafka.isolation_level: read_uncommitted"
        text = "also reads records of open and aborted transactions, as the connector does by default"
        proposals.append(f"{level} {text}; without it the table has committed records only")
    return proposals


def _errors(connector: Connector) -> dict[str, Any]:
    attributes: dict[str, Any] = {}
    if connector.config.get("errors.tolerance", "").strip().lower() == "all":
        attributes["errors_tolerance"] = "all"
    if topic := connector.config.get(DEAD_LETTERS):
        attributes["dead_letter_topic"] = topic
    return attributes


def _properties(connector: Connector, left_out: list[str]) -> str:
    lines = [_first_line(connector.name)]
    for key, value in connector.chain.items():
        line = written_property(key, value)
        # a component is loaded strictly: an unknown option would be an error
        mark = "# Kafka ignores it: " if key in left_out else ""
        lines.append(f"{mark}{line}")
    return "\n".join(lines) + "\n"
