"""What formats write is read back: by ourselves, and by readers that are not ours."""

import base64
import csv
import io
import json
import math
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal

import fastavro
import numpy as np
import pytest

from dagster_smt.errors import ConfigError, DataError
from dagster_smt.formats.avro.write import avro_out
from dagster_smt.formats.sides import side_codec
from dagster_smt.model.schema import JavaDate
from dagster_smt.model.topics.csv_options import csv_misfits
from dagster_smt.model.topics.format import Format
from dagster_smt.tables.ddl import parse_ddl

DAY = 86_400_000
INFINITE = [math.nan, math.inf, -math.inf]
TEXTS = [
    "", " ", "a", "a,b", 'say "x"', "a;b", "line\nbreak", "\r\n", "\t", "\\", "\\n", "'", "None", "NaN", "null",
    "é\u2028", "\U0001f600", "x" * 200_000, ",", '"', "\x01", "\x00", "-0.0", "1_0",
]  # fmt: skip
FLOATS = [0.0, -0.0, 1.5, -1.5, 0.1, 1e-45, 3.4028234663852886e38, 16777217.0, 1e10, 1e-10]
DOUBLES = [0.0, -0.0, 1.5, 0.1, 5e-324, 1.7976931348623157e308, 1e22, 1e-7, 9007199254740993.0]
SINGLE = [float(np.float32(value)) for value in FLOATS]
MOMENTS = ["0001-01-01 00:00:00", "1582-10-10 01:02:03.004", "1969-12-31 23:59:59.999", "9999-12-31 23:59:59.999"]


def millis(text):
    moment = datetime.fromisoformat(text).replace(tzinfo=timezone.utc)
    return (moment - datetime(1970, 1, 1, tzinfo=timezone.utc)) // timedelta(milliseconds=1)


FAR = [10**15, -(10**15), 253402300800000, -62135596800001]
MILLIS = [JavaDate(value) for value in [0, *map(millis, MOMENTS), *FAR]]
DAYS = [JavaDate(value // DAY * DAY) for value in MILLIS]
VALUES = {
    "STRING": TEXTS,
    "BOOLEAN": [True, False],
    "TINYINT": [0, 127, -128],
    "SMALLINT": [0, 32767, -32768],
    "INT": [0, 2**31 - 1, -(2**31)],
    "BIGINT": [0, 2**63 - 1, -(2**63)],
    "FLOAT": [*SINGLE, *INFINITE],
    "DOUBLE": [*DOUBLES, *INFINITE],
    "BYTES": [b"", b"\x00\xff", bytes(range(256)) * 20],
    "DECIMAL(38,2)": [Decimal(text) for text in ("0.00", "1.25", "-1.25", "9" * 36 + ".99")],
    "DATE": DAYS,
    "TIMESTAMP": MILLIS,
}
NULL = "~null~"
PLAIN = {"null-literal": NULL}
STYLES = {
    "plain": PLAIN,
    "tabs": {**PLAIN, "field-delimiter": "\\t"},
    "u0001": {**PLAIN, "field-delimiter": "\\u0001", "array-element-delimiter": "||"},
    "quotes of another kind": {**PLAIN, "quote-character": "'", "field-delimiter": ";"},
    "escapes": {**PLAIN, "escape-character": "\\"},
    "no quotes, escapes": {**PLAIN, "disable-quote-character": "true", "escape-character": "\\"},
    "no quotes": {**PLAIN, "disable-quote-character": "true"},
}
PYTHON = {
    "plain": {},
    "tabs": {"delimiter": "\t"},
    "u0001": {"delimiter": "\x01"},
    "quotes of another kind": {"quotechar": "'", "delimiter": ";"},
    "escapes": {"escapechar": "\\"},
    "no quotes, escapes": {"quoting": csv.QUOTE_NONE, "escapechar": "\\"},
    "no quotes": {"quoting": csv.QUOTE_NONE},
}
JSON_LIKE = ["json_schema", "csv", "avro", "protobuf"]


def row_of(kind):
    return parse_ddl(f"a {kind}, b STRING")


def same(one, other):
    """Whether two values are equal, NaN too; a zero of JSON and of a decimal has no sign."""
    if isinstance(one, float) and isinstance(other, float):
        return (math.isnan(one) and math.isnan(other)) or one == other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and one == other


def form_of(kind, schema, **options):
    return Format(kind, schema, options=options)


def all_values(kind):
    return [None, *VALUES[kind]]


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("format_", JSON_LIKE)
def test_every_value_of_every_type_comes_back(format_, kind):
    if (format_, kind) == ("protobuf", "DATE"):
        pytest.skip("google.type.Date holds the years 1 to 9999")
    schema = row_of(kind)
    codec = side_codec(form_of(format_, schema, **(PLAIN if format_ == "csv" else {})))
    wrong = []
    for value in all_values(kind):
        row = {"a": value, "b": "x"}
        try:
            written = codec.write(schema, row)
        except DataError as error:
            if not allowed_to_refuse(format_, kind, value):
                wrong.append((value, error.problem.statement))
            continue
        data = codec.read(written)[1]
        if not same(data["a"], value) and not (format_ == "protobuf" and value is None):
            wrong.append((value, data["a"]))
    assert wrong == []


def allowed_to_refuse(format_, kind, value):
    """Protobuf's timestamps end with the year 9999."""
    return format_ == "protobuf" and kind == "TIMESTAMP" and value in FAR


def cell_of(kind, value):
    """What stands in a cell, in other words than the writer's."""
    if value is None:
        return NULL
    if kind == "BYTES":
        return base64.b64encode(value).decode()
    if kind == "BOOLEAN":
        return str(value).lower()
    return value


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("kind", VALUES)
def test_pythons_csv_reads_our_lines(kind, style):
    schema = row_of(kind)
    codec = side_codec(form_of("csv", schema, **STYLES[style]))
    csv.field_size_limit(2**31 - 1)
    for value in all_values(kind):
        try:
            line = codec.write(schema, {"a": value, "b": "last"})
        except DataError as error:
            assert style == "no quotes" and error.problem.code == "SMT440" and set(value) & set(',\r\n"\\')
            continue
        (cells,) = csv.reader(io.StringIO(line.decode(), newline=""), strict=True, **PYTHON[style])
        assert cells[1] == "last"
        expected, result = cell_of(kind, value), cells[0]
        if value is None or kind in ("STRING", "BYTES", "BOOLEAN"):
            assert result == expected
        elif kind in ("FLOAT", "DOUBLE"):
            parsed = float(result)
            assert same(float(np.float32(parsed)) if kind == "FLOAT" else parsed, value)
        elif kind == "DATE" and value not in FAR and -719162 <= value // DAY <= 2932896:
            assert date.fromisoformat(result) == date(1970, 1, 1) + timedelta(days=value // DAY)
        elif kind == "TIMESTAMP" and value not in FAR:
            assert millis(result) == value
        elif kind not in ("DATE", "TIMESTAMP"):
            assert Decimal(result) == value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (10**15, "+33658-09-27 01:46:40"),
        (-(10**15), "-29719-04-05 22:13:20"),
        (-62135596800001, "0000-12-31 23:59:59.999"),
    ],
)
def test_far_moments_are_written_as_java_writes_them(value, text):
    schema = parse_ddl("a TIMESTAMP")
    codec = side_codec(Format("csv", schema))
    assert codec.write(schema, {"a": JavaDate(value)}).decode() == text
    assert codec.read(text.encode())[1] == {"a": value}


@pytest.mark.parametrize("kind", VALUES)
def test_pythons_json_reads_our_json(kind):
    schema = row_of(kind)
    codec = side_codec(Format("json_schema", schema, decimal_format="NUMERIC"))
    for value in all_values(kind):
        data = json.loads(codec.write(schema, {"a": value, "b": "x"}), parse_float=Decimal)["a"]
        if value is None or kind in ("STRING", "BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT"):
            assert data == value
        elif kind in ("FLOAT", "DOUBLE"):
            number = float(data)
            assert same(float(np.float32(number)) if kind == "FLOAT" else number, value)
        elif kind == "BYTES":
            assert base64.b64decode(data) == value
        elif kind.startswith("DECIMAL"):
            assert data == value
        else:
            assert data == value // (DAY if kind == "DATE" else 1)


@pytest.mark.parametrize("kind", VALUES)
def test_fastavro_reads_our_avro(kind):
    schema = row_of(kind)
    parsed = json.loads(avro_out(schema.with_(optional=False)).text)
    codec = side_codec(Format("avro", schema))
    for value in all_values(kind):
        raw = codec.write(schema, {"a": value, "b": "x"})
        if value is not None and kind in ("DATE", "TIMESTAMP") and not -62135596800000 <= value < 253402300800000:
            continue  # fastavro makes datetimes
        result = fastavro.schemaless_reader(io.BytesIO(raw), fastavro.parse_schema(parsed), None)["a"]
        if isinstance(result, datetime):
            result = (result - datetime(1970, 1, 1, tzinfo=timezone.utc)) // timedelta(milliseconds=1)
        if isinstance(result, date):
            result = (result - date(1970, 1, 1)).days * DAY
        assert same(result, value) or result == value


@pytest.mark.parametrize("kind", ["STRING", "INT", "FLOAT", "DOUBLE", "BOOLEAN", "DATE", "DECIMAL(9,2)"])
@pytest.mark.parametrize("format_", JSON_LIKE)
def test_nulls_in_arrays_come_back(format_, kind):
    schema = parse_ddl(f"a ARRAY<{kind}>, b STRING")
    values = {"DECIMAL(9,2)": [Decimal("1.25")]}.get(kind) or VALUES[kind][:3]
    values = ["x", "y"] if kind == "STRING" else values
    codec = side_codec(form_of(format_, schema, **(PLAIN if format_ == "csv" else {})))
    for array in ([], values, [None, *values], [*values, None], [None, None]):
        if format_ == "protobuf" and None in array:
            continue  # repeated fields have no nulls
        data = codec.read(codec.write(schema, {"a": array, "b": "x"}))[1]["a"]
        assert same(data, array), (data, array)


@pytest.mark.parametrize("array", [["a;b"], ["", ";"], [""], [None], [NULL]])
def test_texts_that_would_be_other_elements_are_no_line(array):
    schema = parse_ddl("a ARRAY<STRING>")
    with pytest.raises(DataError, match="SMT440"):
        side_codec(form_of("csv", schema, **PLAIN)).write(schema, {"a": array})


@pytest.mark.parametrize(
    "options",
    [
        {"field-delimiter": "||"}, {"field-delimiter": ""}, {"quote-character": "ab"}, {"escape-character": ""},
        {"field-delimiter": "\n"}, {"array-element-delimiter": ""}, {"field-delimiter": '"'}, {"quote-character": ","},
        {"disable-quote-character": "yes"}, {"escape-character": ","}, {"field-delimiter": "\\x"},
        {"disable-quote-character": "true", "null-literal": "a,b"}, {"quote-character": "\\ud800"},
    ],
)  # fmt: skip
def test_options_that_cannot_be_are_refused_at_once(options):
    with pytest.raises(ConfigError, match="SMT272"):
        Format("csv", options=options)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("INT", "1_0"), ("BIGINT", "1_0"), ("DOUBLE", "1_0"), ("DECIMAL(9,2)", "1_0"), ("DECIMAL(9,2)", "NaN"),
        ("DECIMAL(9,2)", "sNaN"), ("DECIMAL(9,2)", "Infinity"), ("FLOAT", "sNaN"), ("DOUBLE", "sNaN"), ("FLOAT", "nan"),
        ("DOUBLE", "inf"), ("DOUBLE", "1e400"), ("FLOAT", "1e39"), ("DATE", "20200131"),
        ("DATE", "2020-01-31 00:00:00"), ("DATE", "2020-02-30"), ("TIMESTAMP", "2020-01-31 24:00:00"),
        ("TIMESTAMP", "2020-W05-1"),
        ("BOOLEAN", "yes"), ("INT", ""), ("DOUBLE", ""), ("INT", "2147483648"), ("TIMESTAMP", "1_0"), ("BYTES", "*"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("format_", ["csv", "canal-json"])
def test_numbers_and_days_are_those_of_java(format_, kind, text):
    from dagster_smt.tables.topic_table import FileTopics, TopicTable

    table = TopicTable(FileTopics("t"), ("t",), value=Format(format_), columns=f"a {kind}")
    data = (
        text.encode() or b'""' if format_ == "csv" else json.dumps({"type": "INSERT", "data": [{"a": text}]}).encode()
    )
    with pytest.raises(DataError, match="SMT414"):
        side_codec(table.value).read(data)


def test_columns_that_csv_cannot_hold():
    schema = parse_ddl(
        "a ROW<x INT>, b MAP<STRING, INT>, c ARRAY<INT>, d ARRAY<ARRAY<INT>>, e ARRAY<ROW<x INT>>, f INT"
    )
    assert csv_misfits(schema) == ["a", "b", "d", "e"]


def test_columns_that_csv_cannot_hold_are_told_when_planning():
    from dagster_smt.tables.topic_table import FileTopics, TopicTable

    with pytest.raises(ConfigError, match="SMT269"):
        TopicTable(FileTopics("t"), ("t",), value=Format("csv"), columns="a INT, b MAP<STRING, INT>")
