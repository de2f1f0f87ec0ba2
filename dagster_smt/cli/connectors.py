"""The command ``import``: connectors of Kafka Connect become components, with a report per transform."""

import argparse
import json
from pathlib import Path
from typing import Any

from dagster_smt.cli.grid import grid
from dagster_smt.cli.terminal import say
from dagster_smt.connect import ANY_CLUSTER, Connector, Verdict, connectors_at, survey, written_component
from dagster_smt.errors import ConfigError, Problem
from dagster_smt.visible import visible


def add_commands(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = commands.add_parser("import", help="make components of Kafka Connect's connectors, and report on each")
    parser.add_argument(
        "source",
        nargs="+",
        help="connector files (.json, .properties), folders of them, the body of GET /connectors?expand=info, "
        "or the address of a Connect REST API",
    )
    parser.add_argument("--to", type=Path, metavar="FOLDER", help="write components here; without it, only report")
    parser.add_argument(
        "--bootstrap-servers",
        default=ANY_CLUSTER,
        help=f"the Kafka cluster that the components read (default: {ANY_CLUSTER}, looked up in each run)",
    )
    parser.add_argument("--files", metavar="FOLDER", help="file topics to read, instead of a cluster")
    parser.add_argument("--lake", default="lake", help="folder or URI below which tables go (default: lake)")
    parser.add_argument("--json", action="store_true", help="one JSON object per line of the report")
    parser.set_defaults(run=_import)


def _import(arguments: argparse.Namespace) -> int:
    connectors = [connector for source in arguments.source for connector in connectors_at(source)]
    source: dict[str, Any] = {"kafka": {"bootstrap_servers": arguments.bootstrap_servers}}
    if arguments.files:
        source = {"files": str(Path(arguments.files).absolute())}
    refused = False
    for connector in connectors:
        written = written_component(connector, source, arguments.lake)
        verdicts = [*survey(connector), *written.notes]
        refused |= any(v.verdict == "not supported" for v in verdicts)
        _print(connector, verdicts, as_json=arguments.json)
        if arguments.to is not None:
            try:
                folder = written.save(arguments.to)
            except FileExistsError as error:
                hint = "remove it, or import to another folder"
                raise ConfigError(
                    Problem("SMT019", str(error.filename), "there is a component already", hint)
                ) from None
            if not arguments.json:
                say(f"  written: {folder / 'defs.yaml'}")
    return int(refused)


def _print(connector: Connector, verdicts: list[Verdict], *, as_json: bool) -> None:
    if as_json:
        for v in verdicts:
            line = {"connector": connector.name, "part": v.part, "type": v.type, "verdict": v.verdict, "what": v.what}
            say(json.dumps(line, ensure_ascii=False))
        return
    state = f", {connector.state.lower()}" if connector.state else ""
    counts = {k: sum(v.verdict == k for v in verdicts) for k in ("exact", "differs", "not supported")}
    say(
        f"{visible(connector.name)}{visible(state)}: "
        + ", ".join(f"{n} {k}" for k, n in counts.items() if n or k == "exact")
    )
    if verdicts:
        rows = [(f"  {v.part}", v.verdict, v.type.rsplit(".", 1)[-1]) for v in verdicts]
        for text, v in zip(grid(rows, 3).split("\n"), verdicts, strict=True):
            say(text)
            if v.what:
                say(f"      {visible(v.what)}")
