"""``dagster-smt``: look at chains, list transforms, run parity cases; nothing needs a Spark session unless asked."""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from dagster_smt.chain import Chain, parse_chain, plan_chain
from dagster_smt.chain.registry import predicates, transforms
from dagster_smt.cli_topics import add_topic_commands
from dagster_smt.errors import ConfigError, Problem, SmtError
from dagster_smt.model.schema import Schema


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code: 0 fine, 1 problems found, 2 wrong usage."""
    arguments = _parser().parse_args(argv)
    try:
        return int(arguments.run(arguments))
    except SmtError as error:
        print(error, file=sys.stderr)
        return 1
    except OSError as error:
        print(f"{error.filename or ''}: {error.strerror}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="dagster-smt", description="Kafka Connect transforms on Spark and Dagster.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    lint = commands.add_parser("lint", help="find every problem of chain files")
    lint.add_argument("chain", nargs="+", type=Path, help=".properties, .yaml or .json")
    lint.add_argument("--unknown-options", choices=("error", "warn"), default="error")
    lint.set_defaults(run=_lint)
    explain = commands.add_parser("explain", help="show what a chain makes of a schema, stage by stage")
    explain.add_argument("chain", type=Path)
    explain.add_argument("--schema", help="the value's schema: a DDL string, or a file of Connect schema JSON")
    explain.add_argument("--topic", default="", help="the topic the records come from")
    explain.set_defaults(run=_explain)
    preview = commands.add_parser("preview", help="show records before and after each stage")
    preview.add_argument("chain", type=Path)
    preview.add_argument("records", type=Path, help="a file of JSON lines, one value each")
    preview.add_argument("--schema", help="as for explain")
    preview.add_argument("--topic", default="preview")
    preview.add_argument("--limit", type=int, default=3, help="how many records (default 3)")
    preview.set_defaults(run=_preview)
    listed = commands.add_parser("list", help="list transforms and predicates with their options")
    listed.set_defaults(run=_list)
    _add_parity(commands)
    add_topic_commands(commands)
    return parser


def _add_parity(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parity = commands.add_parser("parity", help="run cases recorded from Kafka Connect")
    parity.add_argument("files", nargs="+", type=Path, help="files in the format of tests/parity/README.md")
    parity.add_argument("--spark", action="store_true", help="run on Spark: with-schema records on the Spark evaluator")
    parity.add_argument("--report", choices=("table", "json"), default="table")
    parity.set_defaults(run=_parity)


def _lint(arguments: argparse.Namespace) -> int:
    failed = False
    for path in arguments.chain:
        try:
            chain = parse_chain(path, unknown_options=arguments.unknown_options)
        except ConfigError as error:
            failed = True
            print(error)
            continue
        print(f"{path}: {len(chain.stages)} stages, no problems")
        for warning in chain.warnings:
            print(f"warning {warning}")
    return int(failed)


def read_schema(text: str | None) -> Schema | None:
    """A schema from a DDL string, or from the path of a file of Connect schema JSON."""
    if not text:
        return None
    path = Path(text)
    if path.suffix == ".json":
        from dagster_smt.interpret.codec import resolve_defaults
        from dagster_smt.model.format import Format
        from dagster_smt.model.schema_json import schema_from_json

        try:
            data = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise ConfigError(Problem("SMT003", path.name, f"the file is no valid json: {error}")) from error
        return resolve_defaults(schema_from_json(data, place=path.name), Format())
    from dagster_smt.tables.ddl import parse_ddl

    return parse_ddl(text)


def _explain(arguments: argparse.Namespace) -> int:
    chain, schema = parse_chain(arguments.chain), read_schema(arguments.schema)
    topics = (arguments.topic,) if arguments.topic else ()
    print(plan_chain(chain, None, schema, topics=topics, typed=schema is not None).explain())
    return 0


def _preview(arguments: argparse.Namespace) -> int:
    from dagster_smt.interpret.preview import preview

    chain: Chain = parse_chain(arguments.chain)
    lines = [line for line in arguments.records.read_bytes().splitlines() if line.strip()][: arguments.limit]
    for text in preview(chain, lines, read_schema(arguments.schema), arguments.topic):
        print(text)
    return 0


def _list(arguments: argparse.Namespace) -> int:
    for kind, classes in (("transforms", transforms()), ("predicates", predicates())):
        print(kind)
        for cls in classes.values():
            sides = "$Key, $Value" if getattr(cls, "sided", False) else ""
            print(f"  {cls.__name__:20} {sides:12} {(cls.__doc__ or '').splitlines()[0]}")
            for name, field in cls.model_fields.items():
                print(f"    {field.alias or name:28} {field.description}")
    return 0


def _parity(arguments: argparse.Namespace) -> int:
    from dagster_smt.parity.runner import on_python, run_files

    evaluate = on_python
    if arguments.spark:
        from dagster_smt.parity.on_spark import on_spark

        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # Spark's workers need this environment

        evaluate = on_spark
    try:
        report = run_files(arguments.files, evaluate)
    except (msgspec.DecodeError, KeyError) as error:
        raise ConfigError(Problem("SMT003", "", f"a line of the files is no parity case: {error}")) from error
    if arguments.report == "json":
        print(json.dumps(report.to_json(), ensure_ascii=False))
    else:
        from dagster_smt.parity.table import report_table

        print(report_table(report))
    return int(report.count("different") > 0)


if __name__ == "__main__":
    sys.exit(main())
