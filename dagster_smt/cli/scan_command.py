"""Implements the command ``scan``, which proposes tags for fields, based on sampled records. The command prints counts,
but never a value.
"""

import argparse
from pathlib import Path

from dagster_smt.cli.arguments import count
from dagster_smt.cli.grid import grid
from dagster_smt.cli.schema_arguments import read_table
from dagster_smt.cli.terminal import say
from dagster_smt.errors import ConfigError, Problem
from dagster_smt.model.topics.format import Format
from dagster_smt.privacy.field_paths import name_pattern
from dagster_smt.privacy.field_scan import FieldScan, scan, tags_file
from dagster_smt.privacy.presidio import presidio_finder
from dagster_smt.privacy.tags import read_tags, read_yaml


def add_commands(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the command ``scan``."""
    parser = commands.add_parser("scan", help="propose tags for personal fields, from sampled records")
    parser.add_argument("records", help="a file of JSON lines, a folder of file topics, or a broker as host:port")
    parser.add_argument("--topic", required=True, help="the topic to read; for a file, a name for its records")
    parser.add_argument("--table", type=Path, metavar="FILE", help="a CREATE TABLE statement with the formats")
    parser.add_argument("--key", choices=("string", "json", "bytes"), default="string", help="how keys are encoded")
    parser.add_argument("--records", dest="whole", action="store_true", help="lines of a file are records, not values")
    parser.add_argument("--limit", type=count, default=1000, help="how many records (default 1000)")
    parser.add_argument("--command-config", type=Path, metavar="FILE", help="properties of Kafka's clients")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the tags into a file of paths, or add to it")
    parser.add_argument(
        "--presidio", action="store_true", help="ask Presidio for names of people and places; needs its extra"
    )
    parser.set_defaults(run=_scan)


def _scan(arguments: argparse.Namespace) -> int:
    from dagster_smt.cli.record_arguments import records_of

    more = {"more": presidio_finder()} if arguments.presidio else {}
    topic = arguments.topic
    samples = records_of(arguments, arguments.limit)
    table = read_table(arguments.table, None)
    key, value = (table.key, table.value) if table is not None else (Format(arguments.key), Format())
    fields = scan(samples, key, value, **more)
    if not fields:
        hint = "check the topic, and the formats of its records: --table"
        raise ConfigError(Problem("SMT769", topic, f"{len(samples)} records have no field", hint))
    say(f"{len(samples)} records of {topic}")
    rows = [("field", "values", "which look like", "proposed tags"), *map(_row, fields)]
    say(grid(rows, left=4))
    if arguments.write is not None:
        _write(arguments.write, name_pattern(topic), fields, len(samples))
        say(f"written: {arguments.write}. Read every line before a policy uses the file.")
    return 0


def _row(one: FieldScan) -> tuple[str, str, str, str]:
    counts = []
    for kind, number in sorted(one.kinds.items()):
        counts.append(f"{kind} {number}")
    kinds = ", ".join(counts)
    name = f"{one.part} {one.path or '(whole)'}"
    return name, str(one.values), kinds, ", ".join(one.tags)


def _write(path: Path, topic: str, fields: list[FieldScan], records: int) -> None:
    before = None
    if path.exists():
        read_tags(path)  # raises an error for an invalid file before the command overwrites it
        before = read_yaml(path)
    path.write_text(tags_file(topic, fields, records, before), encoding="utf-8")
