"""Formats rows as aligned text."""

from collections.abc import Sequence

from dagster_smt.visible import visible


def grid(rows: Sequence[Sequence[object]], left: int = 1) -> str:
    """Formats rows as text in columns.

    Args:
        rows: The head and the rows; None is shown as a dash.
        left: The number of columns, from the left, that are aligned to the left. All other columns are aligned to the
            right.
    """
    texts = []
    for row in rows:
        texts.append(list(map(_text, row)))
    widths = []
    for column in zip(*texts, strict=True):
        widths.append(max(map(len, column)))
    lines = []
    for row in texts:
        cells = (t.ljust(w) if n < left else t.rjust(w) for n, (t, w) in enumerate(zip(row, widths, strict=True)))
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def _text(cell: object) -> str:
    return "-" if cell is None else visible(str(cell))
