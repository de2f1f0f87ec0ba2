"""Debezium's transforms on change events: the Spark evaluator does with each what the Python evaluator does."""

import json

import pytest

from dagster_smt.chain import parse_chain, plan_chain
from dagster_smt.chain.forms import plan_forms
from dagster_smt.interpret.interpreter import PASSED, Interpreter
from dagster_smt.model.record import Record
from dagster_smt.model.schema_json import schema_from_json
from dagster_smt.model.topics.format import Format
from dagster_smt.spark import sql
from dagster_smt.spark.evaluate import evaluate
from dagster_smt.spark.plain import to_plain
from dagster_smt.spark.reading.window_forms import window_forms
from dagster_smt.spark.types import internal_type
from dagster_smt.tables.topic_table import FileTopics, TopicTable
from dagster_smt.transforms.debezium.extract_new_record_state import ExtractNewRecordState
from tests.quick import quick
from tests.spark.made_up import TOPICS, Example
from tests.spark.test_envelopes_agree import expected, same
from tests.spark.test_evaluators_agree import compare, frame_of, outer
from tests.transforms.debezium.events import (
    ID,
    IN_TRANSACTION,
    LONG,
    NEW,
    OLD,
    ROW_NAME,
    TEXT,
    added,
    event_schema,
    payload,
    row_schema,
    struct,
    text,
)
from tests.transforms.debezium.test_event_router import ROW as MESSAGE
from tests.transforms.debezium.test_event_router import schema_of
from tests.transforms.debezium.test_timezone_converter import COLUMNS, SOURCE

MODE = "delete.tombstone.handling.mode"
NESTED = {"field": "at", **struct({"city": {"type": "string"}, "n": {"type": "int32", "optional": True}}, None, True)}
ROW = row_schema(ID, {**ROW_NAME, "default": "d"}, NESTED, optional=True)
SCHEMA = event_schema(ROW)
HOME = {"city": "x", "n": None}
EVENTS = [
    payload("c", None, {**OLD, "at": HOME}),
    payload("u", {**OLD, "at": None}, {**NEW, "at": HOME}, IN_TRANSACTION),
    payload("d", {**OLD, "at": {"city": "y", "n": 7}}, None),
    payload("d", {"id": 2, "name": " ", "at": None}, None, IN_TRANSACTION),
    payload("r", None, {"id": 3, "name": None, "at": None}),
    payload("d"),
    payload("t"),
    None,
]
TYPE = ExtractNewRecordState.connect_class
ADDED = {"add.fields": "op,lsn,id,before.name,tabel", "add.headers": "op,source.lsn,transaction.id"}
MODES = ("drop", "tombstone", "rewrite", "rewrite-with-tombstone", "delete-to-tombstone")


def with_names(options):
    return {"alias": "unwrap", "type": TYPE, "options": options}


# they make columns of the topic, and of whether there is a header
SHOW = [{"alias": "topic", "type": "InsertField$Value", "options": {"topic.field": "topic"}}] + [
    {
        "alias": f"has{n}",
        "type": "InsertField$Value",
        "options": {"static.field": f"has{n}", "static.value": "x"},
        "predicate": {"name": f"has{n}", "type": "HasHeaderKey", "options": {"name": name}},
    }
    for n, name in enumerate(("__op", "__source_lsn"))
]
CASES = {
    **{mode: [with_names({MODE: mode})] for mode in MODES},
    **{f"{mode}, told": [with_names({MODE: mode, **ADDED, "route.by.field": "name"}), *SHOW] for mode in MODES},
    "nulls stay": [with_names({MODE: "rewrite", "replace.null.with.default": False})],
    "a struct that is not null": [with_names({"add.fields": "transaction"})],
    "rows that a stage took apart": [
        {"alias": "c", "type": "Cast$Value", "options": {"spec": "after.at.n:string,before.at.n:string",
                                                         "field.syntax.version": "V2"}},
        with_names({MODE: "rewrite", "add.headers": "before"}),
        {"alias": "d", "type": "ReplaceField$Value", "options": {"exclude": "at.city", "field.syntax.version": "V2"}},
    ],
    "one that a stage took apart": [
        {"alias": "m", "type": "MaskField$Value", "options": {"fields": "after.name,after.at.city",
                                                              "field.syntax.version": "V2"}},
        with_names({MODE: "rewrite-with-tombstone", "add.fields": "before.name"}),
    ],
    "twice": [with_names({MODE: "rewrite"}), {**with_names({}), "alias": "again"}],
}  # fmt: skip


ROUTER = "io.debezium.transforms.ByLogicalTableRouter"
KEY = schema_from_json(row_schema(ID, optional=True, name="dummy.Key"))


def route(regex, **options):
    options = {"topic.regex": regex, "topic.replacement": "all", **options}
    return {"alias": "route", "type": ROUTER, "options": options}


# (stages, whether there are keys): some topics, or all of them, match
ROUTED = {
    "all topics": ([route(".*", **{"key.field.regex": "(o).*", "key.field.replacement": "$1"}), SHOW[0]], True),
    "one topic": ([route(TOPICS[0]), SHOW[0]], True),
    "one topic, no keys": ([route(TOPICS[0]), SHOW[0]], False),
    "rows of several tables": ([route(".*"), with_names({MODE: "rewrite"}), SHOW[0]], True),
}


@pytest.mark.parametrize("name", ROUTED)
def test_topics_agree(spark, name):
    stages, keyed = ROUTED[name]
    keys = [b'{"id":1}', None] if keyed else [None]
    events = [(*row, keys[n % 3 % len(keys)]) for n, row in enumerate(rows(EVENTS))]
    chain, key = parse_chain(stages), KEY if keyed else None
    plan = plan_chain(chain, key, schema_from_json(SCHEMA), topics=TOPICS, typed=True)
    form = Format("json_schema", KEY) if keyed else Format("string")
    value = Format("json_schema", schema_from_json(SCHEMA))
    table = TopicTable(FileTopics("unused"), TOPICS, key=form, value=value)
    done = {r["__offset"]: r for r in evaluate(frame_of(spark, events), plan, table, "columns").collect()}
    interpreter = Interpreter(chain, form, value)
    for offset, (text_, topic, _, key_) in enumerate(events):
        record = Record(topic, 0, offset, 0, "CreateTime")
        assert interpreter.read(record, key_, text_).status == PASSED
        outcome = interpreter.run(record)
        result, problem = done[offset], done[offset]["__problem"]
        if keyed and name == "one topic" and topic != TOPICS[0]:
            assert problem["code"] == "SMT478"  # said in the docstring: columns have one form of key
        elif outcome.status == PASSED and record.value is None:
            assert problem["code"] == "SMT418"
        else:
            assert (result["__status"], result["__touched"][0]) == (outcome.status, record.touched), problem
            if outcome.status == PASSED:
                assert result["__out"][-1] == record.value["topic"]


OUTBOX = schema_of(columns={"payload": {"type": "string", "optional": True}}, row="shop.outbox.Value")
MESSAGES = [
    {"before": None, "after": {**MESSAGE, **row}, "op": op, "ts_ms": at}
    for op, at, row in (
        ("c", 1556890294484, {}),
        ("r", None, {"payload": None, "aggregatetype": "Order"}),
        ("c", 0, {"payload": " ", "is_deleted": None}),
        ("u", 1, {}),
    )
]
MESSAGES += [{**MESSAGES[0], "op": "d", "after": None}, {**MESSAGES[0], "op": "t", "after": None}, None]
ROUTE = {"alias": "route", "type": "io.debezium.transforms.outbox.EventRouter"}
METADATA = {
    "alias": "at",
    "type": "InsertField$Value",
    "options": {"topic.field": "topic", "timestamp.field": "at", "replace.null.with.default": False},
}
PLACED = {"table.fields.additional.placement": "type:envelope,is_deleted:envelope:gone,type:header:__op"}
BLANK = {"route.tombstone.on.empty.payload": True}
TYPES = {"alias": "mask", "type": "MaskField$Value",
         "options": {"fields": "after.type", "field.syntax.version": "V2"}}  # fmt: skip
SENT = {
    "payload": [{**ROUTE, "options": {}}],
    "envelope": [{**ROUTE, "options": PLACED}, METADATA, SHOW[1]],
    "tombstones": [{**ROUTE, "options": {**PLACED, **BLANK}}, METADATA],
    "fatal": [{**ROUTE, "options": {**PLACED, "table.op.invalid.behavior": "fatal"}}],
    "rows that a stage took apart": [TYPES, {**ROUTE, "options": PLACED}, METADATA],
}


@pytest.mark.parametrize("name", quick(SENT, "envelope", "tombstones"))
def test_messages_of_an_outbox_agree(spark, name):
    compare(spark, Example(schema_from_json(OUTBOX), SENT[name], rows(MESSAGES)))


ZONE = "io.debezium.transforms.TimezoneConverter"
TIMES = schema_from_json(
    struct({"after": struct(COLUMNS, None, True), "source": struct(SOURCE, "source", True), "op": TEXT, "ts_ms": LONG},
           "shop.Envelope")
)  # fmt: skip
CLOCK = [
    {"after": {"ms": ms, "us": ms and ms * 1000, "ns": ms and ms * 10**6 + 1, "at": ms, "zoned": zoned,
               "order_date_zoned_time": of_day},
     "source": {"table": table, "ts_ms": ms}, "op": "c", "ts_ms": at}
    for ms, zoned, of_day, table, at in (
        (1583634600000, "2020-03-08T07:00:00Z", "11:15:30.120+00:00", "customers", 1600000000000),
        (-1, None, None, "other", None),
        (None, "2020-02-30T00:00:00Z", None, "customers", 0),
        (0, None, "24:00Z", None, 0),
        (0, None, "12:00Z", "customers", None),
    )
] + [{"after": None, "source": None, "op": "d", "ts_ms": 0}, None]  # fmt: skip
ZONES = {
    "all": {},
    "some": {"include.list": f"topic:{TOPICS[0]}:ms,source:customers:zoned,customers:source.ts_ms"},
    "others": {"exclude.list": f"topic:{TOPICS[0]}:at,source:customers"},
}


@pytest.mark.parametrize("name", quick(ZONES, "some"))
def test_times_in_a_zone_agree(spark, name):
    stage = {"alias": "zone", "type": ZONE, "options": {"converted.timezone": "America/Chicago", **ZONES[name]}}
    compare(spark, Example(TIMES, [stage], rows(CLOCK)))


def rows(events):
    return [(None if e is None else json.dumps(e).encode(), TOPICS[n % 2], ()) for n, e in enumerate(events)]


@pytest.mark.parametrize("name", quick(CASES, *[name for name in CASES if name not in MODES]))
def test_events_agree(spark, name):
    compare(spark, Example(schema_from_json(SCHEMA), CASES[name], rows(EVENTS)))


ENVELOPE = Format("envelope")
TABLE = TopicTable(FileTopics("unused"), TOPICS, value=ENVELOPE)
WIDER = event_schema(row_schema(ID, added("city"), optional=True))
STREAM = [(e and text(SCHEMA, e).encode(), "orders", ()) for e in EVENTS]
STREAM += [(text(WIDER, payload("u", None, {"id": 4, "city": "x"})).encode(), "orders", ())]
STREAM += [(text(row_schema(), OLD).encode(), "orders", ())]


@pytest.mark.parametrize("mode", MODES)
def test_envelopes_agree(spark, mode):
    """The schemas are in the records; a table has the columns of all of them."""
    envelopes_agree(spark, parse_chain([with_names({MODE: mode, **ADDED})]), STREAM)


def test_envelopes_of_an_outbox_agree(spark):
    """Every topic has a schema of its own; the columns are the same."""
    stream = [(e and text(OUTBOX, e).encode(), "orders", ()) for e in MESSAGES]
    envelopes_agree(spark, parse_chain([{**ROUTE, "options": PLACED}]), stream)


def envelopes_agree(spark, chain, stream):
    frame = frame_of(spark, stream)
    plan = plan_forms(chain, window_forms(frame, TABLE).forms, topics=TOPICS)
    result = evaluate(frame, plan, TABLE, "columns")
    plain = to_plain(sql.col("__out").cast(internal_type(outer(plan.after))), outer(plan.after)).alias("__out")
    results = {r["__offset"]: r for r in sql.select(result, plain.alias("plain"), also=True).collect()}
    for offset, (outcome, record) in enumerate(expected(chain, stream)):
        same(results[offset], outcome, record, plan)
