"""Builds the column ``__changes``, which shows what foreign stages (Java classes from jars) changed in each record. A
value is a text that describes the changes, or a marker: ``#`` and hex digits.

Most records of a batch have the same changes, and the text is often longer than the record. So only the first record
with a text gets the text itself. Later records of the batch with the same text get its marker.
"""

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

MARK = "#"


def mark_of(text: str) -> str:
    """Returns the marker of ``text``: ``#`` and hex digits. If the text is empty because there are no changes, the
    marker is also empty.
    """
    if not text:
        return ""
    # The length makes it still less likely that two texts have the same marker.
    return f"{MARK}{zlib.crc32(text.encode()):08x}{len(text):x}"


def of_texts(texts: Sequence[str]) -> pa.Array:
    """Returns the column ``__changes`` for the records of a batch. ``texts`` has one text per record, which describes
    the record's changes. If several records have the same text, only the first record gets the text. All later records
    get the text's marker: ``#`` and hex digits.
    """
    numbers = {text: number for number, text in enumerate(dict.fromkeys(texts))}
    return of_numbers(np.array([numbers[text] for text in texts], np.int32), list(numbers))


def of_numbers(numbers: Any, texts: Sequence[str]) -> pa.Array:
    """Returns the column ``__changes`` for the records of a batch. The changes of record ``n`` are
    ``texts[numbers[n]]``. If several records have the same text, only the first record gets the text. All later records
    get the text's marker: ``#`` and hex digits.
    """
    marks = [mark_of(text) for text in texts]
    present, first = np.unique(numbers, return_index=True)
    indices = np.array(numbers, np.int32)
    # the dictionary has all markers first and then all texts, in the same order
    indices[first] = present + len(marks)
    return pa.DictionaryArray.from_arrays(
        pa.array(indices), pa.array([*marks, *texts], pa.string())
    ).dictionary_decode()
