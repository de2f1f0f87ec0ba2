"""The command ``preview``: records before and after each stage."""

import argparse
from pathlib import Path

from dagster_smt.chain import Chain, parse_chain
from dagster_smt.cli.schemas import read_schema


def add_commands(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command."""
    preview = commands.add_parser("preview", help="show records before and after each stage")
    preview.add_argument("chain", type=Path)
    preview.add_argument("records", type=Path, help="a file of JSON lines, one value each")
    preview.add_argument("--schema", help="as for explain")
    preview.add_argument("--topic", default="preview")
    preview.add_argument("--limit", type=int, default=3, help="how many records (default 3)")
    preview.set_defaults(run=_preview)


def _preview(arguments: argparse.Namespace) -> int:
    from dagster_smt.interpret.preview import preview

    chain: Chain = parse_chain(arguments.chain)
    lines = [line for line in arguments.records.read_bytes().splitlines() if line.strip()][: arguments.limit]
    for text in preview(chain, lines, read_schema(arguments.schema), arguments.topic):
        print(text)
    return 0
