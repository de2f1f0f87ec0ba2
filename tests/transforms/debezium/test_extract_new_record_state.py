"""ExtractNewRecordState: Debezium's own cases (ExtractNewRecordStateTest, the page event-flattening), and the edges."""

import json

import pytest

from dagster_smt.chain import plan_chain
from dagster_smt.errors import PlanError
from dagster_smt.interpret.interpreter import DROPPED_STATUS, Interpreter
from dagster_smt.model.record import Header
from dagster_smt.model.schema import Schema, Type, optional
from dagster_smt.transforms.debezium.extract_new_record_state import ExtractNewRecordState
from tests.transforms.debezium.events import (
    AT,
    CREATE,
    DELETE,
    FROM,
    ID,
    LONG,
    MODEL,
    NEW,
    OLD,
    ROW_NAME,
    STAMPS,
    TRUNCATE,
    UPDATE,
    added,
    event,
    event_schema,
    row,
    row_schema,
    struct,
    text,
)
from tests.transforms.helpers import Case, chain_of, check, expectation, record_of, refusal, shown

MODE = "delete.tombstone.handling.mode"
PLACE = "{} transforms.t (ExtractNewRecordState): {}"
HEADERS = {"shows": "headers", "input_part": "value"}
TOPIC = {"shows": "topic", "input_part": "value"}
DEFAULT = event("c", None, {"id": 1, "name": None}, schema=event_schema(
    row_schema(ID, {**ROW_NAME, "default": "default_str"}, optional=True)))  # fmt: skip
CHANGED = event_schema(row_schema(ID, ROW_NAME, {"field": "started_at", **LONG}, optional=True))
ITEMS = {"type": "array", "items": {"type": "string"}, "optional": True}
UNLIKE = event_schema(row_schema(optional=True), row_schema(ID, optional=True))
DELETED = added("__deleted")
OPTIONAL = {**event_schema(), "optional": True}


def headers(**result):
    return json.dumps([{"key": key, "value": value} for key, value in result.items()])


DEBEZIUMS = (
    *(Case(f"tombstone: {mode}", {MODE: mode}, "null", None)
      for mode in ("drop", "tombstone", "rewrite", "delete-to-tombstone")),
    Case("tombstone that passes", {MODE: "rewrite-with-tombstone"}, "null", "null", touches=()),
    *(Case(f"truncated: {mode}", {MODE: mode}, TRUNCATE, None)
      for mode in ("drop", "tombstone", "rewrite", "rewrite-with-tombstone", "delete-to-tombstone")),
    Case("delete: drop", {MODE: "drop"}, DELETE, None),
    Case("delete: tombstone", {}, DELETE, text(row_schema(optional=True), None), touches=()),
    Case("delete: delete-to-tombstone", {MODE: "delete-to-tombstone"}, DELETE, "null"),
    Case("delete: rewrite", {MODE: "rewrite"}, DELETE, row({**OLD, "__deleted": "true"}, DELETED),
         touches=("__deleted",)),
    Case("create: rewrite", {MODE: " Rewrite "}, CREATE, row({**OLD, "__deleted": "false"}, DELETED)),
    Case("create: the header of rewrite", {MODE: "rewrite", "add.headers": "op"}, CREATE, headers(__op="c"), **HEADERS),
    Case("create", {}, CREATE, row(OLD)),
    Case("update", {}, UPDATE, row(NEW)),
    Case("nulls stay", {}, DEFAULT, row({"id": 1, "name": None}).replace(
        '"optional": true}]', '"optional": true, "default": "default_str"}]')),
    Case("rewrite puts in defaults", {MODE: "rewrite"}, DEFAULT, text(row_schema(
        ID, {**ROW_NAME, "default": "default_str"}, DELETED), {"id": 1, "name": "default_str", "__deleted": "false"})),
    Case("rewrite keeps nulls", {MODE: "rewrite", "replace.null.with.default": "false"}, DEFAULT, text(row_schema(
        ID, {**ROW_NAME, "default": "default_str"}, DELETED), {"id": 1, "name": None, "__deleted": "false"})),
    Case("another struct passes", {"add.headers": "op"}, row(OLD, name="unknown"), row(OLD, name="unknown"),
         touches=()),
    Case("an unnamed struct passes", {}, row(OLD, name=None), row(OLD, name=None)),
    Case("an added field", {"add.fields": "op"}, CREATE, row({**OLD, "__op": "c"}, added("__op")), touches=("__op",)),
    Case("a new column", {"add.fields": "op"}, event("c", None, {**OLD, "started_at": 5}, schema=CHANGED), text(
        row_schema(ID, ROW_NAME, {"field": "started_at", **LONG}, added("__op")),
        {**OLD, "started_at": 5, "__op": "c"})),
    Case("times", {"add.fields": "source.ts_ms:S,source.ts_us:SU,source.ts_ns:SN,ts_ms,ts_us,ts_ns"}, CREATE,
         row({**OLD, "__S": STAMPS["ts_ms"], "__SU": STAMPS["ts_us"], "__SN": STAMPS["ts_ns"],
              "__ts_ms": AT["ts_ms"], "__ts_us": AT["ts_us"], "__ts_ns": AT["ts_ns"]},
             *(added(f"__{n}", "int64") for n in ("S", "SU", "SN", "ts_ms", "ts_us", "ts_ns")))),
    Case("another prefix", {"add.fields": "op , lsn,id", "add.fields.prefix": "prefix."}, UPDATE,
         row({**NEW, "prefix.op": "u", "prefix.lsn": 1234, "prefix.id": "571"},
             added("prefix.op"), added("prefix.lsn", "int32"), added("prefix.id"))),
    Case("new names", {"add.fields": "op:OP, lsn:LSN, id:ID, source.lsn:source_lsn, transaction.total_order:TOTAL",
                       "add.fields.prefix": ""}, UPDATE,
         row({**NEW, "OP": "u", "LSN": 1234, "ID": "571", "source_lsn": 1234, "TOTAL": 42}, added("OP"),
             added("LSN", "int32"), added("ID"), added("source_lsn", "int32"), added("TOTAL", "int64"))),
    Case("new names of headers",
         {"add.headers": "op, source.lsn:source_lsn, transaction.id:TXN_ID, transaction.total_order:TOTAL",
          "add.headers.prefix": "prefix."}, UPDATE,
         headers(**{"prefix.op": "u", "prefix.source_lsn": 1234, "prefix.TXN_ID": "571", "prefix.TOTAL": 42}),
         **HEADERS),
    Case("no transaction: a null field", {"add.fields": "id"}, CREATE, row({**OLD, "__id": None}, added("__id"))),
    Case("no transaction: a null header", {"add.headers": "op,lsn,id"}, CREATE,
         headers(__op="c", __lsn=1234, __id=None), **HEADERS),
    Case("structs in names", {"add.fields": "source.lsn,transaction.id,before.name"}, UPDATE,
         row({**NEW, "__source_lsn": 1234, "__transaction_id": "571", "__before_name": "myRecord"},
             added("__source_lsn", "int32"), added("__transaction_id"), added("__before_name"))),
    Case("rewrite: added to deleted rows", {MODE: "rewrite", "add.fields": "op,lsn"}, DELETE,
         row({**OLD, "__deleted": "true", "__op": "d", "__lsn": 1234}, DELETED, added("__op"),
             added("__lsn", "int32"))),
    Case("the header of a tombstone", {MODE: "rewrite-with-tombstone", "add.headers": "op,source.lsn"}, "null",
         headers(__op="d"), touches=("__op",), **HEADERS),
    Case("the headers of a deleted row", {MODE: "rewrite-with-tombstone", "add.headers": "op,source.lsn"}, DELETE,
         headers(__op="d", __source_lsn=1234), touches=("__op", "__source_lsn", "__deleted"), **HEADERS),
    Case("a field of the event itself", {"add.fields": "notExisting,op:OP,changes:CHANGED", "add.fields.prefix": ""},
         event("u", OLD, NEW, schema=event_schema(changes=ITEMS), changes=["name"]),
         row({**NEW, "OP": "u", "CHANGED": ["name"]}, added("OP"), {"field": "CHANGED", **ITEMS}),
         touches=("OP", "CHANGED")),
    Case("routed: create", {"route.by.field": "name"}, CREATE, "myRecord", touches=("name",), **TOPIC),
    Case("routed: update", {"route.by.field": "name"}, UPDATE, "updatedRecord", **TOPIC),
    Case("routed: delete", {"route.by.field": "name"}, DELETE, "myRecord", **TOPIC),
)  # fmt: skip
EDGES = (
    Case("no schema", {"add.headers": "op"}, '{"op":"d","before":{"id":1},"after":null}',
         '{"op":"d","before":{"id":1},"after":null}', touches=()),
    Case("a deleted row without the one before", {MODE: "rewrite"}, event("d"), None),
    Case("op does not decide", {MODE: "rewrite"}, event("u", OLD, None), row({**OLD, "__deleted": "true"}, DELETED)),
    Case("null under the schema of the event, passes", {MODE: "rewrite-with-tombstone", "add.headers": "op"},
         text(OPTIONAL, None), headers(__op="d"), **HEADERS),
    Case("null under the schema of the event, dropped", {}, text(OPTIONAL, None), None),
    Case("blank: not routed", {"route.by.field": "name"}, event("c", None, {"id": 1, "name": " \t"}), "orders",
         touches=(), **TOPIC),
    Case("null: not routed", {"route.by.field": "name"}, event("c", None, {"id": 1, "name": None}), "orders", **TOPIC),
    Case("routed by the default", {"route.by.field": "name", MODE: "rewrite"}, DEFAULT, "default_str", **TOPIC),
    Case("a struct that is null", {"add.fields": "transaction"}, CREATE,
         text(row_schema(ID, ROW_NAME, {"field": "__transaction", **struct({}, "event.block", True)}),
              {**OLD, "__transaction": None})),
    Case("rows that differ, without rewriting", {}, event("u", {"id": 1}, NEW, schema=UNLIKE), row(NEW)),
    refusal("a struct", {"add.fields": "source"}, CREATE,
            PLACE.format("SMT473", "a value of the type struct cannot be added to a row")),
    refusal("no such struct", {"add.fields": "id"}, event("c", None, OLD, schema=event_schema(transaction=None)),
            PLACE.format("SMT471", "change events have no struct 'transaction' for 'id'")),
    refusal("no struct", {"add.headers": "op.x"}, CREATE,
            PLACE.format("SMT201", "only a struct can be used for [read 'op.x'], but this is string")),
    refusal("no rows", {}, text(struct({"op": {"type": "string"}}, "x.Heartbeat.Envelope"), {"op": "c"}),
            PLACE.format("SMT470", "a change event has no field 'after'")),
    Case("rows that differ, each by itself", {MODE: "rewrite"}, event("u", {"id": 1}, NEW, schema=UNLIKE),
         row({**NEW, "__deleted": "false"}, DELETED)),
    refusal("no op", {}, event("u", OLD, NEW, schema=event_schema(op=None)),
            PLACE.format("SMT474", "there is no field 'op', but it must be a string")),
    refusal("routed by a number", {"route.by.field": "id"}, CREATE,
            PLACE.format("SMT474", "the field 'id' is int8, but it must be a string")),
    refusal("routed by nothing", {"route.by.field": "x"}, CREATE,
            PLACE.format("SMT474", "there is no field 'x', but it must be a string")),
    refusal("a name twice", {"add.fields": "op:name", "add.fields.prefix": ""}, CREATE,
            PLACE.format("SMT111", "two fields would be named 'name'")),
    refusal("__deleted is there", {MODE: "rewrite"},
            event("c", None, {"id": 1, "__deleted": "x"},
                  schema=event_schema(row_schema(ID, DELETED, optional=True))),
            PLACE.format("SMT111", "two fields would be named '__deleted'")),
    refusal("another mode", {MODE: "none"}, "null", "SMT013 transforms.t (ExtractNewRecordState) "
            f"{MODE}: must be one of: drop, tombstone, rewrite, rewrite-with-tombstone, delete-to-tombstone"),
    refusal("three parts", {"add.fields": "a:b:c"}, "null", "SMT014 transforms.t (ExtractNewRecordState) add.fields: "
            "'a:b:c' is not a field, or a field and its new name with ':' between them"),
)  # fmt: skip


@pytest.mark.parametrize("case", [*DEBEZIUMS, *EDGES], ids=lambda case: case.title)
def test_extract_new_record_state(case):
    check(ExtractNewRecordState, case)


HEADER = {"drop.fields.header.name": "drop"}
FROM_KEY, ALL = {"drop.fields.from.key": "true"}, {"drop.fields.keep.schema.compatible": "false"}
NAMES = ["id", "name"]
KEY = text(row_schema(ID, name="dummy.Key"), {"id": 1})
NO_KEY, NO_ROW = text(struct({}, "dummy.Key"), {}), text(struct({}, "dummy.Value"), {})
# (title, options, names in the header, event, the value after, the key after)
DROPPED = (
    ("optional fields", {}, NAMES, CREATE, text(row_schema(ID), {"id": 1}), KEY),
    ("of the key, which is required", FROM_KEY, NAMES, UPDATE, text(row_schema(ID), {"id": 1}), KEY),
    ("all", ALL, NAMES, UPDATE, NO_ROW, KEY),
    ("all, of the key too", {**ALL, **FROM_KEY}, NAMES, CREATE, NO_ROW, NO_KEY),
    ("added ones", {"add.fields": "op"}, ["__op"], CREATE, row(OLD), KEY),
    ("of a deleted row: not the added ones", {MODE: "rewrite", "add.fields": "op"}, ["__op", "name"], DELETE,
     text(row_schema(ID, DELETED, added("__op")), {"id": 1, "__deleted": "true", "__op": "d"}), KEY),
    ("of a row that is null", {}, NAMES, DELETE, text(row_schema(optional=True), None), KEY),
    ("of a tombstone", {MODE: "delete-to-tombstone", **ALL}, NAMES, DELETE, "null", KEY),
    ("none", {}, [], CREATE, row(OLD), KEY),
    ("names that are not there", {}, ["x"], CREATE, row(OLD), KEY),
    ("nulls become defaults", {}, ["n"],
     event("c", None, {"id": 1, "d": None, "n": "x"}, schema=event_schema(
         row_schema(ID, {**added("d"), "default": "y"}, added("n"), optional=True))),
     text(row_schema(ID, {**added("d"), "default": "y"}), {"id": 1, "d": "y"}), KEY),
)  # fmt: skip


def run(options, value, names):
    """(outcome, record) of an event with a header ``drop``."""
    record, key = record_of(value), record_of(KEY, "key")
    record.key_schema, record.key = key.key_schema, key.key
    items = Schema(Type.ARRAY, values=optional(Schema(Type.STRING)))
    record.headers = [Header("drop", items, names, b"", from_stage=False)]
    chain = chain_of(ExtractNewRecordState, HEADER | options)
    return Interpreter(chain).run(record), record


@pytest.mark.parametrize("case", DROPPED, ids=lambda case: case[0])
def test_fields_that_a_header_drops(case):
    _, options, names, value, after, key = case
    outcome, record = run(options, value, names)
    assert outcome.status == 0, outcome.problem
    assert (shown(record, "value"), shown(record, "key")) == (expectation(after, "value"), expectation(key, "key"))
    assert len(record.headers) == 1 and bool(record.touched) is (names != [] and record.value is not None)


def test_a_header_that_drops_nothing_of_what_is_dropped():
    assert run({}, TRUNCATE, "no list")[0].status == DROPPED_STATUS
    assert run({MODE: "drop"}, DELETE, NAMES)[0].status == DROPPED_STATUS


@pytest.mark.parametrize(
    ("options", "value", "names", "problem", "connect_class"),
    [
        ({}, CREATE, "id", "SMT475", "java.lang.ClassCastException"),
        ({MODE: "delete-to-tombstone"}, DELETE, NAMES, "SMT477", "java.lang.NullPointerException"),
    ],
    ids=["no list", "a tombstone has no schema"],
)
def test_headers_with_which_the_original_crashes(options, value, names, problem, connect_class):
    result = run(options, value, names)[0].problem
    assert (result.code, result.connect_class) == (problem, connect_class)
    assert "myRecord" not in str(result)


def test_columns_cannot_follow_a_header():
    chain = chain_of(ExtractNewRecordState, HEADER)
    with pytest.raises(PlanError, match=r"SMT476 .*: the schema of each record depends on its headers"):
        plan_chain(chain, None, MODEL, typed=True)


def test_the_plan_knows_names_that_lead_nowhere_and_where_columns_come_from():
    chain = chain_of(ExtractNewRecordState, {MODE: "rewrite", "add.fields": "op,tabel"})
    plan = plan_chain(chain, None, MODEL, typed=True)
    (warning,) = plan.warnings
    assert warning.statement == "no record can have the field 'tabel'" and "table" in warning.hint
    assert plan.lineage == {
        "id": ("value.after.id", "value.before.id"),
        "name": ("value.after.name", "value.before.name"),
        "__deleted": ("value.after",),
        "__op": ("value.op",),
    }


def test_whole_structs_may_be_headers_and_old_headers_stay():
    record = record_of(CREATE)
    record.headers = record_of('[{"key":"__source","value":"old"}]', "headers").headers
    assert Interpreter(chain_of(ExtractNewRecordState, {"add.headers": "source"})).run(record).status == 0
    assert [h.key for h in record.headers] == ["__source", "__source"] and record.headers[1].value == FROM
