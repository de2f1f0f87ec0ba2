"""Escapes names and strings for Markdown, so that they cannot close a code block, or become a link, an image or a
tag.
"""

import re
from collections.abc import Iterable, Sequence

from dagster_smt.visible import visible

_MARKS = re.compile(r"([\\`*_\[\]<>|&~])")
_ADDRESS = re.compile(r"(https?|ftp|mailto|www|@)(?=[:.\w])", re.IGNORECASE)


def code(text: str) -> str:
    """Returns ``text`` as inline code, even if it contains backticks."""
    shown = visible(text)
    runs = _runs(shown)
    # inline code may contain every run of backticks that is longer or shorter than its own delimiters
    ticks = "`" * next(n for n in range(1, len(shown) + 2) if n not in runs)
    # Markdown removes one space at each end; without it, a backtick at the end would join the delimiter
    pad = " " if runs or not shown.strip() else ""
    return f"{ticks}{pad}{shown}{pad}{ticks}"


def plain(text: str) -> str:
    """Returns ``text`` with escapes, so that it can be part of a Markdown sentence.

    An invisible space is inserted into addresses, so that renderers do not turn them into links.
    """
    return _ADDRESS.sub("\\1&#8203;", _MARKS.sub(r"\\\1", visible(text)))


def fenced(lines: Iterable[str], language: str = "text") -> str:
    """Returns ``lines`` as a code block, even if they contain backticks."""
    shown = [visible(line) for line in lines]
    lengths: list[int] = []
    for line in shown:
        lengths.extend(_runs(line))
    fence = "`" * max(3, 1 + max(lengths, default=0))
    return "\n".join([f"{fence}{language}", *shown, fence])


def table(rows: Sequence[Sequence[str]], right: bool = False) -> str:
    """Returns ``rows`` as a Markdown table. The first row is the header.

    Args:
        rows: Cells of Markdown.
        right: True to align the cells to the right.
    """
    head, *body = rows
    marks = []
    for _ in head:
        marks.append("---:" if right else "---")
    lines = []
    for row in (head, marks, *body):
        lines.append("| " + " | ".join(map(cell, row)) + " |")
    return "\n".join(lines)


def cell(markdown: str) -> str:
    """Returns ``markdown`` with escaped vertical bars, for a table cell. An unescaped bar would end the cell, even
    inside code.
    """
    # a bar is unescaped if the number of backslashes before it is even
    return re.sub(r"(?<!\\)((?:\\\\)*)\|", r"\1\\|", markdown).replace("\n", " ")


def _runs(text: str) -> set[int]:
    return set(map(len, re.findall("`+", text)))
