"""Record transforms and predicates that decide by data, on the Spark evaluator: the rows the Python evaluator has."""

import json

import pyarrow as pa
import pytest
from pyspark.sql import Observation

from dagster_smt.authoring.stage import Chain, Stage
from dagster_smt.chain import plan_chain
from dagster_smt.model.topics.format import Format
from dagster_smt.run.counts import count_columns, read_counts
from dagster_smt.spark.evaluate import evaluate
from dagster_smt.spark.versions import frame_of_arrow
from dagster_smt.tables.ddl import parse_ddl
from dagster_smt.tables.topic_table import FileTopics, TopicTable
from dagster_smt.transforms.kafka.filter import Filter
from tests.chain.record_transforms import DropAbove, DropIfKeyIsNull, DropIfNull, HasField, chain
from tests.spark.test_evaluators_agree import FRAME

KEY, VALUE = parse_ddl("k STRING"), parse_ddl("a STRING, n INT")
ROWS = [
    ({"k": "x"}, {"a": "x", "n": 1}),
    ({"k": None}, {"a": None, "n": 11}),
    ({"k": "x"}, {"a": "y", "n": 11}),
    ({"k": "x"}, {"a": None, "n": -1}),
    (None, None),
]
PASSED, DROPPED, FAILED = 0, 1, 2
CASES = {
    "a field of the value": (chain(DropIfNull(field="a")), [PASSED, DROPPED, PASSED, DROPPED, PASSED], [1, 0, 1, 0, 0]),
    "null is dropped": (chain(DropIfNull(field="a", behavior="drop")), [0, 1, 0, 1, 1], [1, 0, 1, 0, 0]),
    "null is refused": (chain(DropIfNull(field="a", behavior="reject")), [0, 1, 0, 1, 2], [1, 0, 1, 0, 0]),
    "a decision that fails": (chain(DropAbove()), [0, 1, 1, 2, 1], [0] * 5),
    "a field of the key": (chain(DropIfKeyIsNull()), [0, 1, 0, 0, 2], [0] * 5),
    "a predicate": (chain(Filter(), predicate=HasField()), [0, 1, 0, 1, 0], [0] * 5),
    "a predicate, negated": (chain(Filter(), predicate=HasField(), negate=True), [1, 0, 1, 0, 1], [0] * 5),
    "two stages": (
        Chain((Stage("s", DropIfNull(field="n")), Stage("t", DropAbove()), Stage("u", DropIfNull(field="a")))),
        [0, 1, 1, 2, 1],
        [3, 1, 1, 1, 0],
    ),
}


def encoded(data):
    return None if data is None else json.dumps(data).encode()


@pytest.mark.parametrize("name", CASES)
def test_spark_decides_as_python_does(spark, name):
    chain, status, touched = CASES[name]
    records = [
        {"key": encoded(k), "value": encoded(v), "topic": "t", "partition": 0, "offset": n, "timestampType": 0}
        for n, (k, v) in enumerate(ROWS)
    ]
    frame = frame_of_arrow(spark, pa.Table.from_pylist(records, FRAME))
    plan = plan_chain(chain, KEY, VALUE, topics=("t",), typed=True)
    form = {"key": Format("json_schema", KEY), "value": Format("json_schema", VALUE)}
    table = TopicTable(FileTopics("unused"), ("t",), **form)
    observation = Observation()
    done = evaluate(frame, plan, table, "columns").observe(observation, *count_columns(plan.chain, plan.entries))
    rows = sorted(done.collect(), key=lambda row: row["__offset"])
    # a tombstone that is kept has no columns to go to
    results = [PASSED if row["__problem"] and row["__problem"]["code"] == "SMT418" else row["__status"] for row in rows]
    assert results == status
    assert [row["__touched"][0] if row["__touched"] else 0 for row in rows] == touched
    counts = read_counts(observation.get, len(chain.stages), len(plan.entries))
    assert (counts.all_dropped, counts.records) == (status.count(DROPPED), len(ROWS))


def test_a_field_that_only_decides_is_read(spark):
    """It does not leave the chain, so it would be left out of what is parsed."""
    from dagster_smt.spark.reading.narrow import narrowed
    from dagster_smt.transforms.kafka.replace_field import ReplaceField

    gone = Stage("r", ReplaceField(exclude="a"), "value")
    plan = plan_chain(Chain((Stage("t", DropIfNull(field="a")), gone)), None, VALUE, topics=("t",), typed=True)
    assert [name for name, _ in narrowed(plan, VALUE).fields] == ["a", "n"]
