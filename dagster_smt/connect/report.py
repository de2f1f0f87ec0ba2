"""Writes the reports of an import. Each component gets a Markdown file and a JSON file, and a whole cluster gets an
index.
"""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dagster_smt.connect.catalog import catalog
from dagster_smt.connect.component import ConnectorComponent
from dagster_smt.connect.connector_sources import Cluster
from dagster_smt.connect.connectors import Connector
from dagster_smt.connect.option_rules import OUTCOMES
from dagster_smt.connect.topic_component import PATCH_FILE
from dagster_smt.model.reports.markdown import code, plain, table

REPORT, DATA = "import.md", "import.json"
"""The names of the files of a report."""


@dataclass(frozen=True)
class Imported:
    """A connector together with its component.

    Attributes:
        connector: The connector.
        component: The component that was written for the connector.
        cluster: The cluster that runs the connector; None for a connector in a file.
    """

    connector: Connector
    component: ConnectorComponent
    cluster: Cluster | None = field(default=None)


def with_installed_versions(component: ConnectorComponent, cluster: Cluster) -> None:
    """Completes the verdicts of ``component`` on classes that need a jar. Each of these verdicts gets the version of
    the class that is installed in the workers of ``cluster``.
    """
    stages = []
    for verdict in component.stages:
        version = cluster.plugins.get(verdict.type, "")
        if version and verdict.verdict == "not supported":
            verdict = replace(verdict, text=f"{verdict.text}; installed: {version}")
        stages.append(verdict)
    component.stages = stages


def component_report(imported: Imported, to_do: Sequence[str] = ()) -> dict[str, str]:
    """Returns the report about the connector in ``imported``, as a mapping from file names to texts. The report
    contains no option values.

    Args:
        imported: The connector and its component.
        to_do: Open steps for the project.
    """
    data = _data(imported)
    return {REPORT: _page(imported, data, to_do), DATA: json.dumps(data, indent=2, ensure_ascii=False) + "\n"}


def _data(imported: Imported) -> dict[str, Any]:
    connector, component = imported.connector, imported.component
    counts = Counter(v.verdict for v in component.options)
    return {
        "connector": connector.label,
        "class": connector.class_name,
        "about": _about(imported),
        "state": connector.state.lower(),
        "becomes": _becomes(component),
        "complete": not component.refused,
        "counts": {outcome: counts[outcome] for outcome in OUTCOMES},
        "transforms": [
            {"part": v.part, "type": v.type, "verdict": v.verdict, "text": v.text}
            for v in (*component.stages, *component.notes)
        ],
        "options": [{"option": v.option, "verdict": v.verdict, "text": v.text} for v in component.options],
        "proposals": list(component.proposals),
    }


def _about(imported: Imported) -> str:
    """Returns a phrase about the connector in ``imported``: the name and the versions of its class."""
    name = imported.connector.class_name
    known = catalog().classes.get(name)
    parts = []
    if known is not None:
        parts.append(known.name)
        if known.versions:
            parts.append(f"options as of {known.versions}")
    elif not imported.connector.is_source and name:
        parts.append("an unknown class")
    if imported.cluster is not None and imported.cluster.plugins.get(name):
        parts.append(f"installed: {imported.cluster.plugins[name]}")
    return ", ".join(parts)


def _becomes(component: ConnectorComponent) -> str:
    if not component.attributes:
        return "nothing: the connector stays as it is"
    (kind,) = component.attributes["sink"]
    if kind in ("kafka", "files"):
        return "topics for the connector"
    mode = component.attributes["sink"][kind].get("mode", "append")
    return f"a table ({kind}, {mode})"


def _todo(component: ConnectorComponent) -> Iterator[str]:
    """Yields the steps that a user has to take for ``component``, in Markdown."""
    for v in (*component.stages, *component.notes):
        if v.verdict == "not supported":
            yield f"{code(v.part)}: {plain(v.text)}"
    for option in component.options:
        if option.verdict == "not done":
            yield f"{code(option.option)}: {plain(option.text)}"
    if component.patch is not None:
        yield f"apply to the connector the changes in {code(PATCH_FILE)} (`PATCH /connectors/NAME/config`)"


def _page(imported: Imported, data: dict[str, Any], to_do: Sequence[str]) -> str:
    component = imported.component
    lines = [f"# {plain(data['connector'])}", ""]
    lines.append(f"Class: {code(data['class'])}. {plain(data['about'])}" if data["class"] else "No class.")
    lines += ["", f"It becomes {plain(data['becomes'])}.", "", "## To do", ""]
    todo = [*_todo(component), *map(plain, to_do)]
    lines += [f"- {line}" for line in todo] or ["Nothing."]
    if data["transforms"]:
        rows = [("part", "verdict", "type", "text")]
        for t in data["transforms"]:
            rows.append((code(t["part"]), t["verdict"], code(t["type"]), plain(t["text"])))
        lines += ["", "## Transforms and assumptions", "", table(rows)]
    if data["options"]:
        rows3 = [("option", "verdict", "text")]
        for o in data["options"]:
            rows3.append((code(o["option"]), o["verdict"], plain(o["text"])))
        lines += ["", "## Options", "", table(rows3)]
    if data["proposals"]:
        lines += ["", "## Proposals", "", *(f"- {plain(text)}" for text in data["proposals"])]
    return "\n".join(lines) + "\n"


def index_report(items: Sequence[Imported], to_do: Sequence[str] = ()) -> dict[str, str]:
    """Returns the index of the connectors in ``items``, as a mapping from file names to texts. The index contains the
    result and the open steps of each connector.

    Args:
        items: The connectors and their components.
        to_do: Open steps for the project.
    """
    ready = sum(not item.component.refused for item in items)
    lines = ["# Connectors", "", f"{ready} of {len(items)} connectors are complete.", ""]
    for cluster in {item.cluster.place: item.cluster for item in items if item.cluster is not None}.values():
        about = f"Kafka Connect {cluster.version}" if cluster.version else "Kafka Connect"
        lines += [f"{plain(about)} at {code(cluster.place)}, with {len(cluster.plugins)} plug-ins.", ""]
    rows = [("connector", "state", "becomes", "complete", *OUTCOMES)]
    for item in items:
        counts = Counter(v.verdict for v in item.component.options)
        name = f"[{plain(item.connector.label)}]({item.component.folder}/{REPORT})"
        done = "no" if item.component.refused else "yes"
        state = plain(item.connector.state.lower())
        rows.append((name, state, _becomes(item.component), done, *(str(counts[o]) for o in OUTCOMES)))
    lines += [table(rows), "", "## To do", ""]
    for item in items:
        todo = list(_todo(item.component))
        if todo:
            lines += [f"### {plain(item.connector.label)}", "", *(f"- {line}" for line in todo), ""]
    if to_do:
        lines += ["### The Spark session", "", *(f"- {plain(line)}" for line in to_do), ""]
    if not to_do and not any(True for item in items for _ in _todo(item.component)):
        lines += ["Nothing.", ""]
    data = {"connectors": [_data(item) for item in items], "to_do": [*to_do]}
    return {REPORT: "\n".join(lines), DATA: json.dumps(data, indent=2, ensure_ascii=False) + "\n"}
