"""The catalog of connectors. It contains the classes of connectors, grouped into families, and rules about the options
of connectors. For each family, the catalog also contains a ``Goal``: the kind of component that the command
``dagster-smt import`` writes for a connector of this family.

The catalog is data: one file for each family of connectors in ``catalogs/``, with links to the vendors' pages. A string
may refer to a sentence in ``catalogs/sentences.yaml``: ``{STORE}``.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

import yaml

from dagster_smt.connect.option_rules import OUTCOMES, OptionRule

Goal = Literal["table", "topic", "topics"]
"""The kinds of component. ``table``: a component that writes the records of a sink connector to a table. ``topic``: a
component that writes a topic, which the connector then reads. ``topics``: a component that reads the topics of a source
connector, and writes them to a table.
"""

_FOLDER = Path(__file__).with_name("catalogs")
_SENTENCES = "sentences.yaml"
_REFERENCE = re.compile(r"\{([A-Z_]+)\}")


@dataclass(frozen=True)
class ConnectorClass:
    """A class of connectors, with its family.

    Attributes:
        family: The name of the family. All connectors of a family have the same options.
        name: The name for reports.
        versions: The versions that the catalog describes; empty for services without versions.
    """

    family: str
    name: str
    versions: str = ""


@dataclass(frozen=True)
class Catalog:
    """The catalog: all families of connectors, and the rules about their options.

    Attributes:
        classes: The known classes, by their names in ``connector.class``.
        goals: Maps the name of a family to the kind of component that an import writes, such as ``table``.
        sources: Maps the name of a family to the pages on which the family's rules are based.
        rules: The rules in order. Rules that apply to all connectors come first.
    """

    classes: Mapping[str, ConnectorClass]
    goals: Mapping[str, Goal]
    sources: Mapping[str, tuple[str, ...]]
    rules: tuple[OptionRule, ...]


@cache
def catalog() -> Catalog:
    """Returns the catalog from the files in ``catalogs/``."""
    sentences = _read(_FOLDER / _SENTENCES)
    classes: dict[str, ConnectorClass] = {}
    goals: dict[str, Goal] = {}
    sources: dict[str, tuple[str, ...]] = {}
    of_all: list[OptionRule] = []
    of_families: list[OptionRule] = []
    for file in sorted(_FOLDER.glob("*.yaml")):
        if file.name == _SENTENCES:
            continue
        data = _read(file)
        family = data["family"]
        for class_, about in data.get("classes", {}).items():
            classes[class_] = ConnectorClass(family, about["name"], about.get("versions", ""))
        if family:
            goals[family] = data["goes_to"]
        sources[family] = tuple(data["sources"])
        rules = of_families if family else of_all
        rules += _rules(data["rules"], family, sentences)
    return Catalog(classes, goals, sources, (*of_all, *of_families))


def _read(file: Path) -> Any:
    return yaml.safe_load(file.read_text(encoding="utf-8"))


def _rules(entries: list[dict[str, Any]], family: str, sentences: Mapping[str, str]) -> Iterator[OptionRule]:
    families = (family,) if family else ()
    for entry in entries:
        (verdict,) = (outcome for outcome in OUTCOMES if outcome in entry)
        text = _REFERENCE.sub(lambda match: sentences[match[1]], entry[verdict])
        for option in entry["options"]:
            yield OptionRule(option, verdict, text, families, tuple(entry.get("values", ())))
