"""Checks and interprets the options of the format ``csv``, which have the same names as in Flink."""

import csv
import re
from collections.abc import Iterator, Mapping
from typing import Any

from dagster_smt.errors import Problem
from dagster_smt.model.schema import Schema, Type

CSV_OPTIONS = (
    "field-delimiter",
    "quote-character",
    "disable-quote-character",
    "escape-character",
    "array-element-delimiter",
    "null-literal",
)
"""The names of the options of Flink's ``csv`` that this package supports."""
_CHARACTERS = CSV_OPTIONS[0], CSV_OPTIONS[1], CSV_OPTIONS[3]
_ESCAPES = {"\\t": "\t", "\\b": "\b", "\\f": "\f", "\\\\": "\\", '\\"': '"', "\\'": "'"}
# Java permits several u in one escape
_UNICODE = re.compile(r"\\u+([0-9a-fA-F]{4})")


def character(text: str) -> str:
    """Returns the character that ``text``, the value of an option, specifies.

    Flink's documentation writes a tab as ``\\t``, and other characters as ``\\u0001``.
    """
    code = _UNICODE.fullmatch(text)
    if code:
        return chr(int(code[1], 16))
    return _ESCAPES.get(text, text)


def quotes(settings: Mapping[str, str]) -> bool:
    """Returns True if ``settings``, the options of the format ``csv``, permit cells in quotes, such as ``"a,b"``."""
    return settings.get("disable-quote-character", "false").lower() != "true"


def dialect(settings: Mapping[str, str]) -> dict[str, Any]:
    """Returns the options ``settings`` as arguments for Python's ``csv`` module."""
    escape = settings.get("escape-character")
    quoted = quotes(settings)
    return {
        "delimiter": character(settings.get("field-delimiter", ",")),
        "quotechar": character(settings.get("quote-character", '"')) if quoted else None,
        "escapechar": None if escape is None else character(escape),
        "quoting": csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE,
        "lineterminator": "\r\n",
    }


def element_delimiter(settings: Mapping[str, str]) -> str:
    """Returns the delimiter that ``settings`` specify between two elements of an array."""
    return settings.get("array-element-delimiter", ";")


def csv_problems(settings: Mapping[str, str]) -> Iterator[Problem]:
    """Yields the problems of ``settings``, the options of the format ``csv``. Without this check, a wrong option would
    be noticed only when the first record is read.
    """
    for name in _CHARACTERS:
        char = character(settings.get(name, "-"))
        # half a surrogate pair cannot be written as UTF-8
        if len(char) != 1 or char in "\r\n\0" or "\ud800" <= char <= "\udfff":
            hint = "use one character other than a line end; write a tab as \\t, and any character as \\u0001"
            yield Problem("SMT272", f"csv.{name}", "must be one character between or around cells", hint)
            return
    if settings.get("disable-quote-character", "true").lower() not in ("true", "false"):
        yield Problem("SMT272", "csv.disable-quote-character", "is neither true nor false", "use one of them")
    if not element_delimiter(settings):
        hint = "set at least one character"
        yield Problem("SMT272", "csv.array-element-delimiter", "is empty", hint)
    style = dialect(settings)
    special = []
    for name in ("delimiter", "quotechar", "escapechar"):
        if style[name] is not None:
            special.append(style[name])
    if len(set(special)) < len(special):
        hint = "change one of the two"
        yield Problem("SMT272", "csv", "two of delimiter, quote and escape are the same character", hint)
    null = settings.get("null-literal", "")
    if style["quotechar"] is None and set(null) & {*special, "\r", "\n"}:
        hint = "choose another text for null, or allow quotes"
        statement = "needs quotes: it contains a character that ends cells or lines"
        yield Problem("SMT272", "csv.null-literal", statement, hint)


def csv_misfits(schema: Schema) -> list[str]:
    """Returns the names of the fields of the struct ``schema`` that CSV cannot express."""
    misfits = []
    for name, child in schema.fields:
        inner = child.values if child.type is Type.ARRAY else child
        if inner is None or inner.type in (Type.STRUCT, Type.MAP, Type.ARRAY):
            misfits.append(name)
    return misfits
