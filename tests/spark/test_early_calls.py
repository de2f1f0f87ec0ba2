"""What runs in Python is done by the reader, where it can be; the result is the same."""

import pytest

from dagster_smt.chain import parse_chain, plan_chain
from dagster_smt.model.topics.format import Format
from dagster_smt.spark.evaluate import evaluate
from dagster_smt.tables.ddl import parse_ddl
from dagster_smt.tables.topic_table import FileTopics, TopicTable
from tests.spark.made_up import Example
from tests.spark.test_evaluators_agree import TOPICS, compare, frame_of

SCHEMA = "at BIGINT, day TIMESTAMP, text STRING, other STRING, n INT"
KAFKA = "org.apache.kafka.connect.transforms."


def to_text(alias, field, pattern="yyyy/MM/dd HH:mm", **more):
    options = {"field": field, "target.type": "string", "format": pattern, **more}
    return {"alias": alias, "type": f"{KAFKA}TimestampConverter$Value", "options": options}


def to_number(alias, field):
    options = {"field": field, "target.type": "unix", "format": "yyyy-MM-dd"}
    return {"alias": alias, "type": f"{KAFKA}TimestampConverter$Value", "options": options}


MASK = {"alias": "mask", "type": f"{KAFKA}MaskField$Value", "options": {"fields": ["text"], "replacement": "2020"}}
DROP = {"alias": "drop", "type": f"{KAFKA}ReplaceField$Value", "options": {"exclude": ["other"]}}
RENAME = {"alias": "rename", "type": f"{KAFKA}ReplaceField$Value", "options": {"renames": ["at:moment"]}}
CASES = {
    "a number": ([to_text("a", "at")], 0),
    "a timestamp, whose column is made after reading": ([DROP, to_text("a", "day")], 0),
    "two patterns": ([to_text("a", "at"), to_text("b", "day", "yyyy")], 0),
    "a text that is no date fails": ([to_number("a", "text")], 0),
    "what is masked is read masked": ([MASK, to_number("a", "text")], 0),
    "after other stages": ([DROP, RENAME, to_text("a", "moment")], 0),
    "a field that a stage has made": ([to_number("a", "text"), to_text("b", "text")], 1),
    "where a predicate holds": (
        [
            {
                **to_text("a", "text", "yyyy-MM-dd"),
                "predicate": {"type": "TopicNameMatches", "options": {"pattern": "orders.*"}},
            }
        ],
        0,
    ),
}
VALUES = [
    b'{"at":1556204536123,"day":1556204536123,"text":"2019-04-25","other":"x","n":1}',
    b'{"at":null,"day":null,"text":null,"other":null,"n":null}',
    b'{"at":-1,"day":-62135596800001,"text":"no date","other":"","n":2}',
    b'{"at":9007199254740993,"text":"0001-01-01"}',
    b"{",
    None,
]


@pytest.mark.parametrize("name", CASES)
def test_the_result_is_the_same_and_python_is_asked_once(spark, name):
    stages, later = CASES[name]
    schema = parse_ddl(SCHEMA)
    topics = (*TOPICS[:1], "other")
    rows = [(value, topics[n % 2], ()) for n, value in enumerate(VALUES)]
    chain = parse_chain(stages)
    plan = plan_chain(chain, None, schema, topics=topics, typed=True)
    table = TopicTable(FileTopics("unused"), topics, key=Format("bytes"), value=Format("json_schema", schema))
    text = evaluate(frame_of(spark, rows), plan, table, "columns")._jdf.queryExecution().executedPlan().toString()
    # only ours: on Spark 3.5 the rows of the test come through Python, too
    assert text.count("MapInArrow _InWorker(") == 1
    assert text.count("EvalPython") == later
    compare(spark, Example(schema, stages, rows), topics)
