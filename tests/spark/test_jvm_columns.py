"""Declared JSON in the JVM lane on Spark: the rows are those of the reader in Python, and only odd texts go there."""

import json
import re

import pytest

from dagster_smt.chain import parse_chain, plan_chain
from dagster_smt.chain.forms import plan_forms
from dagster_smt.jvm.availability import VARIABLE
from dagster_smt.model.schema import INT64, STRING, Schema, Type, optional, timestamp
from dagster_smt.model.topics.format import Format
from dagster_smt.spark.by_schema import by_schema
from dagster_smt.spark.evaluate import evaluate, left_records
from dagster_smt.spark.outcome_columns import LEFT, LEFT_RECORD
from dagster_smt.spark.reading.window_forms import window_forms
from dagster_smt.spark.records.jvm_records import with_left
from dagster_smt.tables.topic_table import FileTopics, TopicTable
from tests.spark.test_json_columns import DOES_NOT_FIT, FITS, OPTIONAL
from tests.spark.test_jvm_records import frame_of, lane_calls, physical_plan, rows_of

ALL = OPTIONAL.with_(fields=tuple(field for field in OPTIONAL.fields if field[0] != "pairs"))
FAR = ("-719162", "2147483647", "9223372036854775}", "9223372036854776}")
TEXTS = [text.encode() for text in [*FITS, *DOES_NOT_FIT] if not any(far in text for far in FAR)] + [None, b""]
"""Without days that Python has no dates for: PySpark cannot collect them."""
FLAT = Schema(
    Type.STRUCT,
    fields=(
        ("id", INT64),
        *((name, optional(STRING)) for name in ("note", "amount", "device", "status")),
        ("ts", optional(INT64)),
        ("at", optional(timestamp())),
    ),
)
FIVE = {
    "transforms": "hide,amount,tidy,when,origin",
    "transforms.hide.type": "MaskField$Value",
    "transforms.hide.fields": "note",
    "transforms.amount.type": "Cast$Value",
    "transforms.amount.spec": "amount:float64",
    "transforms.tidy.type": "ReplaceField$Value",
    "transforms.tidy.exclude": "device",
    "transforms.tidy.renames": "status:state",
    "transforms.when.type": "TimestampConverter$Value",
    "transforms.when.field": "ts",
    "transforms.when.target.type": "string",
    "transforms.when.format": "yyyy-MM-dd HH:mm:ss",
    "transforms.origin.type": "InsertField$Value",
    "transforms.origin.topic.field": "topic",
}
AS_READ = Schema(
    Type.STRUCT,
    fields=(
        ("id", optional(INT64)),
        *(field for field in FLAT.fields if field[0] not in ("id", "at")),
        ('n`o"\n.', optional(STRING)),
        ("at", optional(INT64)),
    ),
)
RENAMES = {
    "transforms": "hide,tidy",
    "transforms.hide.type": "MaskField$Value",
    "transforms.hide.fields": "note",
    "transforms.tidy.type": "ReplaceField$Value",
    "transforms.tidy.exclude": "device",
    "transforms.tidy.renames": "status:st`ate",
}
RECORDS = [
    b'{"id":1,"note":"x","amount":"12.5","device":"d","status":"new","ts":1556204536123,"at":1556204536123}',
    b'{"id":2,"amount":"much"}',
    b'{"id":3,"amount":null,"ts":-1}',
    b'{"id":4,"n\\u006fte":"secret","ts":1e3}',
    b'{"id":5,"n\\u006fte":"secret","ts":1000}',
    b'{"id":"6"}',
    b"{",
    None,
]


def evaluated(frame, chain, schema, key=None, whole=True):
    topics = ("raw.eu", "raw.us")
    form = Format("string") if key is None else Format("json_schema", key)
    table = TopicTable(FileTopics("topics"), topics=topics, key=form, value=Format("json_schema", schema))
    plan = plan_chain(parse_chain(chain), form.known_schema, schema, topics=topics, typed=True)
    return evaluate(frame, plan, table, "columns", whole=whole), lambda rows: left_records(rows, plan, table)


def in_python(monkeypatch, *arguments):
    monkeypatch.setenv(VARIABLE, "off")
    frame, _ = evaluated(*arguments)
    assert "dagstersmt" not in physical_plan(frame)
    rows = rows_of(frame)
    monkeypatch.delenv(VARIABLE)
    return rows


@pytest.mark.parametrize(
    ("chain", "schema", "values"),
    [({"transforms": ""}, ALL, TEXTS), (FIVE, FLAT, RECORDS)],
    ids=["every type", "five stages"],
)
def test_the_rows_are_those_of_python(spark, monkeypatch, chain, schema, values):
    frame = frame_of(spark, values)
    want = in_python(monkeypatch, frame, chain, schema)
    whole, _ = evaluated(frame, chain, schema)
    assert rows_of(whole) == want
    lane, rest = evaluated(frame, chain, schema, whole=False)
    remainder = lane.persist()
    assert {row["__status"] for row in remainder.collect()} >= {0, LEFT}
    assert rows_of(with_left(remainder, rest(remainder))) == want
    remainder.unpersist()


@pytest.mark.parametrize("chain", [{"transforms": ""}, RENAMES], ids=["no stage", "other names"])
def test_a_struct_that_no_stage_changes_is_not_taken_apart(spark, monkeypatch, chain):
    frame = frame_of(spark, RECORDS)
    want = in_python(monkeypatch, frame, chain, AS_READ)
    whole, _ = evaluated(frame, chain, AS_READ)
    # the argument is the struct, which Spark 3.5 prints after the types of the call and under another name
    assert re.search(r"dagstersmt\.Relabel\b.*?\binvoke(, value#|\(read_value)", physical_plan(whole), re.DOTALL)
    assert rows_of(whole) == want and any(row["__out"] for row in want)
    inserts, _ = evaluated(frame, FIVE, FLAT)
    assert "dagstersmt.Relabel" not in physical_plan(inserts)


def test_no_record_that_fits_travels_to_python(spark):
    lane, _ = evaluated(frame_of(spark, RECORDS[:1]), FIVE, FLAT, whole=False)
    plan = physical_plan(lane)
    assert lane_calls(plan, "Columns") == 1
    assert "MapInArrow" not in plan
    assert "ArrowEvalPython" not in plan
    (row,) = lane.collect()
    assert row["__status"] == 0
    assert row[LEFT_RECORD] is None
    assert json.loads(json.dumps(row["__out"].asDict(), default=str))["ts"] == "2019-04-25 15:02:16"


def test_both_sides_are_read(spark, monkeypatch):
    chain = {
        "transforms": "copy",
        "transforms.copy.type": "ReplaceField$Key",
        "transforms.copy.exclude": "note",
    }
    frame = frame_of(spark, RECORDS, key=b'{"id":1,"note":"x"}')
    want = in_python(monkeypatch, frame, chain, FLAT, FLAT)
    assert rows_of(evaluated(frame, chain, FLAT, FLAT)[0]) == want


SCHEMA = b'{"type":"struct","fields":[{"type":"string","field":"a"},{"type":"int64","optional":true,"field":"n"}]}'
ENVELOPES = [
    b'{"schema":%b,"payload":{"a":"x","n":5}}' % SCHEMA,
    b'{"payload":{"a":"y"},"schema":%b}' % SCHEMA,
    b'{"schema":%b,"payload":{"a":"x","n":"5"}}' % SCHEMA,  # a field that goes does not fit
    b'{"schema":%b,"payload":null}' % SCHEMA,
    b'{"schema":%b,"payload":{"a":"x"},"more":1}' % SCHEMA,
    b'{"schema":null,"payload":{"a":"x"}}',
    b"",
    b"{",
]


def test_envelopes_are_what_python_makes_of_them(spark, monkeypatch):
    monkeypatch.setattr("dagster_smt.spark.by_schema._RECORDS", 0)
    topics = ("raw.eu", "raw.us")
    table = TopicTable(FileTopics("topics"), topics=topics, value=Format("envelope"))
    chain = {"transforms": "d", "transforms.d.type": "ReplaceField$Value", "transforms.d.exclude": "n"}
    frame = frame_of(spark, ENVELOPES)
    forms = window_forms(frame, table)
    plan = plan_forms(parse_chain(chain), forms.forms, topics=topics)
    assert len(by_schema(spark, plan, table, forms)) == 1
    want = rows_of(evaluate(frame, plan, table, "columns"))
    assert [row["__status"] for row in want] == [0, 0, 2, 2, 2, 2, 2, 2]
    assert rows_of(evaluate(frame, plan, table, "columns", forms=forms)) == want
    rest = evaluate(frame, plan, table, "columns", forms=forms, whole=False).persist()
    assert rows_of(with_left(rest, left_records(rest, plan, table))) == want
    rest.unpersist()


HOIST = {"transforms": "h", "transforms.h.type": "HoistField$Value", "transforms.h.field": "all"}
NULLS = {
    "a null and an odd envelope": ([ENVELOPES[0], ENVELOPES[4], None], 0),
    "a null": ([ENVELOPES[0], None], 0),
    "an odd envelope": ([ENVELOPES[0], ENVELOPES[4]], 1),
}


@pytest.mark.parametrize(("values", "schemas"), NULLS.values(), ids=NULLS)
def test_python_reads_the_envelopes_if_a_stage_sees_a_null(spark, values, schemas):
    topics = ("raw.eu", "raw.us")
    table = TopicTable(FileTopics("topics"), topics=topics, value=Format("envelope"))
    frame = frame_of(spark, values)
    forms = window_forms(frame, table)
    plan = plan_forms(parse_chain(HOIST), forms.forms, topics=topics)
    assert len(by_schema(spark, plan, table, forms)) == schemas
    want = rows_of(evaluate(frame, plan, table, "columns"))
    assert rows_of(evaluate(frame, plan, table, "columns", forms=forms)) == want
