"""Each way in the table of ways is reached by a chain, and named as such."""

import json
import re
from pathlib import Path

import pytest

from dagster_smt.chain import parse_chain
from dagster_smt.chain.after_foreign import plan_after
from dagster_smt.chain.forms import Form, plan_forms
from dagster_smt.jvm.availability import VARIABLE
from dagster_smt.model.topics.format import ARRAYS_AS_ROWS, Format
from dagster_smt.spark import evaluate as on_spark
from dagster_smt.spark.reading.window_forms import window_forms
from dagster_smt.spark.ways import (
    COLUMNS_BY_SCHEMA,
    COLUMNS_IN_JVM,
    COLUMNS_IN_PYTHON,
    RECORDS_IN_JVM,
    RECORDS_IN_KAFKAS_CLASSES,
    RECORDS_IN_PYTHON,
    ROWS_AFTER_FOREIGN,
    ROWS_IN_PYTHON,
    ROWS_OF_ARRAYS,
    WAYS,
    PlannedFacts,
    possible_ways,
    way_of,
)
from dagster_smt.tables.ddl import parse_ddl
from dagster_smt.tables.planning import plan_table
from dagster_smt.tables.rows.row_stages import with_row
from dagster_smt.tables.topic_table import FileTopics, TopicTable
from tests.spark.test_evaluators_agree import frame_of

MASK = {"transforms": "m", "transforms.m.type": "MaskField$Value", "transforms.m.fields": "name"}
IN_PYTHON = {"transforms": "t", "transforms.t.type": "TimestampRouter", "transforms.t.timestamp.format": "z"}
ENVELOPE = Format("envelope")
ARRAYS = Format("json", options={ARRAYS_AS_ROWS: "true"})


def in_envelope(name, kind="string"):
    fields = [{"field": "name", "type": kind, "optional": True}]
    schema = {"type": "struct", "fields": fields, "optional": False}
    return json.dumps({"schema": schema, "payload": {"name": name}}).encode()


def ways_of(spark, chain, value, kind, texts, *, columns=None, forms=None):
    """The ways that ``evaluate`` reports for one window, and its rows without those that the lane left."""
    table = TopicTable(FileTopics(Path()), ("orders",), value=value, columns=columns or ())
    frame = frame_of(spark, [(text, "orders", ()) for text in texts])
    chain, ways = parse_chain(chain), []
    if forms is not None:
        window = window_forms(frame, table)
        plan = plan_forms(chain, window.forms, topics=("orders",))
        result = on_spark.evaluate(frame, plan, table, kind, forms=window if forms else None, note=ways.append)
    else:
        plan = plan_table(with_row(chain, table, kind, table.value), table)
        result = on_spark.evaluate(frame, plan, table, kind, note=ways.append)
    assert {row["__status"] for row in result.select("__status").collect()} == {0}
    return ways


NAME = b'{"name":"a"}'


def way_after_foreign(spark):
    """The way of a chain whose classes run from jars; no record is read."""
    chain, ways = parse_chain({**MASK, "engine": "connect"}), []
    schema = parse_ddl("name STRING")
    plan = plan_after(chain, (), (Form("orders", None, schema),), ("orders",))
    table = TopicTable(FileTopics(Path()), ("orders",))
    on_spark.evaluate(frame_of(spark, [(NAME, "orders", ())]), plan, table, "columns", note=ways.append)
    return ways


@pytest.mark.spark
def test_every_way_is_reached(spark, monkeypatch):
    monkeypatch.setattr("dagster_smt.spark.by_schema._RECORDS", 0)
    reached = [
        *ways_of(spark, MASK, Format("json"), "records", [NAME]),
        *ways_of(spark, {**MASK, "engine": "connect"}, Format("json"), "records", [NAME]),
        *ways_of(spark, IN_PYTHON, Format("json"), "records", [NAME]),
        *way_after_foreign(spark),
        *ways_of(spark, MASK, ARRAYS, "columns", [b'[{"name":"a"}]'], columns="name STRING"),
        *ways_of(spark, MASK, Format("json"), "columns", [NAME], columns="name STRING"),
        *ways_of(spark, MASK, Format("csv"), "columns", [b"a"], columns="name STRING"),
        *ways_of(spark, MASK, ENVELOPE, "columns", [in_envelope("a")], forms=True),
        *ways_of(spark, MASK, ENVELOPE, "columns", [in_envelope("a")], forms=False),
    ]
    assert reached == list(WAYS)


@pytest.mark.spark
def test_a_session_without_the_lane_takes_the_ways_of_python(spark, monkeypatch):
    monkeypatch.setenv(VARIABLE, "off")
    assert ways_of(spark, MASK, Format("json"), "records", [NAME]) == [RECORDS_IN_PYTHON]
    assert ways_of(spark, MASK, Format("json"), "columns", [NAME], columns="name STRING") == [COLUMNS_IN_PYTHON]
    assert ways_of(spark, MASK, ENVELOPE, "columns", [in_envelope("a")], forms=True) == [ROWS_IN_PYTHON]


def test_every_way_has_an_evaluator_and_a_name_of_its_own():
    assert set(on_spark._EVALUATORS) == set(WAYS)
    assert len({way.name for way in WAYS}) == len(WAYS)


JSON, DECLARED = Format("json"), Format("json_schema")


@pytest.mark.parametrize(
    ("facts", "ways"),
    [
        (PlannedFacts(True, JSON, lane_runs_chain=True), [RECORDS_IN_JVM]),
        (PlannedFacts(True, JSON, lane_runs_chain=False), [RECORDS_IN_PYTHON]),
        (PlannedFacts(True, JSON), [RECORDS_IN_JVM, RECORDS_IN_PYTHON]),
        (PlannedFacts(True, ENVELOPE, lane_runs_chain=False), [RECORDS_IN_PYTHON]),
        (
            PlannedFacts(True, ENVELOPE, lane_runs_chain=False, jvm_runs_kafkas_classes=None),
            [RECORDS_IN_KAFKAS_CLASSES, RECORDS_IN_PYTHON],
        ),
        (PlannedFacts(False, JSON, has_foreign=True), [ROWS_AFTER_FOREIGN]),
        (PlannedFacts(False, ARRAYS), [ROWS_OF_ARRAYS]),
        (PlannedFacts(False, DECLARED, lane_parses=True), [COLUMNS_IN_JVM]),
        (PlannedFacts(False, DECLARED), [COLUMNS_IN_JVM, COLUMNS_IN_PYTHON]),
        (PlannedFacts(False, DECLARED, lane_parses=False), [COLUMNS_IN_PYTHON]),
        (PlannedFacts(False, ENVELOPE), [COLUMNS_BY_SCHEMA, ROWS_IN_PYTHON]),
    ],
)
def test_possible_ways(facts, ways):
    assert possible_ways(facts) == ways
    if len(ways) == 1:
        assert way_of(facts) == ways[0]


def test_the_page_has_the_table_of_ways():
    text = (Path(__file__).parents[2] / "docs/architecture.md").read_text()
    part = text.split("| path | condition | reason |\n")[1].split("\n\n")[0]
    rows = re.findall(r"^\| `(.+?)` \| (.+?) \| (.+?) \|$", part, re.MULTILINE)
    assert rows == [(way.name, way.when, way.why) for way in WAYS]
