"""Parses arguments that several commands use."""

import argparse
from pathlib import Path

from dagster_smt.errors import ConfigError, Problem


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


def file_text(path: Path) -> str:
    """Returns the text of the file ``path``.

    Raises:
        ConfigError: SMT002, the file is not UTF-8 text.
    """
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ConfigError(
            Problem("SMT002", path.name, "the file is not UTF-8 text", "save the file as UTF-8")
        ) from None


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
