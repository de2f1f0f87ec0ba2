"""Rows of topic tables, read by both evaluators: metadata, decoders, keys, nulls, and what cannot be read."""

import base64
import io
import json
import math
import struct
import uuid
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path

import fastavro
import pytest

from dagster_smt.chain import parse_chain
from dagster_smt.formats.sides import SideCodec, side_codec
from dagster_smt.interpret.interpreter import Interpreter
from dagster_smt.model.record import Header, Record
from dagster_smt.model.topics.columns import HEADER_LIST
from dagster_smt.model.topics.format import Format
from dagster_smt.tables.ddl import parse_ddl
from dagster_smt.tables.planning import plan_table
from dagster_smt.tables.rows.row_stages import with_row
from dagster_smt.tables.topic_table import FileTopics, TopicTable

FILES, TIME = FileTopics(Path("topics")), 1_700_000_000_123
ID = uuid.UUID("00112233-4455-6677-8899-aabbccddeeff")
NOTHING = {"transforms": ""}
SHOWN = Format("json_schema", parse_ddl("a INT"), decimal_format="NUMERIC")
MASK = {
    "transforms": "hide",
    "transforms.hide.type": "org.apache.kafka.connect.transforms.MaskField$Value",
    "transforms.hide.fields": "name,utf8",
}


def table(columns, **changes):
    return TopicTable(FILES, ("orders",), columns=columns, **changes)


def header(decode, type_, key="h", **options):
    return {"type": type_, "header": key, "decode": decode, **options}


DECODED = {
    "bytes": header("bytes", "BYTES"),
    "utf8": header("utf8", "STRING"),
    "ascii": header("ascii", "STRING"),
    "hex": header("hex", "STRING"),
    "base64": header("base64", "STRING"),
    "uuid": header("uuid", "STRING"),
    "boolean": header("boolean_from_bytes", "BOOLEAN"),
    "short": header("short_from_bytes", "SMALLINT"),
    "int": header("INT_FROM_BYTES", "INT"),
    "little": header("int_from_bytes(LITTLE_ENDIAN)", "INT"),
    "bigint": header("bigint_from_bytes", "BIGINT"),
    "float": header("float_from_bytes", "FLOAT"),
    "double": header("double_from_bytes", "DOUBLE"),
    "json": header("json", "STRUCT<a: INT>"),
    "simple": header("simple", "BIGINT"),
    "first": header("utf8", "STRING", match="first"),
    "all": header("utf8", "ARRAY<STRING>", match="all"),
}
METADATA = {
    "topic": "STRING METADATA",
    "partition": "INT METADATA",
    "partition_long": "BIGINT METADATA FROM 'partition'",
    "partition_text": "STRING METADATA FROM 'partition'",
    "offset": "BIGINT METADATA VIRTUAL",
    "offset_text": "STRING METADATA FROM 'offset'",
    "offset_int": "INT METADATA FROM 'offset'",
    "at": "TIMESTAMP(3) METADATA FROM 'timestamp'",
    "millis": "BIGINT METADATA FROM 'timestamp'",
    "timestamp-type": "STRING METADATA",
    "leader-epoch": "INT METADATA",
    "headers": f"{HEADER_LIST} HEADERS",
    "by_name": "MAP<STRING, BYTES> METADATA FROM 'headers'",
    "by_name_first": {"type": "MAP<STRING, BYTES>", "headers": True, "duplicates": "first"},
    "by_name_all": {"type": "MAP<STRING, ARRAY<BYTES>>", "headers": True, "duplicates": "all"},
}


@dataclass(frozen=True)
class Sent:
    """A record as it is read."""

    value: bytes | None = b'{"name":"ann"}'
    headers: tuple[tuple[str, bytes | None], ...] = ()
    key: bytes | None = None
    offset: int = 42
    timestamp: int | None = TIME
    type: int = 0
    epoch: int | None = None


def in_python(topic_table, records, chain=NOTHING, kind="columns"):
    """What becomes of records: the value as JSON data, or the code of the problem."""
    whole = with_row(parse_chain(chain), topic_table, kind)
    interpreter = Interpreter(whole, topic_table.key, topic_table.value)
    if kind == "columns":  # rows are shown as JSON, whatever the format of the values
        interpreter.value = SideCodec(interpreter.value.read, side_codec(SHOWN).write)
    results = []
    for source in records:
        headers = [Header(key, raw=data, from_stage=False) for key, data in source.headers]
        types = {-1: "NoTimestampType", 0: "CreateTime", 1: "LogAppendTime"}
        record = Record("orders", 3, source.offset, source.timestamp, types[source.type], headers=headers)
        record.leader_epoch = source.epoch
        outcome, key, value = interpreter.process(record, source.key, source.value)
        problem = outcome.problem.code if outcome.problem else None
        results.append((problem or (None if value is None else json.loads(value)), key, record))
    return results


def on_spark(spark, topic_table, records, chain=NOTHING):
    """The rows that Spark makes, and codes of problems; None where there is no row."""
    from pyspark.sql import functions as F

    done = evaluated(spark, topic_table, records, chain)
    out = F.when(F.col("__status") != 1, F.col("__out")).alias("__out")
    rows = done.orderBy("__offset", "__problem").select(F.col("__problem.code").alias("code"), out).collect()
    return [row.code or (row["__out"] and _data(row["__out"].asDict(recursive=True))) for row in rows]


def evaluated(spark, topic_table, records, chain=NOTHING):
    """What the Spark evaluator makes of records."""
    from dagster_smt.spark.evaluate import evaluate

    ddl = (
        "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp, timestampType int, "
        "headers array<struct<key: string, value: binary>>, leaderEpoch int, in_row int"
    )
    moments = [
        None if r.timestamp is None else datetime.fromtimestamp(r.timestamp / 1000, timezone.utc) for r in records
    ]
    data = [
        (r.key, r.value, "orders", 3, r.offset, moment, r.type, list(r.headers) or None, r.epoch, number)
        for number, (r, moment) in enumerate(zip(records, moments, strict=True))
    ]
    frame = spark.createDataFrame(data, ddl).coalesce(1)
    return evaluate(frame, plan_table(parse_chain(chain), topic_table), topic_table, "columns")


def _moment(millis):
    return None if millis is None else datetime.fromtimestamp(millis / 1000, timezone.utc)


def _data(value):
    """As JSON data: bytes in base64, moments in milliseconds."""
    if isinstance(value, dict):
        return {key: _data(child) for key, child in value.items()}
    if isinstance(value, list):
        return [_data(child) for child in value]
    if isinstance(value, bytes | bytearray):
        return base64.b64encode(value).decode()
    return round(value.timestamp() * 1000) if isinstance(value, datetime) else value


def b64(data):
    return base64.b64encode(data).decode()


BYTES = [
    (b"abc", {"bytes": b64(b"abc"), "utf8": "abc", "ascii": "abc", "hex": "616263", "base64": "YWJj"}),
    ("grün".encode(), {"utf8": "grün", "hex": "6772C3BC6E"}),
    (b"\xff", {"hex": "FF", "base64": "/w=="}),
    (b"", {"utf8": "", "ascii": "", "hex": "", "base64": "", "bytes": ""}),
    (ID.bytes, {"uuid": str(ID)}),
    (str(ID).upper().encode(), {"uuid": str(ID)}),
    (b"\1", {"boolean": True}),
    (b"\0", {"boolean": False}),
    (struct.pack(">h", -2), {"short": -2}),
    (struct.pack(">i", -7), {"int": -7}),
    (struct.pack("<i", 7), {"little": 7}),
    (struct.pack(">q", -(2**63)), {"bigint": -(2**63)}),
    (struct.pack(">f", 1.5), {"float": 1.5}),
    (struct.pack(">d", -2.25), {"double": -2.25}),
    (b'{"a":1}', {"json": {"a": 1}}),
    (b'{"a":"x"}', {"utf8": '{"a":"x"}'}),
    (b"null", {"utf8": "null"}),
    (b"12", {"simple": 12, "utf8": "12"}),
    (b"99999999999", {"simple": 99999999999}),
    (b"true", {"utf8": "true"}),
]
NUMBERS = {"short": ">h", "int": ">i", "little": "<i", "bigint": ">q", "float": ">f", "double": ">d"}
ALWAYS = ("bytes", "hex", "base64")


def expected(data, known):
    """What each decoder makes of bytes: those that are not named, and are not plain texts of them, make nothing."""
    row = {}
    for name in DECODED:
        row[name] = known.get(name)
        if name in ALWAYS:
            row[name] = {"bytes": b64(data), "hex": data.hex().upper(), "base64": b64(data)}[name]
    text = _text(data, "utf-8")
    row |= {"utf8": text, "first": text, "all": [text], "ascii": _text(data, "ascii")}
    if len(data) == 16 and row["uuid"] is None:
        row["uuid"] = str(uuid.UUID(bytes=data))
    for name, form in (
        ("short", ">h"),
        ("int", ">i"),
        ("little", "<i"),
        ("bigint", ">q"),
        ("float", ">f"),
        ("double", ">d"),
    ):
        if len(data) == struct.calcsize(form):
            row[name] = struct.unpack(form, data)[0]
    return row


def _text(data, encoding):
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        return None


def close(result, target):
    """Equal; floats as exactly as FLOAT holds them, and JSON has no NaN."""
    if isinstance(target, float):
        return result == pytest.approx(target) or (math.isnan(target) and (result is None or math.isnan(result)))
    return result == target


def test_decoders_in_python():
    rows = in_python(table(DECODED), [Sent(b"{}", (("h", data),)) for data, _ in BYTES])
    for (data, known), (row, *_) in zip(BYTES, rows, strict=True):
        target = expected(data, known)
        assert all(close(row[name], target[name]) for name in DECODED), (data, row, target)


@pytest.mark.spark
def test_decoders_on_spark(spark):
    records = [Sent(b"{}", (("h", data),), offset=n) for n, (data, _) in enumerate(BYTES)]
    rows = on_spark(spark, table({"name": "STRING", **DECODED}), records)
    for row, (data, known) in zip(rows, BYTES, strict=True):
        target = expected(data, known)
        assert all(close(row[name], target[name]) for name in DECODED), (data, row, target)


TWO = (("a", b"1"), ("b", None), ("a", b"2"))
LISTED = [{"key": "a", "value": b64(b"1")}, {"key": "b", "value": None}, {"key": "a", "value": b64(b"2")}]
AROUND = [
    (
        Sent(headers=TWO),
        {
            "topic": "orders", "partition": 3, "partition_long": 3, "partition_text": "3",
            "offset": 42, "offset_text": "42", "offset_int": 42,
            "at": TIME, "millis": TIME, "timestamp-type": "CreateTime", "leader-epoch": None, "headers": LISTED,
            "by_name": {"a": b64(b"2"), "b": None}, "by_name_first": {"a": b64(b"1"), "b": None},
            "by_name_all": {"a": [b64(b"1"), b64(b"2")], "b": [None]},
        },
    ),
    (
        Sent(timestamp=None, type=-1, offset=43, epoch=0),
        {
            "topic": "orders", "partition": 3, "partition_long": 3, "partition_text": "3",
            "offset": 43, "offset_text": "43", "offset_int": 43,
            "at": None, "millis": None, "timestamp-type": "NoTimestampType", "leader-epoch": 0,
            "headers": [], "by_name": {}, "by_name_first": {}, "by_name_all": {},
        },
    ),
    (
        Sent(type=1, offset=44, epoch=7),  # FLIP-107, "Metadata for existing connectors", Kafka
        {
            "topic": "orders", "partition": 3, "partition_long": 3, "partition_text": "3",
            "offset": 44, "offset_text": "44", "offset_int": 44,
            "at": TIME, "millis": TIME, "timestamp-type": "LogAppendTime", "leader-epoch": 7,
            "headers": [], "by_name": {}, "by_name_first": {}, "by_name_all": {},
        },
    ),
    (Sent(offset=2**31), "SMT431"),
]  # fmt: skip


def test_metadata_in_python():
    result = in_python(table(METADATA), [source for source, _ in AROUND])
    assert [row if isinstance(row, str) else {n: row[n] for n in METADATA} for row, *_ in result] == [
        w for _, w in AROUND
    ]
    assert result[0][0]["name"] == "ann"  # without physical columns all fields stay


@pytest.mark.spark
def test_metadata_on_spark(spark):
    typed = table({"name": "STRING", **METADATA})
    rows = on_spark(spark, typed, [source for source, _ in AROUND])
    results = [w if isinstance(w, str) else {"name": "ann", **w} for _, w in AROUND]
    assert rows == results
    assert [row for row, *_ in in_python(typed, [source for source, _ in AROUND])] == results


KEYS = {"id": "BIGINT", "region": "STRING", "note": "STRING", "offset": "BIGINT METADATA"}
BOTH = {"key_fields": ("id", "region"), "key": Format("json")}
APART = {**BOTH, "value_fields_include": "EXCEPT_KEY"}
PREFIXED = {"columns": {"k_id": "BIGINT", "id": "BIGINT", "offset": "BIGINT METADATA"}, "key_fields": ("k_id",),
            "key_fields_prefix": "k_", "value_fields_include": "EXCEPT_KEY", "key": Format("json")}  # fmt: skip
WHOLE = {"columns": {"word": "STRING", "line": "STRING", "offset": "BIGINT METADATA"}, "key_fields": ("word",),
         "value_fields_include": "EXCEPT_KEY", "value": Format("string")}  # fmt: skip
STRICT = {"columns": {"id": "BIGINT", "h": header("int_from_bytes", "INT", strict=True)}}
LISTED_JSON = {"columns": {"id": "BIGINT", "all": header("json", "ARRAY<INT>", match="all"),
                           "one": header("json", "ARRAY<INT>")}}  # fmt: skip
STRICT_JSON = {"columns": {"id": "BIGINT", "one": header("json", "ARRAY<INT>", strict=True)}}
KEY, VALUE = b'{"id":1,"region":"eu"}', b'{"id":2,"region":"eu","note":"n"}'
SIDES = [
    (BOTH, Sent(VALUE, key=KEY), {"id": 2, "region": "eu", "note": "n", "offset": 42}),  # the value wins, as in Flink
    (APART, Sent(VALUE, key=KEY), {"id": 1, "region": "eu", "note": "n", "offset": 42}),
    (APART, Sent(VALUE), {"id": None, "region": None, "note": "n", "offset": 42}),
    (APART, Sent(b'{"note":"n"}', key=b'{"id":1}'), {"id": 1, "region": None, "note": "n", "offset": 42}),
    (APART, Sent(VALUE, key=b"[1]"), "SMT414"),
    ({**BOTH, "fields_verify_integrity": True}, Sent(VALUE, key=KEY), "SMT436"),
    ({**BOTH, "fields_verify_integrity": True}, Sent(VALUE, key=b'{"id":2,"region":"eu"}'),
     {"id": 2, "region": "eu", "note": "n", "offset": 42}),
    ({**BOTH, "fields_verify_integrity": True}, Sent(VALUE), "SMT436"),
    (PREFIXED, Sent(VALUE, key=KEY), {"k_id": 1, "id": 2, "offset": 42}),
    (WHOLE, Sent(b"some text", key=b"w"), {"word": "w", "line": "some text", "offset": 42}),
    (WHOLE, Sent(b"\xff", key=b"w"), "SMT416"),
    ({"columns": "id BIGINT NOT NULL KEY, note STRING", "key": Format("json")}, Sent(VALUE), "SMT401"),
    ({"columns": "id BIGINT KEY, note STRING", "key": Format("json")}, Sent(VALUE, key=b"7"), {"id": 7, "note": "n"}),
    ({"columns": "k STRUCT<f DOUBLE> KEY, note STRING", "key": Format("json")}, Sent(VALUE, key=b'{"f":1.5}'),
     {"k": {"f": 1.5}, "note": "n"}),
    ({"columns": {"id": "BIGINT", "h": header("bytes", "BYTES NOT NULL")}}, Sent(VALUE), "SMT401"),
    (STRICT, Sent(VALUE, (("h", b"x"),)), "SMT432"),
    (STRICT, Sent(VALUE), {"id": 2, "h": None}),
    ({"columns": {"id": "BIGINT", "h": header("utf8", "STRING", match="error")}},
     Sent(VALUE, (("h", b"x"), ("h", b"y"))), "SMT433"),
    ({"columns": {"id": "BIGINT", "h": header("utf8", "ARRAY<STRING>", match="all", strict=True)}},
     Sent(VALUE, (("h", b"x"), ("h", b"\xff"))), "SMT432"),
    (LISTED_JSON, Sent(VALUE, (("h", b"[1]"), ("h", b"2"))), {"id": 2, "all": [None, 2], "one": None}),
    (LISTED_JSON, Sent(VALUE, (("h", b"1"), ("h", b"[2]"))), {"id": 2, "all": [1, None], "one": [2]}),
    (LISTED_JSON, Sent(VALUE), {"id": 2, "all": [], "one": None}),
    (STRICT_JSON, Sent(VALUE, (("h", b"[2]"),)), {"id": 2, "one": [2]}),
    (STRICT_JSON, Sent(VALUE, (("h", b"2"),)), "SMT432"),
    (STRICT_JSON, Sent(VALUE), {"id": 2, "one": None}),
    ({"columns": {"id": "BIGINT", "h": {"type": "MAP<STRING, BYTES>", "headers": True, "duplicates": "error"}}},
     Sent(VALUE, TWO), "SMT433"),
]  # fmt: skip
CODES_OF_JSON = {"SMT414", "SMT411", "SMT412", "SMT413", "SMT415"}


@pytest.mark.parametrize(("source", "record", "target"), SIDES)
def test_sides_in_python(source, record, target):
    ((row, *_),) = in_python(
        table(source.get("columns", KEYS), **{k: v for k, v in source.items() if k != "columns"}), [record]
    )
    assert row == target or {row, target} <= CODES_OF_JSON


@pytest.mark.spark
@pytest.mark.parametrize(("source", "record", "target"), SIDES)
def test_sides_on_spark(spark, source, record, target):
    (row,) = on_spark(spark, table(**{"columns": KEYS, **source}), [record])
    assert row == target or {row, target} <= CODES_OF_JSON


def test_a_record_without_value_stays_one():
    ((row, *_),) = in_python(table(KEYS, **APART), [Sent(None, key=KEY)])
    assert row is None


def test_stages_see_columns_and_the_plan_says_where_they_come_from():
    one = table({"name": "STRING", **DECODED, "offset": "BIGINT METADATA"})
    ((row, *_),) = in_python(one, [Sent(headers=(("h", b"abc"),))], MASK)
    assert (row["name"], row["utf8"], row["ascii"]) == ("", "", "abc")
    plan = plan_table(parse_chain(MASK), one)
    assert plan.lineage["utf8"] == ("headers.h",) and plan.lineage["offset"] == ("offset",)
    assert {"name", "utf8"} <= plan.masked
    assert [e.path for e in plan.entries if e.action == "undecoded"] == [n for n in DECODED if n != "bytes"]


COMPARED = [
    (Sent(VALUE, key=KEY), ["id"]),
    (Sent(VALUE, key=b'{"id":2,"region":"eu"}'), []),
    (Sent(VALUE, key=b'{"id":2}'), ["region"]),
    (Sent(VALUE), ["id", "region"]),
    (Sent(b'{"note":"n"}', key=KEY), ["id", "region"]),
    (Sent(None, key=KEY), []),  # no value, no row
]
MISMATCHES = [("id" in names) << 1 | ("region" in names) << 2 for _, names in COMPARED]
CHECKED = table(KEYS, **BOTH, fields_verify_integrity="check")


def test_keys_that_differ_are_counted():
    entries = plan_table(parse_chain({"transforms": ""}), CHECKED).entries
    assert [(e.action, e.path) for e in entries] == [
        ("added", "offset"),
        ("mismatched", "id"),
        ("mismatched", "region"),
    ]
    message = in_python(CHECKED, [source for source, _ in COMPARED])
    assert [record.touched & 6 for *_, record in message] == MISMATCHES
    assert message[0][0] == {"id": 2, "region": "eu", "note": "n", "offset": 42}  # the value wins


@pytest.mark.spark
def test_keys_that_differ_are_counted_on_spark(spark):
    results = [replace(results, offset=number) for number, (results, _) in enumerate(COMPARED)]
    rows = evaluated(spark, CHECKED, results).orderBy("__offset").collect()
    assert [row["__touched"][0] & 6 for row in rows] == MISMATCHES


NESTED = {
    "s": "STRUCT<a: INT, b: STRUCT<c: DOUBLE>>",
    "d": "DOUBLE",
    "m": "MAP<STRING, INT>",
    "n": "ARRAY<DOUBLE>",
    "t": "STRUCT<m: MAP<STRING, DOUBLE>>",
    "offset": "BIGINT METADATA",
}
INTEGRITY_OF_NESTED = [
    (b'{"s":{"a":1}}', b'{"s":{"a":2}}', "s"),
    (b'{"s":{"a":1}}', b'{"s":{"a":1}}', ""),
    (b'{"s":{"a":1,"b":{"c":2}}}', b'{"s":{"a":1,"b":{"c":3}}}', "s"),
    (b'{"s":{"a":1,"b":{}}}', b'{"s":{"a":1}}', "s"),
    (b'{"s":{}}', b"{}", "s"),
    (b"{}", b'{"s":{}}', "s"),
    (b"{}", b"{}", ""),
    (b'{"d":"NaN"}', b'{"d":"NaN"}', ""),
    (b'{"d":"NaN"}', b'{"d":1}', "d"),
    (b'{"s":{"b":{"c":"NaN"}}}', b'{"s":{"b":{"c":"NaN"}}}', ""),
    (b'{"n":[1,"NaN"]}', b'{"n":[1,"NaN"]}', ""),
    (b'{"n":[1]}', b'{"n":[1,2]}', "n"),
    (b'{"m":{"x":1,"y":2}}', b'{"m":{"y":2,"x":1}}', ""),
    (b'{"m":{"x":1}}', b'{"m":{"x":2}}', "m"),
    (b'{"m":{"x":1}}', b"{}", "m"),
    (b'{"t":{"m":{"x":"NaN"}}}', b'{"t":{"m":{"x":"NaN"}}}', ""),
    (b'{"t":{"m":{"x":1}}}', b'{"t":{"m":{"z":1}}}', "t"),
    (b'{"t":{"m":{}},"s":{"a":1}}', b'{"t":{},"s":{"a":1}}', "t"),
]
NESTED_RECORDS = [Sent(value, key=key, offset=n) for n, (key, value, _) in enumerate(INTEGRITY_OF_NESTED)]


def nested(integrity):
    fields = tuple(name for name in NESTED if name != "offset")
    return table(NESTED, key_fields=fields, key=Format("json"), fields_verify_integrity=integrity)


def nested_mismatches():
    """For each record, the columns that differ, as the stage's entries for them."""
    numbers = {e.path: 1 << n for n, e in enumerate(plan_table(parse_chain(NOTHING), nested("check")).entries)}
    return [numbers.get(name, 0) for _, _, name in INTEGRITY_OF_NESTED]


def test_keys_are_compared_with_structs_maps_and_numbers_that_are_none():
    counted = [record.touched & ~1 for *_, record in in_python(nested("check"), NESTED_RECORDS)]
    assert counted == nested_mismatches()
    rows = [row for row, *_ in in_python(nested(True), NESTED_RECORDS)]
    assert [row == "SMT436" for row in rows] == [bool(name) for _, _, name in INTEGRITY_OF_NESTED]


@pytest.mark.spark
def test_keys_are_compared_with_structs_maps_and_numbers_that_are_none_on_spark(spark):
    counted = evaluated(spark, nested("check"), NESTED_RECORDS).orderBy("__offset").collect()
    assert [row["__touched"][0] & ~1 for row in counted] == nested_mismatches()
    rows = evaluated(spark, nested(True), NESTED_RECORDS).orderBy("__offset").collect()
    results = [row["__problem"] and row["__problem"]["code"] for row in rows]
    assert results == ["SMT436" if name else None for _, _, name in INTEGRITY_OF_NESTED]


AVRO_KEY = {"type": "record", "name": "K", "fields": [{"name": "id", "type": ["null", "string"]}]}
OTHER_TYPE = [(b'{"id":7}', "7"), (b'{"id":7}', "x"), (b'{"id":7}', None), (b"{}", "7"), (b"{}", None)]


def of_other_type(integrity):
    """A topic table whose keys have their own schema, with a string for the column ``id``; and records of the topic."""
    key = Format("avro", options={"schema": json.dumps(AVRO_KEY)})
    columns = {"id": "BIGINT", "offset": "BIGINT METADATA"}
    records = []
    for number, (value, text) in enumerate(OTHER_TYPE):
        data = io.BytesIO()
        fastavro.schemaless_writer(data, fastavro.parse_schema(AVRO_KEY), {"id": text})
        records.append(Sent(value, key=data.getvalue(), offset=number))
    return table(columns, key_fields=("id",), key=key, fields_verify_integrity=integrity), records


def test_a_number_and_a_string_differ_unless_both_are_null():
    assert [record.touched & 2 for *_, record in in_python(*of_other_type("check"))] == [2, 2, 2, 2, 0]
    rows = [row for row, *_ in in_python(*of_other_type(True))]
    assert rows == 4 * ["SMT436"] + [{"id": None, "offset": 4}]


@pytest.mark.spark
def test_a_number_and_a_string_differ_unless_both_are_null_on_spark(spark):
    rows = evaluated(spark, *of_other_type("check")).orderBy("__offset").collect()
    assert [row["__touched"][0] & 2 for row in rows] == [2, 2, 2, 2, 0]


def test_a_record_without_value_has_nothing_that_could_differ():
    strict = table(KEYS, **BOTH, fields_verify_integrity=True)
    assert in_python(strict, [Sent(None, key=KEY)])[0][0] is None


@pytest.mark.spark
def test_a_record_without_value_has_nothing_that_could_differ_on_spark(spark):
    strict = table(KEYS, **BOTH, fields_verify_integrity=True)
    (row,) = evaluated(spark, strict, [Sent(None, key=KEY)]).collect()
    assert row["__problem"]["code"] == "SMT418"  # a table of columns has no row for it


@pytest.mark.parametrize("value", [b"[1]", b'"x"', b'{"offset":1}'])
def test_what_cannot_take_columns(value):
    ((row, *_),) = in_python(table("offset BIGINT METADATA"), [Sent(value)])
    assert row in ("SMT434", "SMT435")
