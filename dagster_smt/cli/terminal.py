"""Prints text safely on a terminal. Names of topics and fields may contain escape sequences, which a terminal would
execute.
"""

import sys
from typing import TextIO

from dagster_smt.visible import visible


def say(text: str = "", file: TextIO | None = None) -> None:
    """Prints ``text``, with an escape in place of each character that cannot be printed. Line breaks stay."""
    print(shown(text), file=file or sys.stdout)


def shown(text: str) -> str:
    """Returns ``text`` with an escape in place of each character that cannot be printed. Line breaks stay."""
    return "\n".join(map(visible, text.split("\n")))


def progress(line: str) -> None:
    """Prints ``line``, a step of a long command, to standard error. Prints nothing if the line is empty."""
    if line:
        say(f"  {line}", sys.stderr)
