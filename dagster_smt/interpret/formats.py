"""Formats that are no JSON: single values as Kafka's serializers write them, and lines of CSV."""

import base64
import csv
import io
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from dagster_smt.errors import DATA_EXCEPTION, DataError, data_error
from dagster_smt.interpret.binary import number_codec, read_boolean, write_boolean
from dagster_smt.interpret.codec import writer
from dagster_smt.interpret.texts import moment_text, null_or, text_reader
from dagster_smt.model.format import Format
from dagster_smt.model.primitives import PRIMITIVES
from dagster_smt.model.schema import FLOATS, INTEGERS, Schema, Type

Decode = Callable[[bytes], Any]
Encode = Callable[[Schema | None, Any], bytes]


def primitive_codec(form: Format) -> tuple[Decode, Encode]:
    """``ShortConverter`` and its like: big-endian, exactly the type's length; a value of another type is refused."""
    kind = PRIMITIVES[form.kind]
    read, write = (read_boolean, write_boolean) if kind is Type.BOOLEAN else number_codec(form.kind)

    def decode(data: bytes) -> Any:
        try:
            return read(data)
        except ValueError as error:
            raise data_error("SMT416", str(error)) from None

    def encode(schema: Schema | None, value: Any) -> bytes:
        fitting = _fitting(value, kind, form)
        try:
            return write(fitting)
        except ValueError:
            raise _unfitting(form) from None

    return decode, encode


def _fitting(value: Any, kind: Type, form: Format) -> Any:
    """A value that a converter takes; Connect's raises ``DataException`` for others."""
    fits = type(value) is bool if kind is Type.BOOLEAN else isinstance(value, int) and type(value) is not bool
    if kind in FLOATS:
        fits = isinstance(value, float)
    if kind in INTEGERS and fits:
        bits = {Type.INT16: 16, Type.INT32: 32, Type.INT64: 64}[kind]
        fits = -(1 << bits - 1) <= value < 1 << bits - 1
    if not fits:
        raise _unfitting(form)
    return value


def _unfitting(form: Format) -> DataError:
    hint = f"cast it with Cast, or choose another format than {form.kind}"
    return data_error("SMT440", f"the value is no {form.kind}", hint, DATA_EXCEPTION)


def csv_codec(form: Format) -> tuple[Decode, Encode]:
    """Lines of CSV with the columns of the schema in order; options as Flink's ``csv`` names them."""
    options = form.settings
    null = options.get("null-literal")
    exact = replace(form, decimal_format="NUMERIC")
    fields = [
        (name, child, _cell_reader(child, exact, name, options))
        for name, child in (form.schema.fields if form.schema else ())
    ]

    def decode(data: bytes) -> dict[str, Any]:
        cells = _cells(data, options)
        if len(cells) != len(fields):
            raise data_error("SMT416", f"the line has {len(cells)} columns, {len(fields)} are declared")
        pairs = zip(fields, cells, strict=True)
        return {name: null_or(None if cell == null else cell, child, name, read) for (name, child, read), cell in pairs}

    return decode, lambda schema, value: _line(schema, value, exact, options)


def _cells(data: bytes, options: dict[str, str]) -> list[str]:
    try:
        rows = list(csv.reader(io.StringIO(data.decode(), newline=""), **_dialect(options), strict=True))
    except (UnicodeDecodeError, csv.Error):
        raise data_error("SMT416", "the text is no line of CSV") from None
    if len(rows) != 1:
        raise data_error("SMT416", f"the text is {len(rows)} lines of CSV, one is expected")
    return rows[0]


def _dialect(options: dict[str, str]) -> dict[str, Any]:
    quoted = options.get("disable-quote-character", "false").lower() != "true"
    return {
        "delimiter": options.get("field-delimiter", ","),
        "quotechar": options.get("quote-character", '"') if quoted else None,
        "escapechar": options.get("escape-character"),
        "quoting": csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE,
    }


def _cell_reader(schema: Schema, form: Format, name: str, options: dict[str, str]) -> Callable[[str], Any]:
    if schema.type is Type.ARRAY and schema.values is not None:
        item, mark = _cell_reader(schema.values, form, name, options), options.get("array-element-delimiter", ";")
        return lambda text: [item(part) for part in text.split(mark)] if text else []
    if schema.type is Type.STRING and schema.logical is None:
        return str
    read = text_reader(schema, form, name)
    return lambda text: read(text.strip())


def _line(schema: Schema | None, value: Any, form: Format, options: dict[str, str]) -> bytes:
    if schema is None or schema.type is not Type.STRUCT:
        hint = "declare the columns, or choose another format"
        raise data_error("SMT440", "only structs with a schema can be written as CSV", hint, DATA_EXCEPTION)
    null, mark = options.get("null-literal", ""), options.get("array-element-delimiter", ";")
    cells = []
    for name, child in schema.fields:
        found = value.get(name)
        if found is None:
            cells.append(null)
        elif child.type is Type.ARRAY and child.values is not None:
            cells.append(mark.join(_cell(child.values, item, form, name) for item in found))
        else:
            cells.append(_cell(child, found, form, name))
    text = io.StringIO()
    csv.writer(text, lineterminator="", **_dialect(options)).writerow(cells)
    return text.getvalue().encode()


def _cell(schema: Schema, value: Any, form: Format, name: str) -> str:
    if schema.type in (Type.STRUCT, Type.MAP, Type.ARRAY):
        hint = "flatten it with Flatten, or choose another format"
        statement = f"field '{name}' is a {schema.type.value}, a column of CSV is not"
        raise data_error("SMT440", statement, hint, DATA_EXCEPTION)
    if schema.type is Type.BYTES and schema.logical is None:
        return base64.b64encode(value).decode()
    if schema.logical in ("Timestamp", "Date"):
        return moment_text(int(value), day=schema.logical == "Date")
    if schema.type is Type.BOOLEAN:
        return "true" if value else "false"
    plain = schema.type is Type.STRING or schema.logical == "Decimal"
    return str(value if plain else writer(schema, form, name)(value))


def without_schema(form: Format) -> DataError:
    """The error of a value without a schema, in a format that needs one."""
    hint = "read it in a format with a schema, or write another format"
    return data_error("SMT440", f"what has no schema cannot be written as {form.kind}", hint, DATA_EXCEPTION)
