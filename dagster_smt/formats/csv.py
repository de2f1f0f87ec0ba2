"""Reads and writes CSV. A record is one line that contains the columns of the schema, in their order."""

import base64
import csv
import io
import re
from collections.abc import Callable
from typing import Any

from dagster_smt.errors import DATA_EXCEPTION, DataError, data_error
from dagster_smt.formats.database_texts import null_or, text_reader
from dagster_smt.formats.primitives import Decode, Encode
from dagster_smt.model.java_text import trim
from dagster_smt.model.schema import FLOATS, Schema, Type
from dagster_smt.model.topics.csv_options import dialect, element_delimiter
from dagster_smt.model.topics.format import Format
from dagster_smt.values.numbers import decimal_text, float_text
from dagster_smt.values.times.moment_texts import clock_text, moment_text

csv.field_size_limit(2**31 - 1)  # Python's limit of 131,072 characters protects against unclosed quotes in files
_LETTERS = {"n": "\n", "r": "\r", "t": "\t"}
_END = "\r\n"
"""The line end that Python's CSV writer adds to each line. The writer therefore quotes strings that contain a carriage
return or a line feed. A record is a line without this line end.
"""


def csv_codec(form: Format) -> tuple[Decode, Encode]:
    """Returns two functions: one reads and one writes lines of CSV. ``form`` has the options of Flink's format
    ``csv``.
    """
    options = form.settings
    null, style = options.get("null-literal"), dialect(options)
    fields = []
    for name, child in form.schema.fields if form.schema else ():
        fields.append((name, child, _cell_reader(child, form, name, options)))

    def decode(data: bytes) -> dict[str, Any]:
        cells = _cells(data, style)
        if len(cells) != len(fields):
            raise data_error("SMT416", f"the line has {len(cells)} columns, but {len(fields)} are declared")
        pairs = zip(fields, cells, strict=True)
        results = {}
        for (name, child, read), cell in pairs:
            results[name] = null_or(None if cell == null else cell, child, name, read)
        return results

    return decode, _LineWriter(options).line


def _cells(data: bytes, style: dict[str, Any]) -> list[str]:
    try:
        text = data.decode()
        if style["escapechar"] is not None:
            text = _unescaped(text, style["escapechar"])
        # without ``strict``, Python reads the broken cell ``"a"b`` as ``ab``
        rows = list(csv.reader(io.StringIO(text, newline=""), **style, strict=True))
    except (UnicodeDecodeError, csv.Error):
        raise data_error("SMT416", "the text is not a line of CSV") from None
    if len(rows) != 1:
        raise data_error("SMT416", f"the text is {len(rows)} lines of CSV, but a record is one line")
    return rows[0]


def _unescaped(text: str, escape: str) -> str:
    """Replaces the letter after each escape character ``escape`` in ``text``, as Flink does: ``n`` becomes a line feed,
    ``r`` a carriage return, and ``t`` a tab. The escape character stays; the CSV reader removes it later.
    """
    return re.sub(
        f"{re.escape(escape)}(.)", lambda match: escape + _LETTERS.get(match[1], match[1]), text, flags=re.DOTALL
    )


def _cell_reader(schema: Schema, form: Format, name: str, options: dict[str, str]) -> Callable[[str], Any]:
    if schema.type is Type.ARRAY and schema.values is not None:
        return _array_reader(schema.values, form, name, options)
    if schema.type is Type.STRING and schema.logical is None:
        return str
    # spaces belong to a string, but not to a number or date
    read = text_reader(schema, form, name)
    return lambda text: read(trim(text))


def _array_reader(schema: Schema, form: Format, name: str, options: dict[str, str]) -> Callable[[str], Any]:
    item, mark, null = (
        _cell_reader(schema, form, name, options),
        element_delimiter(options),
        options.get("null-literal"),
    )

    def read(text: str) -> list[Any]:
        parts = text.split(mark) if text else []
        results = []
        for part in parts:
            results.append(null_or(None if part == null else part, schema, f"{name}[]", item))
        return results

    return read


class _LineWriter:
    """A writer that converts structs to lines of CSV."""

    def __init__(self, options: dict[str, str]):
        self.style, self.mark, self.null = dialect(options), element_delimiter(options), options.get("null-literal", "")

    def line(self, schema: Schema | None, value: Any) -> bytes:
        """Returns the struct ``value`` as a line of CSV. ``schema`` is the schema of the struct."""
        if schema is None or schema.type is not Type.STRUCT:
            hint = "declare columns, or choose another format"
            raise data_error("SMT440", "CSV needs structs with a schema", hint, DATA_EXCEPTION)
        cells = [self._cell(child, value.get(name), name) for name, child in schema.fields]
        text = io.StringIO()
        try:
            # the writer raises an error if a special character would need a quote or an escape that the options forbid
            csv.writer(text, **self.style).writerow(cells)
        except csv.Error:
            hint = "allow quotes, or set csv.escape-character"
            statement = (
                "a text contains a character that ends cells or lines, and the format has neither quotes nor escapes"
            )
            raise data_error("SMT440", statement, hint, DATA_EXCEPTION) from None
        return text.getvalue().removesuffix(_END).encode()

    def _cell(self, schema: Schema, value: Any, name: str) -> str:
        if value is None:
            return self.null
        if schema.type is Type.ARRAY and schema.values is not None:
            return self.mark.join(self._elements(schema.values, value, name))
        return _cell(schema, value, name)

    def _elements(self, schema: Schema, values: Any, name: str) -> list[str]:
        elements = []
        for value in values:
            elements.append(self.null if value is None else _cell(schema, value, name))
        if any(self.mark in text for text in elements):
            hint = "set csv.array-element-delimiter to a text that no element contains"
            statement = f"an element of '{name}' contains the delimiter of elements"
            raise data_error("SMT440", statement, hint, DATA_EXCEPTION)
        if elements in ([""], [self.null]):
            hint = "choose another format"
            statement = f"the one element of '{name}' would be read as a null array, or as an empty array"
            raise data_error("SMT440", statement, hint, DATA_EXCEPTION)
        return elements


def _cell(schema: Schema, value: Any, name: str) -> str:
    if schema.type in (Type.STRUCT, Type.MAP, Type.ARRAY):
        raise _container(schema, name)
    if schema.logical in ("Timestamp", "Date"):
        return moment_text(int(value), day=schema.logical == "Date", zoned=schema.zoned)
    if schema.logical == "Time":
        return clock_text(int(value))
    if schema.logical == "Decimal":
        return decimal_text(value)
    if schema.type is Type.BYTES:
        return base64.b64encode(value).decode()
    if schema.type is Type.BOOLEAN:
        if value:
            return "true"
        return "false"
    if schema.type in FLOATS:
        return float_text(value, schema.type is Type.FLOAT32)
    if schema.type is Type.STRING:
        return value
    return str(int(value))


def _container(schema: Schema, name: str) -> DataError:
    hint = "flatten the field with Flatten, or choose another format"
    statement = f"field '{name}' is a {schema.type.value}, which a column of CSV cannot hold"
    return data_error("SMT440", statement, hint, DATA_EXCEPTION)
