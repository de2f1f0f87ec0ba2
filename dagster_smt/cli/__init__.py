"""Implements the program ``dagster-smt``, with commands for chains, records, topics and parity cases (recorded results
of Kafka Connect).

Only ``parity --spark``, ``takeover``, ``shadow`` and ``erase`` need Spark; ``certify`` uses Spark if it is installed.
"""

import argparse
import sys
from collections.abc import Sequence

from dagster_smt.cli import (
    certify_command,
    chain_commands,
    connector_commands,
    erase_command,
    parity,
    preview_command,
    privacy_command,
    scan_command,
    schema_command,
    takeover_commands,
    topic_commands,
)
from dagster_smt.cli.terminal import say
from dagster_smt.errors import SmtError
from dagster_smt.version import __version__


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line ``argv``. Returns the exit code: 0 for success, 1 for problems. The command ``certify``
    returns 2 if it cannot compare. Wrong arguments end the process with 2.
    """
    arguments = argument_parser().parse_args(argv)
    try:
        return int(arguments.run(arguments))
    except SmtError as error:
        say(str(error), sys.stderr)
        return 1
    except OSError as error:
        say(f"{error.filename or ''}: {error.strerror}", sys.stderr)
        return 1


def argument_parser() -> argparse.ArgumentParser:
    """Returns the parser of all commands."""
    parser = argparse.ArgumentParser(prog="dagster-smt", description="Kafka Connect transforms on Spark and Dagster.")
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    rooms = (
        chain_commands,
        connector_commands,
        takeover_commands,
        schema_command,
        preview_command,
        certify_command,
        topic_commands,
        scan_command,
        privacy_command,
        erase_command,
        parity,
    )
    for room in rooms:
        room.add_commands(commands)
    return parser
