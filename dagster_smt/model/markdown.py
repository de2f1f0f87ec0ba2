"""Texts in Markdown."""

import re


def code(text: str) -> str:
    """A text as code, whatever backticks it has."""
    runs = [len(run) for run in re.findall("`+", text)]
    ticks, pad = "`" * next(n for n in range(1, len(text) + 2) if n not in runs), " " if runs else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"
