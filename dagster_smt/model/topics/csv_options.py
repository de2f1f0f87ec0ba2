"""The options of ``csv``, as Flink names them: what they may be, and what they stand for."""

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
"""Options of Flink's ``csv`` that are done here."""
_CHARACTERS = CSV_OPTIONS[0], CSV_OPTIONS[1], CSV_OPTIONS[3]
_ESCAPES = {"\\t": "\t", "\\b": "\b", "\\f": "\f", "\\\\": "\\", '\\"': '"', "\\'": "'"}
_UNICODE = re.compile(r"\\u+([0-9a-fA-F]{4})")


def character(text: str) -> str:
    """What an option stands for: Flink's documentation writes a tab as ``\\t``, and other characters as ``\\u0001``."""
    code = _UNICODE.fullmatch(text)
    if code:
        return chr(int(code[1], 16))
    return _ESCAPES.get(text, text)


def quotes(settings: Mapping[str, str]) -> bool:
    """Whether cells may stand in quotes."""
    return settings.get("disable-quote-character", "false").lower() != "true"


def dialect(settings: Mapping[str, str]) -> dict[str, Any]:
    """What Python's ``csv`` calls the options."""
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
    """What stands between the elements of an array."""
    return settings.get("array-element-delimiter", ";")


def csv_problems(settings: Mapping[str, str]) -> Iterator[Problem]:
    """What is wrong with the options of a format: each would fail with the first record otherwise."""
    for name in _CHARACTERS:
        found = character(settings.get(name, "-"))
        if len(found) != 1 or found in "\r\n\0" or "\ud800" <= found <= "\udfff":
            hint = "use one character that ends no line; a tab is \\t, others are \\u0001 and so on"
            yield Problem("SMT272", f"csv.{name}", "is not one character that can stand between or around cells", hint)
            return
    if settings.get("disable-quote-character", "true").lower() not in ("true", "false"):
        yield Problem("SMT272", "csv.disable-quote-character", "is neither true nor false", "use one of them")
    if not element_delimiter(settings):
        hint = "use at least one character"
        yield Problem("SMT272", "csv.array-element-delimiter", "is empty", hint)
    style = dialect(settings)
    special = [style[name] for name in ("delimiter", "quotechar", "escapechar") if style[name] is not None]
    if len(set(special)) < len(special):
        hint = "choose another character for one of them"
        yield Problem("SMT272", "csv", "two of delimiter, quote and escape are the same character", hint)
    null = settings.get("null-literal", "")
    if style["quotechar"] is None and set(null) & {*special, "\r", "\n"}:
        hint = "choose another word for null, or allow quotes"
        statement = "cannot be written without quotes: it holds a character that ends cells or lines"
        yield Problem("SMT272", "csv.null-literal", statement, hint)


def csv_misfits(schema: Schema) -> list[str]:
    """The fields of a struct that no column of CSV can hold."""
    found = []
    for name, child in schema.fields:
        inner = child.values if child.type is Type.ARRAY else child
        if inner is None or inner.type in (Type.STRUCT, Type.MAP, Type.ARRAY):
            found.append(name)
    return found
