"""Implements the command ``import``, which writes connectors of Kafka Connect as components, with a report on each
transform and option.
"""

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dagster_smt.cli.arguments import add_jars, count_or_zero
from dagster_smt.cli.grid import grid
from dagster_smt.cli.terminal import say
from dagster_smt.cli.topic_commands import topics_at
from dagster_smt.connect import (
    ANY_CLUSTER,
    NO_WORKER,
    Connector,
    ConnectorComponent,
    ProjectSession,
    TransformVerdict,
    by_table,
    cluster_at,
    component_report,
    connectors_at,
    index_report,
    read_worker,
    session_for,
    write_session,
    written_component,
)
from dagster_smt.connect.connector_sources import is_address
from dagster_smt.connect.option_rules import OUTCOMES
from dagster_smt.connect.report import REPORT, Imported, with_installed_versions
from dagster_smt.connect.worker import Worker
from dagster_smt.errors import ConfigError, Problem
from dagster_smt.visible import visible

if TYPE_CHECKING:
    from dagster_smt.tables.proposal.look import Look


def add_commands(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the command ``import``."""
    parser = commands.add_parser("import", help="make components of Kafka Connect's connectors, and report on each")
    parser.add_argument(
        "source",
        nargs="+",
        help="connector files (.json, .properties, .yaml of Strimzi or Confluent), folders of them, the body of "
        "GET /connectors?expand=info, or the address of a Connect REST API",
    )
    parser.add_argument("--to", type=Path, metavar="FOLDER", help="write components here; without it, only report")
    parser.add_argument(
        "--bootstrap-servers",
        default=ANY_CLUSTER,
        help=f"the Kafka cluster that the components read (default: {ANY_CLUSTER}, looked up in each run)",
    )
    parser.add_argument("--files", metavar="FOLDER", help="file topics to read, instead of a cluster")
    parser.add_argument("--lake", default="lake", help="folder or URI for the tables (default: lake)")
    parser.add_argument(
        "--sample",
        type=count_or_zero,
        default=100,
        metavar="N",
        help="number of each topic's last records to read for columns, and for formats that connectors leave to the "
        "worker (default 100; 0: read no records)",
    )
    parser.add_argument(
        "--command-config",
        type=Path,
        metavar="FILE",
        help="properties of Kafka's clients, in the format of Kafka's tools, for reading the records",
    )
    add_jars(parser)
    parser.add_argument(
        "--worker", type=Path, metavar="FILE", help="properties of the Connect worker, for converters and providers"
    )
    parser.add_argument(
        "--into",
        choices=("table", "topic"),
        default="",
        help="the target of sinks: tables, or topics that the connector reads (default: by their class)",
    )
    parser.add_argument(
        "--group",
        default="",
        help="the group of the assets (default: connect for a REST address, else none); each component of a group gets "
        "a schedule or a sensor",
    )
    parser.add_argument("--strict", action="store_true", help="also exit with 1 if anything is changed or differs")
    parser.add_argument("--json", action="store_true", help="one JSON object per line of the report")
    parser.set_defaults(run=_import)


def _import(arguments: argparse.Namespace) -> int:
    worker = read_worker(arguments.worker) if arguments.worker else NO_WORKER
    imported, refused = _imported(arguments, worker), False
    for item in imported:
        refused |= item.component.refused or (arguments.strict and item.component.differs)
    if arguments.to is None:
        for item in imported:
            print_report(item.connector, item.component, as_json=arguments.json)
    elif exists := _written(imported, arguments, worker):
        raise ConfigError(exists)
    return int(refused)


def _imported(arguments: argparse.Namespace, worker: Worker) -> list[Imported]:
    """Returns the connectors that ``arguments`` name, each with its component. All folder names of the components are
    different. ``worker`` describes the worker that runs the connectors.
    """
    source: dict[str, Any] = {"kafka": {"bootstrap_servers": arguments.bootstrap_servers}}
    if arguments.files:
        source = {"files": str(Path(arguments.files).absolute())}
    look = _look(arguments)
    imported: list[Imported] = []
    for place in arguments.source:
        cluster = cluster_at(place) if is_address(place) else None
        group = arguments.group or ("connect" if cluster is not None else "")
        parts = []
        for connector in connectors_at(place):
            parts.extend(by_table(connector))
        for connector in parts:
            component = written_component(
                connector,
                source,
                arguments.lake,
                look,
                arguments.smt_jars,
                into=arguments.into,
                worker=worker,
                group=group,
            )
            _name_apart(component, imported)
            if cluster is not None:
                with_installed_versions(component, cluster)
            imported.append(Imported(connector, component, cluster))
    return imported


def _name_apart(component: ConnectorComponent, others: list[Imported]) -> None:
    """Adds a number to the folder name of ``component`` if a component in ``others`` has the same folder name. For
    example, the connectors ``a.b`` and ``a-b`` would both get the folder name ``a_b``, so the second folder is called
    ``a_b_2``.
    """
    folders = {item.component.folder for item in others}
    name, number = component.folder, 2
    while component.folder in folders:
        component.move_to(f"{name}_{number}")
        number += 1


def _written(imported: list[Imported], arguments: argparse.Namespace, worker: Worker) -> list[Problem]:
    """Writes the components in ``imported`` into files, and prints their reports. A component that already exists is
    not written again. Returns a problem for each such component.
    """
    exists = []
    session = _session(imported, arguments.to, worker)
    to_do = list(session.to_do())
    for item in imported:
        print_report(item.connector, item.component, as_json=arguments.json)
        try:
            # with several connectors, the index lists the open steps of the project
            folder = item.component.save(arguments.to, component_report(item, () if len(imported) > 1 else to_do))
        except FileExistsError as error:
            hint = "remove it, or import to another folder"
            exists.append(Problem("SMT019", str(error.filename), "there is a component already", hint))
            continue
        if not arguments.json:
            file = "defs.yaml" if item.component.attributes else REPORT
            say(f"  written: {folder / file}")
    if len(imported) > 1:
        for name, text in index_report(imported, to_do).items():
            (arguments.to / name).write_text(text, encoding="utf-8")
        if not arguments.json:
            say(f"index: {arguments.to / REPORT}")
    if not arguments.json:
        _print_session(session, to_do)
    return exists


def _session(imported: list[Imported], folder: Path, worker: Worker) -> ProjectSession:
    """Writes a Spark session for the components into the project of ``folder``, unless the project already has a
    session. Returns the session.
    """
    parts = []
    for item in imported:
        parts.append((worker.with_usual_providers(item.connector), item.component))
    session = session_for(parts)
    write_session(session, folder)
    return session


def _print_session(session: ProjectSession, to_do: list[str]) -> None:
    if session.file is not None:
        say(f"Spark session: {session.file}")
    for line in to_do:
        say(f"to do: {visible(line)}")


def _look(arguments: argparse.Namespace) -> "Look | None":
    """Returns a ``Look``, which reads the last records of a topic; None if the arguments do not ask for records."""
    if not arguments.sample:
        return None
    from dagster_smt.tables.proposal.look import Look

    place = arguments.files or arguments.bootstrap_servers
    return Look(topics_at(place, arguments.command_config, folder=bool(arguments.files)), arguments.sample)


def print_report(connector: Connector, written: ConnectorComponent, *, as_json: bool = False) -> None:
    """Prints the report about ``connector``: a line for each transform, option and assumption."""
    verdicts = [*written.stages, *written.notes]
    if as_json:
        _print_json(connector, verdicts, written)
        return
    state = f", {connector.state.lower()}" if connector.state else ""
    stages, options = Counter(v.verdict for v in verdicts), Counter(v.verdict for v in written.options)
    notes = []
    for k in ("exact", "differs", "not supported"):
        if stages[k] or k == "exact":
            notes.append(f"{stages[k]} {k}")
    told_of_options = []
    for k in OUTCOMES:
        if options[k]:
            told_of_options.append(f"{options[k]} {k}")
    line = f"{visible(connector.label)}{visible(state)}: {', '.join(notes)}"
    say(f"{line}; options: {', '.join(told_of_options)}" if told_of_options else line)
    if verdicts:
        rows = []
        for v in verdicts:
            rows.append((f"  {v.part}", v.verdict, v.type.rsplit(".", 1)[-1]))
        for text, v in zip(grid(rows, 3).split("\n"), verdicts, strict=True):
            say(text)
            if v.text:
                say(f"      {visible(v.text)}")
    if written.options:
        say(grid([(f"  {v.option}", v.verdict, v.text) for v in written.options], 3))
    for line in written.schema.lines if written.schema is not None else ():
        say(f"  schema: {visible(line)}")
    for proposal in written.proposals:
        say(f"  proposal: {visible(proposal)}")


def _print_json(connector: Connector, verdicts: list[TransformVerdict], written: ConnectorComponent) -> None:
    name = connector.label
    lines: list[dict[str, str]] = [
        {"connector": name, "part": v.part, "type": v.type, "verdict": v.verdict, "what": v.text} for v in verdicts
    ]
    lines += [{"connector": name, "option": v.option, "verdict": v.verdict, "what": v.text} for v in written.options]
    about = written.schema.lines if written.schema is not None else []
    lines += [{"connector": name, "schema": text} for text in about]
    lines += [{"connector": name, "proposal": text} for text in written.proposals]
    for line in lines:
        say(json.dumps(line, ensure_ascii=False))
