"""Debezium's transforms on change events: the Spark evaluator does with each what the Python evaluator does."""

import json

import pytest

from dagster_smt.chain import parse_chain
from dagster_smt.chain.forms import plan_forms
from dagster_smt.model.format import Format
from dagster_smt.model.schema_json import schema_from_json
from dagster_smt.spark.envelopes import found_forms
from dagster_smt.spark.evaluate import evaluate
from dagster_smt.spark.plain import to_plain
from dagster_smt.spark.types import internal_type
from dagster_smt.tables.spec import FileTopics, TopicTable
from dagster_smt.transforms.debezium.extract_new_record_state import ExtractNewRecordState
from tests.spark.made_up import TOPICS, Example
from tests.spark.test_envelopes_agree import expected, same
from tests.spark.test_evaluators_agree import compare, frame_of, outer
from tests.transforms.debezium.events import (
    ID,
    IN_TRANSACTION,
    NEW,
    OLD,
    ROW_NAME,
    added,
    event_schema,
    payload,
    row_schema,
    struct,
    text,
)

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
TOLD = {"add.fields": "op,lsn,id,before.name,tabel", "add.headers": "op,source.lsn,transaction.id"}
MODES = ("drop", "tombstone", "rewrite", "rewrite-with-tombstone", "delete-to-tombstone")


def named(options):
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
    **{mode: [named({MODE: mode})] for mode in MODES},
    **{f"{mode}, told": [named({MODE: mode, **TOLD, "route.by.field": "name"}), *SHOW] for mode in MODES},
    "nulls stay": [named({MODE: "rewrite", "replace.null.with.default": False})],
    "a struct that is not null": [named({"add.fields": "transaction"})],
    "rows that a stage took apart": [
        {"alias": "c", "type": "Cast$Value", "options": {"spec": "after.at.n:string,before.at.n:string",
                                                         "field.syntax.version": "V2"}},
        named({MODE: "rewrite", "add.headers": "before"}),
        {"alias": "d", "type": "ReplaceField$Value", "options": {"exclude": "at.city", "field.syntax.version": "V2"}},
    ],
    "one that a stage took apart": [
        {"alias": "m", "type": "MaskField$Value", "options": {"fields": "after.name,after.at.city",
                                                              "field.syntax.version": "V2"}},
        named({MODE: "rewrite-with-tombstone", "add.fields": "before.name"}),
    ],
    "twice": [named({MODE: "rewrite"}), {**named({}), "alias": "again"}],
}  # fmt: skip


def rows(events):
    return [(None if e is None else json.dumps(e).encode(), TOPICS[n % 2], ()) for n, e in enumerate(events)]


@pytest.mark.parametrize("name", CASES)
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
    chain = parse_chain([named({MODE: mode, **TOLD})])
    frame = frame_of(spark, STREAM)
    plan = plan_forms(chain, found_forms(frame, TABLE), topics=TOPICS)
    result = evaluate(frame, plan, TABLE, "columns")
    plain = to_plain(result["__out"].cast(internal_type(outer(plan.after))), outer(plan.after)).alias("__out")
    found = {r["__offset"]: r for r in result.select("*", plain.alias("plain")).collect()}
    for offset, (outcome, record) in enumerate(expected(chain, STREAM)):
        same(found[offset], outcome, record, plan)
