"""Implements the command ``preview``, which shows records before and after each stage, with the changes highlighted."""

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.text import Text

from dagster_smt.chain import Chain, parse_chain
from dagster_smt.cli.arguments import add_jars, add_policy, count
from dagster_smt.cli.schema_arguments import planned, policy_on, read_schema, read_table
from dagster_smt.cli.terminal import shown
from dagster_smt.connect.connectors import names_in
from dagster_smt.foreign.check import check_options
from dagster_smt.interpret.keyed_rows import table_changes
from dagster_smt.interpret.leaves import Number, leaves
from dagster_smt.interpret.preview import Previewed, RecordSnapshot, Sample, StageResult, preview, previewed_records
from dagster_smt.model.reports.run_report import sum_of_keys
from dagster_smt.model.topics.format import Format
from dagster_smt.model.topics.keyed import DELETES, RECORD_KEY, KeyedRows
from dagster_smt.tables.keyed.keys import key_columns
from dagster_smt.tables.planning import keeping_key
from dagster_smt.tables.sink_options import DeltaSink, TableSink
from dagster_smt.tables.topic_table import FileTopics, TopicTable
from dagster_smt.visible import visible

_WIDTH = 20
_KEYS = ("string", "json", "bytes", "envelope")


def add_commands(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the command ``preview``."""
    parser = commands.add_parser("preview", help="show records before and after each stage")
    parser.add_argument("chain", type=Path)
    parser.add_argument("records", help="a file of JSON lines, a folder of file topics, or a broker as host:port")
    parser.add_argument("--schema", help="as for explain")
    parser.add_argument("--table", type=Path, metavar="FILE", help="as for explain")
    parser.add_argument("--key", choices=_KEYS, default="string", help="how keys are encoded")
    parser.add_argument("--topic", default="", help="the topic to read; for a file, a name for its records (preview)")
    parser.add_argument("--offset", type=int, help="from this offset on (default: the last records)")
    parser.add_argument("--records", dest="whole", action="store_true", help="lines of a file are records, not values")
    parser.add_argument("--limit", type=count, default=3, help="how many records (default 3)")
    parser.add_argument("--command-config", type=Path, metavar="FILE", help="properties of Kafka's clients")
    _add_table_options(parser)
    add_policy(parser)
    add_jars(parser)
    parser.set_defaults(run=_preview)


def _add_table_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of a table with keys to ``parser``. These options have the same names as in a sink."""
    group = parser.add_argument_group(
        "a table with keys", "what each record does to its row (docs: The row as it is now)"
    )
    group.add_argument("--mode", choices=("upsert", "scd2"), default="append", help="the mode of the table")
    group.add_argument("--keys", type=_names, metavar="COLUMNS", help="its key columns (default: the record's key)")
    group.add_argument("--deletes", choices=DELETES, default="apply", help="what deletions do (default apply)")
    group.add_argument("--sequence-by", default="", metavar="COLUMN", help="the column that orders the events of a key")
    group.add_argument(
        "--track", type=_names, default=(), metavar="COLUMNS", help="of scd2: columns that make versions"
    )
    group.add_argument("--value", choices=("json", "envelope"), default="json", help="how values are encoded")


def _names(text: str) -> tuple[str, ...]:
    return tuple(names_in(text))


def _table_of(arguments: argparse.Namespace) -> TableSink:
    """Returns a sink with the table options of the command. Its location is never used.

    Raises:
        ConfigError: SMT700, options that do not fit together.
    """
    keys = RECORD_KEY if arguments.keys is None else arguments.keys
    deletes, sequence_by, track = arguments.deletes, arguments.sequence_by, arguments.track
    options = {"mode": arguments.mode, "keys": keys, "deletes": deletes, "sequence_by": sequence_by, "track": track}
    return DeltaSink("preview", "columns", **options)


def _preview(arguments: argparse.Namespace) -> int:
    from dagster_smt.cli.record_arguments import records_of

    chain = parse_chain(arguments.chain, smt_jars=arguments.smt_jars, connect_version=arguments.connect_version)
    check_options(chain)
    chain = replace(chain, dead_paths="warn")  # the command shows dead paths as warnings
    schema = read_schema(arguments.schema)
    samples = records_of(arguments, arguments.limit, "preview", arguments.offset)
    console = Console(highlight=False, soft_wrap=True)
    value = Format("json_schema", schema) if schema is not None else Format(arguments.value)
    key, table = Format(arguments.key), read_table(arguments.table, arguments.schema)
    policy = policy_on(arguments.policy, schema, table, arguments.topic)
    chain = policy.on(chain) if policy is not None else chain
    if table is not None:
        key, value = table.key, table.value
    sink = _table_of(arguments)
    keyed = sink.keyed
    if keyed is not None:
        topics = table or TopicTable(FileTopics(Path()), (arguments.topic or "preview",), key=key, value=value)
        chain = keeping_key(chain, topics, sink)
    plan = planned(chain, schema, table)
    if keyed is not None and plan.typed:
        key_columns(plan, keyed)
    for warning in plan.warnings:
        console.print(Text(shown(f"warning {warning}"), style="yellow"))
    if keyed is not None:
        return _preview_keyed(console, list(previewed_records(plan.chain, samples, key, value)), keyed, plan.chain)
    failed = False
    for sample, steps in preview(plan.chain, samples, key, value):
        failed |= any(step.failed for step in steps)
        for line in lines_of(sample, steps):
            console.print(line)
    return int(failed)


def _preview_keyed(console: Console, records: Sequence[Previewed], keyed: KeyedRows, chain: Chain) -> int:
    """Prints ``records``, each with its effect on a table with keys (a table with one row per key), such as an update.
    Returns the exit code.
    """
    effects = table_changes(records, keyed, keeps_key=chain.keeps_key)
    failed = False
    for record, change in zip(records, effects.changes, strict=True):
        is_refused = change.action == "refused"
        failed |= is_refused
        for line in lines_of(record.sample, record.steps):
            console.print(line)
        console.print(_line(f"  {'table':{_WIDTH}} ").append_text(_line(change.text, "red" if is_refused else "bold")))
    console.print(
        _line(
            f"one run over these records, one change for each key: {sum_of_keys(effects.counts.values()).text}", "bold"
        )
    )
    console.print(_line("as if the table were empty: preview does not look at its rows", "dim"))
    return int(failed)


def lines_of(sample: Sample, steps: list[StageResult]) -> Iterator[Text]:
    """Yields the lines about one record: the whole record before and after the chain, and the changes in each of
    ``steps``.
    """
    yield _line(sample.place, style="bold")
    before: RecordSnapshot | None = None
    for step in steps:
        head = f"  {step.stage:{_WIDTH}} "
        if step.record is None:
            note = step.note if step.failed else f"({step.note})"
            yield _line(head).append_text(_line(note, style="red" if step.failed else "dim"))
            # a skipped stage leaves the record as it was; after a drop or a failure, there is no record
            before = before if step.is_skip else None
            continue
        body = list(_whole(step.record) if before is None else _changes(before, step.record))
        for number, line in enumerate(body or [_line("(no change)", style="dim")]):
            yield _line(head if number == 0 else " " * len(head)).append_text(line)
        before = step.record
    if before is not None and len(steps) > 1:
        for number, line in enumerate(_whole(before)):
            yield _line(f"  {'output' if number == 0 else '':{_WIDTH}} ").append_text(line)


def _line(text: str, style: str = "") -> Text:
    """Returns ``text`` as one line for the terminal, with the style ``style``. Special characters are escaped, because
    the text may come from a record.
    """
    return Text(visible(text), style=style)


def _whole(record: RecordSnapshot) -> Iterator[Text]:
    yield _line(f"topic   {record.topic}")
    if record.key is not None:
        yield _line(f"key     {record.key}")
    for name, value in record.headers:
        yield _line(f"header  {name} = {'null' if value is None else value}")
    yield _line(f"value   {'null' if record.value is None else record.value}")


def _changes(before: RecordSnapshot, after: RecordSnapshot) -> Iterator[Text]:
    """Yields the lines about parts that are new (green), dropped (red) or changed (yellow) between ``before`` and
    ``after``.
    """
    old, new = _texts(before), _texts(after)
    for path in [*old, *(p for p in new if p not in old)]:
        if path not in new:
            yield _line(f"- {path}  {old[path]}", style="red")
        elif path not in old:
            yield _line(f"+ {path}  {new[path]}", style="green")
        elif old[path] != new[path]:
            yield _line(f"~ {path}  {old[path]} → {new[path]}", style="yellow")


def _texts(record: RecordSnapshot) -> dict[str, str]:
    """Maps the path of each part of ``record`` to the part as text, such as ``{"value.id": "7"}``. Strings in keys and
    values are quoted as in JSON. Topic and headers are not quoted.
    """
    plain = ("topic", "header[")
    texts = {}
    for path, value in leaves(record).items():
        texts[path] = _shown(value, quoted=not path.startswith(plain))
    return texts


def _shown(value: object, *, quoted: bool) -> str:
    if isinstance(value, Number) or (isinstance(value, str) and not quoted):
        return str(value)
    return json.dumps(value, ensure_ascii=False)
