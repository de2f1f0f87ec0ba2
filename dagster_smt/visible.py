"""Makes names and strings from outside the package printable on one line, for messages, logs and terminals."""

import json
import re
import unicodedata

_PARTITION = re.compile(r"([^/=]+=)[^/]+(?=/)")
"""Matches a folder name of a partitioned table, such as ``mail=anna@example.org/``."""


def visible(text: str) -> str:
    r"""Returns ``text`` with an escape in place of each character that is not printable.

    Line breaks, terminal escapes, direction marks and surrogate halves could forge lines or hide text. The escapes are
    written as in JSON, such as ``\n`` and ``\u001b``.
    """
    if text.isascii() and text.isprintable():
        return text
    # `json.dumps` puts quotes around the escape, and the slice removes them
    return "".join(char if _is_visible(char) else json.dumps(char)[1:-1] for char in text)


def _is_visible(char: str) -> bool:
    # `isprintable` is False for all spaces except U+0020, but a space such as U+00A0 is harmless
    return char.isprintable() or unicodedata.category(char) == "Zs"


def without_partitions(path: str) -> str:
    """Returns ``path`` with ``…`` in place of the values in its folder names, such as ``day=…/part-0.parquet``.

    If a table is partitioned by a column, its folder names contain the values of the column.
    """
    return _PARTITION.sub(r"\1…", path)
