"""Header literals: what ``Values.parseString`` of Kafka 4.3.1 makes of a text, and how the value is written again."""

import time
from decimal import Decimal

import pytest

from dagster_smt.model.record import Header
from dagster_smt.model.runtime import JavaFloat
from dagster_smt.model.schema import JavaDate, Schema, Type, timestamp
from dagster_smt.values.headers.fields import AppendLiteral
from dagster_smt.values.headers.literals import parse_literal, parse_simple_header, simple_header_bytes
from dagster_smt.values.json.lazy import decode

# text, schema, the text it is written as
LITERALS = [
    ("1", "int8", "1"),
    ("007", "int8", "7"),
    ("-0.0", "int8", "0"),
    ("+5", "int8", "5"),
    ("5.", "int8", "5"),
    ("٤", "int8", "4"),
    ("1.5e3", "int16", "1500"),
    ("40000", "int32", "40000"),
    ("3000000000", "int64", "3000000000"),
    ("9223372036854775808", "Decimal(0)", "9223372036854775808"),
    ("1.10", "float32", "1.1"),
    ("1E-50", "float32", "0.0"),
    ("1e40", "float64", "1.0E40"),
    ("1e400", "Decimal(-400)", "1E+400"),
    ("1e999999999", "Decimal(-999999999)", "1E+999999999"),
    ("1e-999999999", "float32", "0.0"),
    ("1e9999999999", "string", "1e9999999999"),
    ("true", "boolean", "true"),
    ("True", "string", "True"),
    ("true}", "string", "true}"),
    ("2020-01-01", "Date", "2020-01-01"),
    ("2020-99-99", "Date", "2028-06-07"),
    ("12:34:56.789Z", "Time", "12:34:56.789Z"),
    ("12\\:34\\:56.789Z", "Time", "12:34:56.789Z"),
    ("2020-01-01T12:34:56.789Z", "Timestamp", "2020-01-01T12:34:56.789Z"),
    ("2020-01-01T00:00:00.000Z", "Timestamp", "2020-01-01"),
    ("12:34:56", "int8", "12"),
    ("1,2", "int8", "1"),
    ("1 2", "string", "1 2"),
    ('"5"', "string", '"5"'),
    ("   ", "string", "   "),
    ("[1,2,300]x", "array<int16>", "[1,2,300]"),
    ("[1, 1.5]", "array<float32>", "[1.0,1.5]"),
    ('[1,"a\\"b"]', "array<any>", '[1,"a\\\\\\"b"]'),
    ("[null]", "array<any>", "[null]"),
    ("[1,null]", "string", "[1,null]"),
    ("[1,,2]", "string", "[1,,2]"),
    ("[1,2", "string", "[1,2"),
    ("[[1],[300]]", "array<array<int16>>", "[[1],[300]]"),
    ("[2020-01-01,1]", "array<Date>", "[2020-01-01,1970-01-02]"),
    ("[1,2020-01-01T00:00:00.000Z]", "array<Timestamp>", "[00:00:00.001Z,2020-01-01]"),
    ("[12:34:56.789Z,-2]", "string", "[12:34:56.789Z,-2]"),
    ("[1.5,2020-01-01]", "string", "[1.5,2020-01-01]"),
    ('["2020-01-01"," x "]', "array<any>", '[2020-01-01," x "]'),
    ('{"a":1,"b":300}', "map<string,int16>", '{"a":1,"b":300}'),
    ('{"a":1 "b":2}', "map<string,int8>", '{"a":1,"b":2}'),
    ('{"a":1,"b":"x"}', "map<string,any>", '{"a":1,"b":"x"}'),
    ('{"a":null}', "map<string,any>", '{"a":null}'),
    ("{1:1,1.5:2}", "map<float32,int8>", "{1.0:1,1.5:2}"),
    ("{}", "map<any,any>", "{}"),
    ("{a:1}", "string", "{a:1}"),
    ("{null:1}", "string", "{null:1}"),
    ("{[1]:1}", "map<array<int8>,int8>", "{[1]:1}"),
    ("{[1]:1,[2]:2,[1]:3}", "map<array<int8>,int8>", "{[1]:3,[2]:2}"),
    ("{{1:2}:3}", "map<map<int8,int8>,int8>", "{{1:2}:3}"),
    ("{1:1,true:2}", "string", "{1:1,true:2}"),  # Kafka: a map of two entries
]


@pytest.mark.parametrize(("text", "label", "written"), LITERALS, ids=lambda text: text)
def test_literals(text, label, written):
    schema, value = parse_literal(text)
    assert schema.label == label
    assert simple_header_bytes(schema, value) == written.encode()


def test_null_and_nothing():
    assert parse_literal("null") == (None, None)
    assert parse_literal("") == (Schema(Type.STRING), "")
    assert simple_header_bytes(None, None) is None
    assert parse_simple_header(None) == (None, None)


def test_bytes_that_are_no_utf_8_become_replacement_characters():
    assert parse_simple_header(b"a\xff") == (Schema(Type.STRING), "a\ufffd")


def test_a_map_of_many_entries_is_read_in_one_pass():
    """Anybody may send a header: compared with each other, so many keys would take minutes."""
    entries = [f"{number}:1" for number in range(40_000)]
    start = time.monotonic()
    schema, value = parse_simple_header(f"{{{','.join([*entries, '7:2'])}}}".encode())
    assert schema.type is Type.MAP and len(value) == 40_000 and time.monotonic() - start < 20


def test_brackets_without_end_stay_bytes():
    data = b"[" * 100_000
    assert parse_simple_header(data) == (Schema(Type.BYTES), data)


STRUCT = Schema(
    Type.STRUCT,
    fields=(("a", Schema(Type.FLOAT32)), ("b", Schema(Type.STRING, optional=True, default='"'))),
    optional=True,
)


@pytest.mark.parametrize(
    ("schema", "value", "written"),
    [
        (None, decode(b'{"x":[1,1.0,{"y":"\\u00fc"},null,true]}'), '{"x":[1,1.0,{"y":"ü"},null,true]}'),
        (None, JavaFloat(0.10000000149011612), "0.1"),
        (None, "plain", "plain"),
        (Schema(Type.BYTES), b"\x01\x02", "AQI="),
        (Schema(Type.ARRAY, values=Schema(Type.BYTES)), [b"\x01\x02"], '["AQI="]'),
        (Schema(Type.FLOAT32), 0.10000000149011612, "0.1"),
        (Schema(Type.FLOAT64), 1e7, "1.0E7"),
        (STRUCT, {"a": 1.5, "b": None}, '{"a":1.5,"b":"\\""}'),
        (timestamp(), JavaDate(253_402_300_800_000), "10000-01-01"),
        (timestamp(), JavaDate(-1), "23:59:59.999Z"),
        (None, Decimal("1E+3"), "1E+3"),
    ],
)
def test_writing(schema, value, written):
    assert simple_header_bytes(schema, value) == written.encode()


def test_appending_leaves_the_old_list_alone():
    before = [Header("h", None, 1)]
    after = AppendLiteral("h", *parse_literal("2")).python(before)
    assert [(h.key, h.value) for h in after] == [("h", 1), ("h", 2)]
    assert len(before) == 1


def test_the_spark_form(spark):
    from pyspark.sql import functions as F

    from dagster_smt.values.headers.fields import HEADERS_DDL

    frame = spark.createDataFrame([([("a", b"1")],), (None,)], f"h {HEADERS_DDL}")
    for text, want in (("007", b"7"), ("null", None), ('[1,"a"]', b'[1,"a"]')):
        rows = frame.select(AppendLiteral("x", *parse_literal(text)).column(F, F.col("h"))).collect()
        last = [(row[0][-1]["key"], row[0][-1]["value"]) for row in rows]
        assert last == [("x", want and bytearray(want))] * 2
        assert [len(row[0]) for row in rows] == [2, 1]
