"""Implements the command ``parity``, which runs recorded cases in this package and compares the results with Kafka
Connect's.
"""

import argparse
import json
import os
import sys
from pathlib import Path

import msgspec

from dagster_smt.cli.terminal import say
from dagster_smt.errors import ConfigError, Problem


def add_commands(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the command ``parity``."""
    parity = commands.add_parser("parity", help="run cases recorded from Kafka Connect")
    parity.add_argument("files", nargs="+", type=Path, help="files in the format of tests/parity/README.md")
    parity.add_argument("--spark", action="store_true", help="run on Spark: with-schema records on the Spark evaluator")
    parity.add_argument("--report", choices=("table", "json"), default="table")
    parity.set_defaults(run=_parity)


def _parity(arguments: argparse.Namespace) -> int:
    from dagster_smt.tools.parity.runner import on_python, run_files

    evaluate = on_python
    if arguments.spark:
        from dagster_smt.tools.parity.on_spark import on_spark

        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # Spark's workers need this environment

        evaluate = on_spark
    try:
        report = run_files(arguments.files, evaluate)
    except (msgspec.DecodeError, KeyError) as error:
        raise ConfigError(Problem("SMT003", "", f"a line of the files is not a parity case: {error}")) from None
    if arguments.report == "json":
        say(json.dumps(report.to_json(), ensure_ascii=False))
    else:
        from dagster_smt.tools.parity.report_table import report_table

        say(report_table(report))
    return int(report.count("different") > 0)
