"""Builds the column ``__changes``, which contains the changes that foreign stages have made. Each value is either a
text that describes the changes, or a marker that refers to such a text.

Most records of a batch have the same changes, and the text is often longer than the record. So for each text,
only the first record of the batch gets the text itself. Later records with the same changes get the marker of the text:
``#`` and hex digits.
"""

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

MARK = "#"


def mark_of(text: str) -> str:
    """Returns the marker of ``text``. If the text is empty because there are no changes, the marker is also empty."""
    if not text:
        return ""
    return f"{MARK}{zlib.crc32(text.encode()):08x}{len(text):x}"


def of_texts(texts: Sequence[str]) -> pa.Array:
    """Returns the column ``__changes`` of a batch, given ``texts``, a text for each record."""
    numbers = {text: number for number, text in enumerate(dict.fromkeys(texts))}
    return of_numbers(np.array([numbers[text] for text in texts], np.int32), list(numbers))


def of_numbers(numbers: Any, texts: Sequence[str]) -> pa.Array:
    """Returns the column ``__changes`` of a batch. ``numbers`` contains, for each record, the position of its text in
    ``texts``.
    """
    marks = [mark_of(text) for text in texts]
    present, first = np.unique(numbers, return_index=True)
    indices = np.array(numbers, np.int32)
    indices[first] = present + len(marks)
    return pa.DictionaryArray.from_arrays(
        pa.array(indices), pa.array([*marks, *texts], pa.string())
    ).dictionary_decode()
