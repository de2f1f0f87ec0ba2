"""Random envelopes and chains: what is in the columns is what the Python evaluator makes of each record."""

import json
from collections import Counter

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dagster_smt.chain import parse_chain
from dagster_smt.chain.forms import plan_forms
from dagster_smt.errors import ConfigError, PlanError, UnsupportedError
from dagster_smt.interpret.interpreter import FAILED, PASSED, Interpreter
from dagster_smt.model.record import Header, Record
from dagster_smt.model.schema import Schema, Type
from dagster_smt.model.schema_json import schema_to_json
from dagster_smt.model.topics.format import Format
from dagster_smt.spark import sql
from dagster_smt.spark.by_schema import by_schema
from dagster_smt.spark.evaluate import evaluate, output_schema
from dagster_smt.spark.plain import reader, to_plain
from dagster_smt.spark.reading.window_forms import window_forms
from dagster_smt.spark.types import internal_type
from dagster_smt.tables.topic_table import FileTopics, TopicTable
from tests.spark.made_up import TOPICS, chains, examples, structs, texts_of
from tests.spark.test_evaluators_agree import MOMENT, SLOW, bare, frame_of, merged, outer

ENVELOPE = Format("envelope")
TABLE = TopicTable(FileTopics("unused"), TOPICS, value=ENVELOPE)
COLUMN_PROBLEMS = ("SMT418", "SMT425", "SMT426", "SMT427", "SMT428")
"""What a record can fail with only where it becomes a row."""


def in_envelope(schema, text):
    """A record's value. A broken text breaks the envelope too."""
    return text and b'{"schema":%b,"payload":%b}' % (
        json.dumps(schema_to_json(without_defaults(schema))).encode(),
        text,
    )


def without_defaults(schema):
    fields = tuple((name, without_defaults(child)) for name, child in schema.fields)
    inner = {"keys": schema.keys and without_defaults(schema.keys)}
    return schema.with_(default=None, fields=fields, values=schema.values and without_defaults(schema.values), **inner)


@st.composite
def windows(draw):
    """Records of one schema or two, and a chain that knows the names of the first."""
    first = draw(examples(rows=5))
    second = draw(structs(2)) if draw(st.integers(0, 2)) == 0 else None
    rows = [(in_envelope(first.schema, text), topic, headers) for text, topic, headers in first.rows]
    for text in draw(st.lists(texts_of(second), min_size=3, max_size=3)) if second else ():
        rows.append((in_envelope(second, text), draw(st.sampled_from(TOPICS)), ()))
    return draw(chains(first.schema)), rows


def expected(chain, rows):
    """(outcome, record) of each row on the Python evaluator."""
    interpreter = Interpreter(chain, Format("string"), ENVELOPE)
    for offset, (value, topic, headers) in enumerate(rows):
        record = Record(topic, 0, offset, int(MOMENT.timestamp() * 1000), "CreateTime")
        record.headers = [Header(name, None, "1", b"1", from_stage=False) for name in headers]
        outcome = interpreter.read(record, b"k", value)
        yield (interpreter.run(record) if outcome.status == PASSED else outcome), record


@pytest.fixture(scope="module")
def ways():
    """How many windows the JVM lane read (True), and how many Python did."""
    return Counter()


@pytest.fixture(autouse=True)
def few(monkeypatch):
    """A few records are enough for a pass of their own."""
    monkeypatch.setattr("dagster_smt.spark.by_schema._RECORDS", 0)


@SLOW
@given(window=windows(), lane=st.booleans())
def test_random_windows_agree(spark, ways, window, lane):
    stages, rows = window
    frame = frame_of(spark, rows)
    try:
        chain = parse_chain(stages)
        results = window_forms(frame, TABLE)
        plan = plan_forms(chain, results.forms, topics=TOPICS)
        target = output_schema(plan, "columns")
    except (ConfigError, PlanError, UnsupportedError):
        assume(False)
    result = evaluate(frame, plan, TABLE, "columns", forms=results if lane else None)
    ways[lane and bool(by_schema(spark, plan, TABLE, results))] += 1
    assert bare(result.schema["__out"].dataType) == bare(target)
    schema = outer(plan.after)
    plain = to_plain(sql.col("__out").cast(internal_type(schema)), schema).alias("__out")
    results = {r["__offset"]: r for r in sql.select(result, plain.alias("plain"), also=True).collect()}
    assert sorted(results) == list(range(len(rows)))
    for offset, (outcome, record) in enumerate(expected(chain, rows)):
        same(results[offset], outcome, record, plan)


@pytest.mark.spark
def test_both_ways_were_taken(ways):
    """Runs after the test above."""
    assert min(ways[True], ways[False]) >= 2, ways


def same(row, outcome, record, plan):
    """Assert that a row of the table says what the Python evaluator found."""
    problem = row["__problem"]
    assert sum(word << 62 * n for n, word in enumerate(row["__touched"])) == record.touched
    if outcome.status == PASSED and row["__status"] == FAILED:
        assert problem["code"] in COLUMN_PROBLEMS and (problem["code"] != "SMT418" or record.value is None)
        return
    assert (row["__status"], row["__stage"]) == (outcome.status, outcome.stage), (problem, outcome.problem)
    if outcome.status == FAILED:
        assert (problem["code"], problem["statement"]) == (outcome.problem.code, outcome.problem.statement)
    if outcome.status == PASSED:
        value = merged(record.value, record.value_schema or plan.after, plan.after)
        row_value = value if plan.after.type is Type.STRUCT else {"value": value}
        assert reader(outer(plan.after))(row["plain"]) == row_value
    else:
        assert row["__out"] is None


@pytest.mark.parametrize("negate", [False, True])
def test_a_stage_that_no_key_passes_fails_where_there_is_a_key(spark, negate):
    """Its failure depends on the key being there, though nothing is computed from the key."""
    predicate = {"name": "traced", "type": "HasHeaderKey", "options": {"name": "trace"}}
    stage = {"alias": "flat", "type": "Flatten$Key", "options": {}, "predicate": predicate, "negate": negate}
    value = in_envelope(Schema(Type.STRUCT, fields=(("n", Schema(Type.INT32)),)), b'{"n":1}')
    frame = frame_of(spark, [(value, "orders", ("trace",)), (value, "orders", ())])
    forms = window_forms(frame, TABLE)
    plan = plan_forms(parse_chain([stage]), forms.forms, topics=TOPICS)
    assert by_schema(spark, plan, TABLE, forms), "the JVM lane reads them"
    rows = evaluate(frame, plan, TABLE, "columns", forms=forms).orderBy("__offset").collect()
    assert [row["__status"] for row in rows] == ([PASSED, FAILED] if negate else [FAILED, PASSED])
