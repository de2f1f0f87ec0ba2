"""Single values as Kafka's serializers write them, and lines of CSV: read on both evaluators, and written back."""

import struct

import pytest

from dagster_smt.chain import parse_chain
from dagster_smt.errors import ConfigError, DataError
from dagster_smt.formats.sides import side_codec
from dagster_smt.interpret.interpreter import Interpreter
from dagster_smt.model.record import Record
from dagster_smt.model.topics.format import Format
from dagster_smt.model.topics.primitives import WHOLE
from dagster_smt.tables.ddl import parse_ddl
from dagster_smt.tables.rows.row_stages import with_row
from dagster_smt.tables.topic_table import TopicTable
from tests.tables.rows.test_reading import FILES, NOTHING, Sent, in_python, on_spark, table
from tests.tables.rows.test_writing import mask, stages

SQL = {
    "short": "SMALLINT",
    "integer": "INT",
    "long": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "boolean": "BOOLEAN",
    "string": "STRING",
    "bytes": "BYTES",
}
VALUES = {
    "short": (struct.pack(">h", -2), -2),
    "integer": (struct.pack(">i", 7), 7),
    "long": (struct.pack(">q", 2**40), 2**40),
    "float": (struct.pack(">f", 1.5), 1.5),
    "double": (struct.pack(">d", 0.1), 0.1),
    "boolean": (b"\1", True),
    "string": ("grün".encode(), "grün"),
    "bytes": (b"\xff", "/w=="),
}


def of_one(kind, form=None):
    return table({"v": SQL[kind], "offset": "BIGINT METADATA"}, value=Format(form or kind))


@pytest.mark.parametrize("kind", WHOLE)
@pytest.mark.parametrize("form", ["", "bytes"])
def test_single_values(kind, form):
    """``raw`` of Flink and ``kafka`` of ksqlDB (here ``bytes``) read what the column is declared as."""
    data, value = VALUES[kind]
    result = in_python(of_one(kind, form), [Sent(data), Sent(None)])
    assert [row for row, *_ in result] == [{"v": value, "offset": 42}, None]
    assert of_one(kind, form).value.kind == kind


@pytest.mark.parametrize(("kind", "data"), [(k, b"123") for k in VALUES if k not in ("string", "bytes")])
def test_bytes_of_another_length_are_refused(kind, data):
    assert in_python(of_one(kind), [Sent(data)])[0][0] == "SMT416"


@pytest.mark.parametrize("kind", WHOLE)
def test_single_values_are_written_as_they_were_read(kind):
    one = of_one(kind)
    interpreter = Interpreter(with_row(parse_chain(NOTHING), one, "records"), one.key, one.value)
    outcome, _, value = interpreter.process(Record("t", offset=1), None, VALUES[kind][0])
    assert (outcome.problem, value) == (None, VALUES[kind][0])


WRONG_VALUES = [
    *(("integer", value) for value in ("x", True, 2**31, 1.0)),
    *(("short", 40_000), ("double", 1), ("boolean", 1), ("long", 1.0)),
]


@pytest.mark.parametrize(("kind", "value"), WRONG_VALUES)
def test_a_converter_takes_values_of_its_type_only(kind, value):
    with pytest.raises(DataError, match="SMT440"):
        side_codec(Format(kind)).write(None, value)
    assert side_codec(Format(kind)).write(None, None) is None


# -- CSV -------------------------------------------------------------------------------------------------------------

COLUMNS = {
    "id": "BIGINT NOT NULL", "name": "STRING", "price": "DECIMAL(9,2)", "ratio": "DOUBLE", "on": "BOOLEAN",
    "at": "TIMESTAMP(3)", "day": "DATE", "tags": "ARRAY<STRING>", "data": "BYTES", "offset": "BIGINT METADATA VIRTUAL",
}  # fmt: skip
LINE = 'x,7,"a ""b"", c",1.50,0.1,true,2020-01-01 12:00:00.500,2020-01-02,p;q,AP8='.removeprefix("x,")
ROW = {
    "id": 7, "name": 'a "b", c', "price": "1.50", "ratio": 0.1, "on": True, "at": 1577880000500, "day": 18263,
    "tags": ["p", "q"], "data": "AP8=", "offset": 42,
}  # fmt: skip
NULLS = {"null-literal": "n/a"}
LINES = [
    ({}, LINE, ROW),
    ({"field-delimiter": "|"}, LINE.replace('"a ""b"", c"', "abc").replace(",", "|"), {**ROW, "name": "abc"}),
    ({"quote-character": "'"}, LINE.replace('"a ""b"", c"', "'a, b'"), {**ROW, "name": "a, b"}),
    ({"disable-quote-character": "true"}, LINE.replace('"a ""b"", c"', '"a"'), {**ROW, "name": '"a"'}),
    ({"escape-character": "\\"}, LINE.replace('"a ""b"", c"', "a\\, b"), {**ROW, "name": "a, b"}),
    ({"array-element-delimiter": "/"}, LINE.replace("p;q", "p/q"), ROW),
    (NULLS, "7,n/a,n/a,n/a,n/a,n/a,n/a,n/a,n/a", {**dict.fromkeys(ROW), "id": 7, "offset": 42}),
    (NULLS, "n/a,n/a,n/a,n/a,n/a,n/a,n/a,n/a,n/a", "SMT401"),
    ({}, LINE.replace("p;q", ""), {**ROW, "tags": []}),
    ({}, LINE + ",more", "SMT416"),
    ({}, "7,x", "SMT416"),
    ({}, LINE + "\n" + LINE, "SMT416"),
    ({}, LINE.replace("7,", "seven,"), "SMT414"),
    (NULLS, LINE.replace("2020-01-02", "soon"), "SMT414"),
    ({}, LINE.replace("true", "yes"), "SMT414"),
    ({}, "", "SMT416"),
]


def of_lines(options):
    return table(COLUMNS, value=Format("csv", decimal_format="NUMERIC", options=options))


def shown(row):
    """JSON data; the decimal as its text."""
    return row if isinstance(row, str) or row["price"] is None else {**row, "price": f"{float(row['price']):.2f}"}


@pytest.mark.parametrize(("options", "line", "expected"), LINES)
def test_lines_of_csv(options, line, expected):
    ((row, *_),) = in_python(table(COLUMNS, value=Format("csv", options=options)), [Sent(line.encode())])
    assert shown(row) == expected


@pytest.mark.parametrize("options", [{}, {"field-delimiter": ";", "array-element-delimiter": "|"}, NULLS])
def test_rows_are_written_as_lines(options):
    one = of_lines(options)
    interpreter = Interpreter(with_row(parse_chain(stages(mask("name"))), one, "records"), one.key, one.value)
    values = ["7", '"a;b"', "1.50", "0.1", "true", "2020-01-01 12:00:00.500", "2020-01-02", "p", "AP8="]
    line = options.get("field-delimiter", ",").join(values)
    outcome, _, value = interpreter.process(Record("t", 0, 1), None, line.encode())
    assert (outcome.problem, value.decode()) == (None, line.replace('"a;b"', ""))
    if options == NULLS:
        _, _, value = interpreter.process(Record("t", 0, 1), None, b"7,n/a,n/a,n/a,n/a,n/a,n/a,n/a,n/a")
        assert value.decode() == "7" + ",n/a" * 8


def test_what_is_no_line_is_not_written():
    """A stage can make what no column could be declared as."""
    nested = parse_ddl("id BIGINT, s STRUCT<a: INT>")
    codec = side_codec(Format("csv", nested))
    for schema, value in ((None, {"id": 1}), (nested, {"id": 1, "s": {"a": 1}})):
        with pytest.raises(DataError, match="SMT440"):
            codec.write(schema, value)


def test_statements_and_their_options():
    result = TopicTable.create(
        "CREATE TABLE t (k BIGINT, a STRING, b INT) WITH ('topic' = 't', 'key.format' = 'raw', 'key.fields' = 'k', "
        "'value.format' = 'csv', 'value.csv.field-delimiter' = ';', 'value.fields-include' = 'EXCEPT_KEY')",
        FILES,
    )
    assert (result.key.kind, result.value.kind, result.value.settings) == ("long", "csv", {"field-delimiter": ";"})
    ((row, *_),) = in_python(result, [Sent(b"x;5", key=struct.pack(">q", 9))])
    assert row == {"k": 9, "a": "x", "b": 5}
    delimited = "CREATE STREAM s (a INT, b STRING) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='DELIMITED', KEY_FORMAT='KAFKA')"
    assert TopicTable.create(delimited, FILES).value.kind == "csv"
    with pytest.raises(ConfigError, match=r"SMT272 csv.schema-id"):
        TopicTable.create("CREATE TABLE t (a INT) WITH ('format' = 'csv', 'csv.schema-id' = '1')", FILES)
    harmless = "'format' = 'csv', 'csv.ignore-parse-errors' = 'false', 'csv.null-literal' = '-'"
    result = TopicTable.create(f"CREATE TABLE t (a INT) WITH ({harmless})", FILES)
    assert result.value.settings == {"null-literal": "-"}
    with pytest.raises(ConfigError, match=r"SMT272 json.a"):
        Format("json", options={"a": "b"})


@pytest.mark.spark
def test_lines_on_spark(spark):
    plain = [(line, expected) for options, line, expected in LINES if not options]
    columns = {**COLUMNS, "day": "INT METADATA FROM 'partition'"}  # Spark's dates are no numbers
    records = [Sent(_without_day(line).encode(), offset=42 + number) for number, (line, _) in enumerate(plain)]
    rows = on_spark(spark, table(columns, value=Format("csv")), records)
    for number, (row, (_, expected)) in enumerate(zip(rows, plain, strict=True)):
        assert shown(row) == (expected if isinstance(expected, str) else {**expected, "day": 3, "offset": 42 + number})


def _without_day(line):
    return line.replace("2020-01-02,", "")


@pytest.mark.spark
@pytest.mark.parametrize("kind", [k for k in WHOLE if k not in ("string", "bytes")])
def test_single_values_on_spark(spark, kind):
    data, value = VALUES[kind]
    rows = on_spark(spark, of_one(kind), [Sent(data, offset=1), Sent(b"123", offset=2)])
    assert rows == [{"v": value, "offset": 1}, "SMT416"]
