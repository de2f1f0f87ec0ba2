"""Options of tables with keys: what a sink refuses, and what a plan refuses."""

import pytest

from dagster_smt.chain import parse_chain
from dagster_smt.errors import ConfigError, PlanError
from dagster_smt.model.topics.format import Format
from dagster_smt.model.topics.keyed import SoftDeleteColumns
from dagster_smt.tables.ddl import parse_ddl
from dagster_smt.tables.keyed.keys import key_columns
from dagster_smt.tables.planning import plan_sink
from dagster_smt.tables.sink_options import DeltaSink, IcebergSink
from dagster_smt.tables.topic_table import FileTopics, TopicTable

UPSERT = {"mode": "upsert"}
OPTIONS = {
    "a mode": {"mode": "merge"},
    "deletes": {**UPSERT, "deletes": "hide"},
    "keys of a table that appends": {"keys": ["id"]},
    "deletes of a table that appends": {"deletes": "soft"},
    "an order of a table that appends": {"sequence_by": "seq"},
    "tracked columns of a table that appends": {"track": ["name"]},
    "records": {**UPSERT, "kind": "records"},
    "rows without their records": {**UPSERT, "source_columns": None},
    "a column as a text": {**UPSERT, "keys": "id"},
    "no column": {**UPSERT, "keys": []},
    "tracked columns of one row for each key": {**UPSERT, "track": ["name"]},
    "versions that are flagged": {"mode": "scd2", "deletes": "soft"},
    "versions in the order of a sequence": {"mode": "scd2", "sequence_by": "seq"},
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("kind", [DeltaSink, IcebergSink])
def test_options_that_do_not_fit(options, kind):
    with pytest.raises(ConfigError) as error:
        kind("lake/people", **{"kind": "columns", **options})
    assert {problem.code for problem in error.value.problems} == {"SMT700"}
    assert all(problem.hint for problem in error.value.problems)


def test_a_table_of_keys_that_forbids_changes():
    options = {"kind": "columns", **UPSERT, "properties": {"Delta.appendonly": "TRUE"}}
    for place in ("lake/people", "lake/{topic}"):
        with pytest.raises(ConfigError, match=r"SMT700 properties: Delta\.appendonly"):
            DeltaSink(place, **options)
    IcebergSink("lake/people", **options)  # a word without a meaning there
    DeltaSink("lake/people", **{**options, "properties": {"delta.appendOnly": "false"}})
    DeltaSink("lake/people", kind="columns", properties={"delta.appendOnly": "true"})


VALUE = Format("json_schema", parse_ddl("id BIGINT, name STRING, seq BIGINT, done BOOLEAN, at STRUCT<x: INT>"))
KEY = Format("json_schema", parse_ddl("id BIGINT"))
HOISTED = [{"alias": "only", "type": "ExtractField$Value", "options": {"field": "name"}}]
NO_FIELDS = {"key": Format("bytes"), "value": VALUE}
ARRAYS = Format("json_schema", VALUE.schema, options={"arrays-as-rows": "true"})
PLANS = [
    ("keys of bytes", {"keys": "record_key"}, NO_FIELDS, [], "SMT701"),
    ("keys that are one text", {}, {"key": Format("string"), "value": VALUE}, [], "SMT701"),
    ("keys without a schema", {}, {"key": Format("json"), "value": VALUE}, [], "SMT701"),
    ("a key column that nobody has", {"keys": ["number"]}, {"key": KEY, "value": VALUE}, [], "SMT702"),
    ("one of two columns", {"keys": ["id", "number"]}, {"key": Format("string"), "value": VALUE}, [], "SMT702"),
    ("an order that nobody has", {"sequence_by": "lsn"}, {"key": KEY, "value": VALUE}, [], "SMT702"),
    ("a tracked column that nobody has", {"mode": "scd2", "track": ["x"]}, {"key": KEY, "value": VALUE}, [], "SMT702"),
    ("values that are no structs", {}, {"key": KEY, "value": VALUE}, HOISTED, "SMT703"),
    (
        "a column of the mode",
        {"deletes": "soft", "soft_delete_columns": SoftDeleteColumns("NAME", "at2")},
        {"key": KEY, "value": VALUE},
        [],
        "SMT704",
    ),
    ("an order of booleans", {"sequence_by": "done"}, {"key": KEY, "value": VALUE}, [], "SMT705"),
    ("an order of structs", {"sequence_by": "at"}, {"key": KEY, "value": VALUE}, [], "SMT705"),
    ("rows of arrays", {"keys": ["id"]}, {"key": KEY, "value": ARRAYS}, [], "SMT706"),
]


def plan(sink, formats, stages=()):
    table = TopicTable(FileTopics("topics"), ("people",), **formats)
    return plan_sink(parse_chain(list(stages)), table, DeltaSink("lake/people", "columns", **{**UPSERT, **sink}))


@pytest.mark.parametrize(("sink", "formats", "stages", "code"), [case[1:] for case in PLANS], ids=[c[0] for c in PLANS])
def test_plans_that_have_no_keys(sink, formats, stages, code):
    with pytest.raises((PlanError, ConfigError)) as error:
        plan(sink, formats, stages)
    assert {problem.code for problem in error.value.problems} == {code}
    assert all(problem.hint for problem in error.value.problems)


KEYS = [
    ("the fields of the record's key", {}, KEY, ("id",), {"id": "id"}),
    ("a column that both have", {"keys": ["id"]}, KEY, ("id",), {"id": "id"}),
    ("a column of the value", {"keys": ["name"]}, KEY, ("name",), {}),
    ("a key that is one number", {"keys": ["id"]}, Format("long"), ("id",), {"id": "value"}),
    ("a key that is one text, which no value has", {"keys": ["code"]}, Format("string"), ("code",), {"code": "value"}),
    ("two columns, and a key that is one text", {"keys": ["id", "name"]}, Format("string"), ("id", "name"), {}),
]


@pytest.mark.parametrize(("sink", "key", "names", "from_key"), [case[1:] for case in KEYS], ids=[c[0] for c in KEYS])
def test_where_key_columns_come_from(sink, key, names, from_key):
    options = DeltaSink("lake/people", "columns", **{**UPSERT, **sink})
    columns = key_columns(plan(sink, {"key": key, "value": VALUE}), options.keyed)
    assert (columns.names, columns.from_key) == (names, from_key)
