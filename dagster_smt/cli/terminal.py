"""What the command line prints: names of topics and fields may hold escapes, which terminals obey."""

import sys
from typing import TextIO

from dagster_smt.visible import visible


def say(text: str = "", file: TextIO | None = None) -> None:
    """Print a text, its lines as they are, and everything in them that does not print as an escape."""
    print(shown(text), file=file or sys.stdout)


def shown(text: str) -> str:
    """The lines of a text with escapes for what does not print."""
    return "\n".join(map(visible, text.split("\n")))
