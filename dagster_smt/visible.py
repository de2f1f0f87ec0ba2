"""Names and texts from outside, on one line: for messages, logs and terminals."""

import json
import re
import unicodedata

_PARTITION = re.compile(r"([^/=]+=)[^/]+(?=/)")
"""A folder of a partition, such as ``mail=anna@example.org/``."""


def visible(text: str) -> str:
    r"""Returns the text with an escape for each character that does not print.

    Line breaks, the escapes of terminals, marks that change the direction of writing and halves of characters could
    forge lines or hide text. JSON's escapes replace them, such as ``\n`` and ``\u001b``.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(char if _is_visible(char) else json.dumps(char)[1:-1] for char in text)


def _is_visible(char: str) -> bool:
    return char.isprintable() or unicodedata.category(char) == "Zs"


def without_partitions(path: str) -> str:
    """Returns a path without the values in the names of its folders: ``day=…/part-0.parquet``.

    Tables that are partitioned by a column have the values of the column there.
    """
    return _PARTITION.sub(r"\1…", path)
