"""The commands about chains and what they are made of: ``lint``, ``explain``, ``list``."""

import argparse
from pathlib import Path

from dagster_smt.chain import parse_chain, plan_chain
from dagster_smt.chain.registry import predicates, transforms
from dagster_smt.cli.schemas import read_schema
from dagster_smt.errors import ConfigError


def add_commands(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the commands."""
    lint = commands.add_parser("lint", help="find every problem of chain files")
    lint.add_argument("chain", nargs="+", type=Path, help=".properties, .yaml or .json")
    lint.add_argument("--unknown-options", choices=("error", "warn"), default="error")
    lint.set_defaults(run=_lint)
    explain = commands.add_parser("explain", help="show what a chain makes of a schema, stage by stage")
    explain.add_argument("chain", type=Path)
    explain.add_argument("--schema", help="the value's schema: a DDL string, or a file of Connect schema JSON")
    explain.add_argument("--topic", default="", help="the topic the records come from")
    explain.set_defaults(run=_explain)
    listed = commands.add_parser("list", help="list transforms and predicates with their options")
    listed.set_defaults(run=_list)


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


def _explain(arguments: argparse.Namespace) -> int:
    chain, schema = parse_chain(arguments.chain), read_schema(arguments.schema)
    topics = (arguments.topic,) if arguments.topic else ()
    print(plan_chain(chain, None, schema, topics=topics, typed=schema is not None).explain())
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
