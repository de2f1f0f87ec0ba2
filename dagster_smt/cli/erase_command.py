"""Implements the command ``erase``, which erases people from the tables of a code location without a Dagster launch."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from dagster_smt.cli.terminal import progress, say
from dagster_smt.errors import needs_extras

if TYPE_CHECKING:
    from dagster_smt.tables.erasure.subjects import SubjectSource


def add_commands(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the command ``erase``."""
    parser = commands.add_parser("erase", help="erase people from the tables, dead letters and topics of definitions")
    parser.add_argument("definitions", help="a module (my_location.definitions), a module and a name, or a Python file")
    parser.add_argument("--file", default="", metavar="FILE", help="a text file with an id on each line; - reads stdin")
    parser.add_argument("--environment", default="", metavar="NAME", help="a variable of the environment with the ids")
    parser.add_argument("--table", default="", metavar="TABLE", help="a table with the ids, by name or by path")
    parser.add_argument("--table-format", choices=("delta", "iceberg", "parquet"), default="delta")
    parser.add_argument("--column", default="", metavar="NAME", help="the column of --table with the ids")
    parser.add_argument(
        "--asset",
        action="append",
        default=[],
        metavar="KEY",
        help="an asset key, such as lake/orders; may be repeated (default: all tables with an erasure)",
    )
    parser.add_argument(
        "--no-writers", action="store_true", help="no run is at work: remove files that no version names at once"
    )
    parser.add_argument("--records", type=Path, metavar="FOLDER", help="write the record there, as JSON and Markdown")
    parser.add_argument("--format", choices=("markdown", "json"), default="markdown", help="the form of the output")
    parser.add_argument("--list", action="store_true", help="only list the tables and their places; change nothing")
    parser.set_defaults(run=_erase)


def _erase(arguments: argparse.Namespace) -> int:
    with needs_extras():
        from dagster_smt.orchestration.erase import ErasableTables, places_of
    if arguments.list:
        for table in ErasableTables(arguments.definitions, arguments.asset).tables:
            say(table.name)
            for place in places_of(table):
                say(f"  {place}")
        return 0
    source = _source(arguments)
    tables = ErasableTables(arguments.definitions, arguments.asset)
    report = tables.erase(source, no_writers=arguments.no_writers, records=arguments.records, log=progress)
    say(report.to_json() if arguments.format == "json" else report.to_markdown().rstrip("\n"))
    return 0 if report.proven else 1


def _source(arguments: argparse.Namespace) -> "SubjectSource":
    """Returns the source of the ids of people to erase. No argument accepts an id, because the process list shows
    arguments.
    """
    from dagster_smt.tables.erasure.subjects import SubjectSource
    from dagster_smt.tables.topic_table import TableSource

    file = "/dev/stdin" if arguments.file == "-" else arguments.file
    if not arguments.table:
        return SubjectSource(file, arguments.environment, column=arguments.column)
    if "/" in arguments.table:
        table = TableSource(path=arguments.table, format=arguments.table_format)
    else:
        table = TableSource(arguments.table)
    return SubjectSource(file, arguments.environment, table, arguments.column)
