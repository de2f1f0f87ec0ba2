"""Rows of a table from records of several forms."""

import json

import pytest

from dagster_smt.chain import plan_chain
from dagster_smt.model.schema import STRING, optional
from dagster_smt.model.topics.format import Format
from dagster_smt.spark.evaluate import evaluate
from dagster_smt.tables.ddl import parse_ddl
from dagster_smt.tables.topic_table import FileTopics, TopicTable
from tests.chain.helpers import TRACED, chain_of, stage
from tests.spark.test_evaluators_agree import frame_of

INNER = "STRUCT<x: INT, y: STRING>"
SCHEMA = parse_ddl(f"s {INNER}, l ARRAY<{INNER}>, m MAP<STRING, {INNER}>")
ROW = {"x": 1, "y": "b"}


@pytest.mark.parametrize("excluded", ["s.x", "l[*].x", "m[*].x", "s.x,l[*].x,m[*].x"])
def test_what_a_form_lacks_inside_of_a_column_is_null(spark, excluded):
    chain = chain_of(stage("ReplaceField$Value", when=TRACED, exclude=excluded, field_syntax_version="extended"))
    plan = plan_chain(chain, optional(STRING), SCHEMA, topics=("orders",), typed=True)
    value = json.dumps({"s": ROW, "l": [ROW, None], "m": {"k": ROW}}).encode()
    table = TopicTable(FileTopics("unused"), ("orders",), value=Format("json_schema", SCHEMA))
    frame = frame_of(spark, [(value, "orders", ()), (value, "orders", ("trace",))])
    rows = evaluate(frame, plan, table, "columns").orderBy("__offset").collect()
    plain, traced = (row["__out"].asDict(True) for row in rows)

    def left(column):
        return {"x": None if f"{column}.x" in excluded.replace("[*]", "") else 1, "y": "b"}

    assert plain == {"s": ROW, "l": [ROW, None], "m": {"k": ROW}}
    assert traced == {"s": left("s"), "l": [left("l"), None], "m": {"k": left("m")}}
