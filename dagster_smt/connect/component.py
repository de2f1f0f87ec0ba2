"""A connector as a component: ``defs.yaml`` and the chain beside it."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from dagster_smt.chain.properties import written_comment, written_property
from dagster_smt.connect.connectors import Connector
from dagster_smt.connect.survey import Verdict, ignored_options
from dagster_smt.connect.template_text import template_texts

CHAIN_FILE = "chain.properties"
ANY_CLUSTER = "${env:KAFKA_SERVERS}"
"""Servers where nobody named some: an environment variable that each run looks up."""
_LONGEST_NAME = 100
"""Characters of a folder's name; file systems take 255 bytes."""
_CONVERTERS = {
    "org.apache.kafka.connect.storage.StringConverter": "string",
    "org.apache.kafka.connect.converters.ByteArrayConverter": "bytes",
}
_JSON = "org.apache.kafka.connect.json.JsonConverter"


@dataclass
class Written:
    """What stands for a connector.

    Attributes:
        folder: Name of its folder.
        attributes: The component's attributes, as ``defs.yaml`` has them: templates give the texts of the connector.
        chain: The chain, as properties text.
        notes: What could not be said, or was assumed.
    """

    folder: str
    attributes: dict[str, Any]
    chain: str
    notes: list[Verdict] = field(default_factory=list)

    @property
    def yaml(self) -> str:
        """``defs.yaml``."""
        data = {"type": "dagster_smt.SmtChainComponent", "attributes": self.attributes}
        return yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=120)

    def save(self, root: Path) -> Path:
        """Write the folder below a root; returns it.

        Raises:
            FileExistsError: There is one with a ``defs.yaml``.
        """
        folder = root / self.folder
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in (("defs.yaml", self.yaml), (CHAIN_FILE, self.chain)):
            with (folder / name).open("x", encoding="utf-8") as file:
                file.write(text)
        return folder


def written_component(connector: Connector, source: dict[str, Any], lake: str = "lake") -> Written:
    """Write a connector as a component that reads its topics into a Delta table.

    Args:
        connector: The connector.
        source: Where the topics are, as ``defs.yaml`` says it; templates in it are rendered.
        lake: Folder or URI below which the table goes; templates in it are rendered.
    """
    name = re.sub(r"[^A-Za-z0-9_]+", "_", connector.name).strip("_")[:_LONGEST_NAME] or "connector"
    notes: list[Verdict] = []
    value = _format(connector, "value", notes)
    table: dict[str, Any] = {"source": source, **template_texts(_topics(connector, notes))}
    table |= {"key": _format(connector, "key", notes), "value": value}
    kind = "columns" if value["kind"] == "envelope" else "records"
    attributes: dict[str, Any] = {
        "asset_key": f"lake/{name}",
        "chain": CHAIN_FILE,
        "table": table,
        "sink": {"delta": {"path": f"{lake}/{name}", "kind": kind}},
    }
    attributes |= template_texts(_errors(connector))
    left_out = ignored_options(connector)
    return Written(name, attributes, _properties(connector, left_out), notes)


def _topics(connector: Connector, notes: list[Verdict]) -> dict[str, Any]:
    if connector.topics:
        return {"topics": list(connector.topics)}
    if pattern := connector.config.get("topics.regex"):
        return {"pattern": pattern}
    prefix = connector.config.get("topic.prefix") or connector.name
    what = "a source connector: the table reads the topics that it writes, and the chain is applied to them again"
    notes.append(Verdict("topics", prefix, "differs", f"{what}; take the chain out of the connector, or name others"))
    return {"pattern": f"{re.escape(prefix)}.*"}


def _format(connector: Connector, side: str, notes: list[Verdict]) -> dict[str, Any]:
    given = connector.config.get(f"{side}.converter", "")
    if not given:
        assumed = "string" if side == "key" else "json"
        what = f"the connector leaves it to its worker: {assumed} is assumed; change it in defs.yaml"
        notes.append(Verdict(f"{side}.converter", "", "differs", what))
        return {"kind": assumed}
    if given in _CONVERTERS:
        return {"kind": _CONVERTERS[given]}
    if given == _JSON:
        schemas = connector.config.get(f"{side}.converter.schemas.enable", "true").strip().lower()
        return {"kind": "json" if schemas == "false" else "envelope"}
    what = "this encoding is not read yet: bytes is written; change it in defs.yaml, or convert the topic to JSON"
    notes.append(Verdict(f"{side}.converter", given, "not supported", what))
    return {"kind": "bytes"}


def _errors(connector: Connector) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if connector.config.get("errors.tolerance") == "all":
        found["errors_tolerance"] = "all"
    if topic := connector.config.get("errors.deadletterqueue.topic.name"):
        found["dead_letter_topic"] = topic
    return found


def _properties(connector: Connector, left_out: list[str]) -> str:
    lines = [written_comment(f"The transforms of the connector {connector.name}.")]
    for key, value in connector.chain.items():
        line = written_property(key, value)
        mark = "# Kafka ignores it: " if key in left_out else ""
        lines.append(f"{mark}{line}")
    return "\n".join(lines) + "\n"
