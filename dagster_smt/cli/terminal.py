"""Safe output on a terminal: names of topics and fields may contain escapes, which terminals execute."""

import sys
from typing import TextIO

from dagster_smt.visible import visible


def say(text: str = "", file: TextIO | None = None) -> None:
    """Prints a text with its lines, and an escape for each character that does not print."""
    print(shown(text), file=file or sys.stdout)


def shown(text: str) -> str:
    """Returns the lines of a text, with an escape for each character that does not print."""
    return "\n".join(map(visible, text.split("\n")))
