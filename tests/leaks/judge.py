"""A judge of leaks: it reads every byte below a folder and searches for known values. It knows nothing of the package.

It looks into Parquet, Avro, SQLite, gzip and zip files, and into Base64, hexadecimal digits and percent escapes.
Blanks, marks and the case of letters do not matter: see ``tests.run.personal``.
"""

import base64
import binascii
import gzip
import html
import io
import json
import re
import sqlite3
import urllib.parse
import zipfile
import zlib
from pathlib import Path

import fastavro
import pyarrow.parquet as pq

from tests.run.personal import survivors

_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{12,}={0,2}")
_HEX = re.compile(r"[0-9a-fA-F]{16,}")
_NUMBERS = re.compile(r"\[(-?\d{1,3}(?:, ?-?\d{1,3}){5,})\]")
_ESCAPES = re.compile(r"\\u([0-9a-fA-F]{4})")
_LINE_ENDS = re.compile(r"\\+[nrtbf]")
_MOST_SHOWN = 8
_PART = 2**22
_ROWS = 500


def leaks(values, folder, skip=()):
    """Returns the files below a folder that hold values, with some of the values.

    The names of files and folders count as texts.

    Args:
        values: The values, without blanks and marks, in small letters; or a pattern that finds all values.
        folder: The folder.
        skip: Folders and files that may hold values.
    """
    skipped = {Path(one).resolve() for one in skip}
    leaking = {}
    for path in sorted(Path(folder).rglob("*")):
        real = path.resolve()
        if real not in skipped and skipped.isdisjoint(real.parents):
            for text in (str(path.relative_to(folder)), *(texts_of(path) if path.is_file() else ())):
                if hits := in_text(values, text):
                    leaking.setdefault(str(path), set()).update(sorted(hits)[:_MOST_SHOWN])
    return leaking


def in_text(values, text):
    """Returns the values in a text, also where they are encoded. A pattern may stand for the values."""
    texts = [text, *decoded(text)]
    if isinstance(values, re.Pattern):
        hits = set()
        for one in texts:
            hits.update(values.findall(one))
        return hits
    return survivors(values, texts)


def decoded(text):
    """Yields what a text says in other words: escapes, Base64, hexadecimal digits, and lists of bytes."""
    if "%" in text:
        yield urllib.parse.unquote(text, errors="replace")
    if "\\u" in text:
        yield _ESCAPES.sub(lambda match: chr(int(match[1], 16)), text).replace("\0", "")
    if "\\" in text:
        yield _LINE_ENDS.sub(" ", text)
    if "&#" in text:
        yield html.unescape(text)
    if "\0" in text:
        yield text.replace("\0", "")  # UTF-16 of Latin letters
    parts = []
    for word in set(_BASE64.findall(text)):
        parts += _of_base64(word.rstrip("=").replace("-", "+").replace("_", "/"))
    for word in set(_HEX.findall(text)):
        for start in (0, 1):  # a digit that does not belong to the word may come before it
            part = word[start:]
            parts.append(bytes.fromhex(part[: len(part) // 2 * 2]).decode("latin-1"))
    for numbers in set(_NUMBERS.findall(text)):
        parts.append("".join(chr(int(number) % 256) for number in numbers.split(",")))
    yield "\n".join(parts)


def _of_base64(word):
    for start in range(min(4, len(word) - 8)):  # a word may begin anywhere in a longer run of letters
        part = word[start:]
        try:
            yield base64.b64decode(part[: len(part) // 4 * 4] + _tail(part)).decode("latin-1")
        except (binascii.Error, ValueError):
            continue


def _tail(word):
    rest = word[len(word) // 4 * 4 :]
    return rest + "=" * (4 - len(rest)) if len(rest) > 1 else ""


def texts_of(path):
    """Yields the texts of a file: its bytes, and its contents if it is packed."""
    data = path.read_bytes()
    start = 0
    while start < len(data):  # a log of Spark has many megabytes; a part ends where a line ends
        end = data.find(b"\n", start + _PART) + 1 or len(data)
        yield data[start:end].decode("latin-1")
        start = end
    yield from _unpacked(data, path)


def _unpacked(data, path):
    if data[:4] == b"PAR1":
        rows = []
        for row in pq.read_table(io.BytesIO(data)).to_pylist():
            rows.append(json.dumps(row, default=_text, ensure_ascii=False))
        for start in range(0, len(rows), _ROWS):
            yield "\n".join(rows[start : start + _ROWS])
    elif data[:4] == b"Obj\x01":
        for row in fastavro.reader(io.BytesIO(data)):
            yield json.dumps(row, default=_text, ensure_ascii=False)
    elif data[:16] == b"SQLite format 3\0":
        yield from _of_database(path)
    elif data[:2] == b"\x1f\x8b":
        yield _tried(gzip.decompress, data)
    elif data[:4] == b"PK\x03\x04":
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for name in archive.namelist():
                yield archive.read(name).decode("latin-1")


def _of_database(path):
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
        names = [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for name in names:
            for row in database.execute(f'SELECT * FROM "{name}"'):
                yield " ".join(map(_text, row))


def _text(value):
    if isinstance(value, bytes):
        packed = _tried(zlib.decompress, value) if value[:1] == b"x" else ""
        return value.decode("latin-1") + packed
    return str(value)


def _tried(unpack, data):
    try:
        return unpack(data).decode("latin-1")
    except (OSError, EOFError, zlib.error):
        return ""
