"""Parses arguments that several commands use."""

import argparse
from pathlib import Path


def count(text: str) -> int:
    """Parses the argument ``text`` as a number of records, which must be at least one."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError("a number from 1 on")
    return int(text)


def count_or_zero(text: str) -> int:
    """Parses the argument ``text`` as a number of records to read. Unlike ``count``, accepts 0, which means that no
    record is read.
    """
    if not text.isdecimal():
        raise argparse.ArgumentTypeError("a number")
    return int(text)


def add_policy(parser: argparse.ArgumentParser) -> None:
    """Adds the argument ``--policy`` to ``parser``. The argument names a policy file, whose stages run before the
    stages of the chain.
    """
    parser.add_argument(
        "--policy", type=Path, metavar="FILE", help="a policy file: its stages come first (docs: Policy by tag)"
    )


def add_jars(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments about jars to ``parser``, such as ``--smt-jars``. The jars contain classes of transforms."""
    parser.add_argument(
        "--smt-jars",
        action="append",
        default=[],
        metavar="JAR",
        help="a jar, a folder of jars as in plugin.path, or Maven coordinates (group:artifact:version), for classes "
        "that this package does not have; may be repeated",
    )
    parser.add_argument("--connect-version", default="", help="the version of Kafka Connect that runs them")
