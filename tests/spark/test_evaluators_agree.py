"""The same chain on the same records: the Spark evaluator and the Python evaluator give the same results."""

import base64
import json
from datetime import datetime, timezone

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings

from dagster_smt.chain import parse_chain, plan_chain
from dagster_smt.errors import ConfigError, DataError, PlanError, UnsupportedError
from dagster_smt.formats.json import reader as json_reader
from dagster_smt.formats.sides import parse_json
from dagster_smt.interpret.interpreter import FAILED, PASSED, VALUE_CONVERTER, Interpreter
from dagster_smt.model.record import Header, Record
from dagster_smt.model.schema import STRING, Schema, Type, decimal, optional
from dagster_smt.model.topics.format import Format
from dagster_smt.spark import sql
from dagster_smt.spark.evaluate import evaluate, output_schema
from dagster_smt.spark.plain import reader, to_plain
from dagster_smt.spark.reading.narrow import narrowed
from dagster_smt.spark.types import internal_type
from dagster_smt.spark.versions import frame_of_arrow
from dagster_smt.tables.topic_table import FileTopics, TopicTable
from dagster_smt.values.numbers import integer_bytes
from tests.spark.made_up import TOPICS, Example, examples, nest

MOMENT = datetime(2019, 4, 25, 15, 2, 16, 123000, timezone.utc)
FRAME = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("us", tz="UTC")),
        ("timestampType", pa.int32()),
        ("headers", pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))),
    ]
)
SLOW = settings(
    max_examples=int(__import__("os").environ.get("SPARK_EXAMPLES", "10")),
    deadline=None,
    database=None,
    derandomize=not __import__("os").environ.get("HYPOTHESIS_SEARCH"),
    phases=[Phase.generate],  # an example takes most of a second: too slow to look for a smaller one
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.filter_too_much],
)


def frame_of(spark, rows):
    records = [
        {
            "key": keys[0] if keys else b"k",
            "value": value,
            "topic": topic,
            "partition": 0,
            "offset": offset,
            "timestamp": MOMENT,
            "timestampType": 0,
            "headers": [{"key": name, "value": b"1"} for name in headers],
        }
        for offset, (value, topic, headers, *keys) in enumerate(rows)
    ]
    return frame_of_arrow(spark, pa.Table.from_pylist(records, FRAME))


def in_python(chain, example):
    """(outcome, record) of each row on the Python evaluator."""
    interpreter = Interpreter(chain, example.key_form, Format("json_schema", example.schema))
    results = []
    for offset, (value, topic, headers, *keys) in enumerate(example.rows):
        record = Record(topic, 0, offset, int(MOMENT.timestamp() * 1000), "CreateTime")
        record.headers = [Header(name, None, "1", b"1", from_stage=False) for name in headers]
        outcome = interpreter.read(record, keys[0] if keys else b"k", value)
        results.append((interpreter.run(record) if outcome.status == PASSED else outcome, record))
    return results


def compare(spark, example, topics=TOPICS):
    """Run an example on both and assert that they agree."""
    try:
        chain = parse_chain(example.stages)
        key = example.key or optional(STRING)
        plan = plan_chain(chain, key, example.schema, topics=topics, typed=True)
        wanted_type = output_schema(plan, "columns")
    except (ConfigError, PlanError, UnsupportedError):
        assume(False)
    form = Format("json_schema", example.schema)
    table = TopicTable(FileTopics("unused"), topics, key=example.key_form, value=form)
    result = evaluate(frame_of(spark, example.rows), plan, table, "columns")
    assert bare(result.schema["__out"].dataType) == bare(wanted_type)
    plain = to_plain(sql.col("__out").cast(internal_type(outer(plan.after))), outer(plan.after)).alias("__out")
    rows = sql.select(
        result, *map(sql.col, ("__offset", "__status", "__stage", "__problem", "__touched")), plain
    ).collect()
    assert sorted(row["__offset"] for row in rows) == list(range(len(example.rows)))
    python = in_python(chain, example)
    for row in rows:
        same(row, *python[row["__offset"]], plan, example.rows[row["__offset"]][0])


def outer(schema):
    """The columns of a value as one struct."""
    return (
        schema if schema.type is Type.STRUCT else schema.with_(type=Type.STRUCT, name=None, fields=(("value", schema),))
    )


def bare(data_type):
    """A type without metadata and nullability, field by field."""
    return data_type.simpleString()


def same(row, outcome, record, plan, text):
    """Assert that a row of the Spark evaluator says what the Python evaluator found."""
    status, stage, problem = row["__status"], row["__stage"], row["__problem"]
    if outcome.status == FAILED and outcome.stage == VALUE_CONVERTER:
        assert stage == VALUE_CONVERTER or unread_is_wrong(plan, text)
        return
    if null_side(row, outcome, record, plan, text):
        return
    if outcome.status == PASSED and record.value is None and plan.after.type is Type.STRUCT:
        assert (status, problem["code"]) == (FAILED, "SMT418")
        return
    assert (status, stage) == (outcome.status, outcome.stage), (problem, outcome.problem)
    if status == FAILED:
        expected = outcome.problem
        assert (problem["code"], problem["statement"]) == (expected.code, expected.statement)
        assert problem["connect_class"] == expected.connect_class
    assert sum(word << 62 * n for n, word in enumerate(row["__touched"])) == record.touched
    if status == PASSED:
        assert alike(reader(outer(plan.after))(row["__out"]), expected_row(record, plan))


def alike(result, expected):
    """Whether two values are the same, NaN and the sign of a zero too."""
    if isinstance(expected, dict):
        return (
            isinstance(result, dict)
            and result.keys() == expected.keys()
            and all(alike(result[key], value) for key, value in expected.items())
        )
    if isinstance(expected, list):
        return isinstance(result, list) and len(result) == len(expected) and all(map(alike, result, expected))
    both = isinstance(result, float) and isinstance(expected, float)
    return repr(float(result)) == repr(float(expected)) if both else result == expected


def null_side(row, outcome, record, plan, text):
    """Whether the row is one of those that D6 is about: to Spark a null side has the schema that the plan has there."""
    if row["__status"] == FAILED and outcome.stage != row["__stage"] and row["__stage"] >= 0:
        transform = plan.chain.stages[row["__stage"]].transform
        hoisted = row["__problem"]["code"] == "SMT402" and type(transform).__name__ == "HoistField"
        return hoisted or (not text and transform.null == "apply")
    return outcome.status == PASSED and record.value is not None and record.value_schema is None  # a hoisted tombstone


def expected_row(record, plan):
    """The value of a record in the columns of the plan, by name."""
    schema = plan.after
    value = merged(record.value, record.value_schema or schema, schema)
    return value if schema.type is Type.STRUCT else {"value": value}


def merged(value, old, new):
    if value is None or new.type is not Type.STRUCT or old == new:
        return value
    return {n: merged(value[n], old.by_name[n], c) if n in old.by_name else None for n, c in new.fields}


def unread_is_wrong(plan, text):
    """Whether a text fits once the fields that the chain only drops are not looked at (docs/decisions/0003)."""
    schema = narrowed(plan, plan.value)
    try:
        if b"1e400" in text:  # refused where it is read (D5); any other number will do where it is not
            return unread_is_wrong(plan, text.replace(b"1e400", b"1"))
        json_reader(schema, Format("json_schema", schema))(parse_json(text))
    except DataError:
        return False
    return schema != plan.value


@SLOW
@given(example=examples(keyed=True))
def test_random_chains_agree(spark, example):
    compare(spark, example)


MASK_Y = {"alias": "m", "type": "MaskField$Value", "options": {"fields": ["y"]}}


@pytest.mark.parametrize(("kind", "times"), [("struct", 58), ("array", 58), ("map", 29)])
def test_the_deepest_columns_agree(spark, kind, times):
    deep = nest(kind, times)
    value = 7
    for _ in range(times):
        value = [value] if kind == "array" else {"a": value}
    schema = Schema(Type.STRUCT, fields=(("x", deep), ("y", Schema(Type.STRING))))
    rows = [(json.dumps({"x": value, "y": "z"}).encode(), "orders", ()), (b'{"x":null,"y":"z"}', "orders", ())]
    compare(spark, Example(schema, [MASK_Y], rows))


@pytest.mark.parametrize("options", [{}, {"replacement": "x"}], ids=["zero", "replacement"])
def test_a_masked_struct_is_refused_in_the_same_words(spark, options):
    schema = Schema(Type.STRUCT, fields=(("y", nest("struct", 1)),))
    stages = [{**MASK_Y, "options": {"fields": ["y"], **options}}]
    compare(spark, Example(schema, stages, [(b'{"y":{"a":7}}', "orders", ()), (b'{"y":null}', "orders", ())]))


COARSE = {
    "number": ({"kind": "number"}, decimal(1), ["12345678901234567890123456789012.5", "-0.5", "9" * 36 + ".9"]),
    "decimal": ({"kind": "coordinate", "decimals": 2}, decimal(4), ["59.9139", "-0.0001", "0.2900"]),
    "double": ({"kind": "coordinate", "decimals": 2}, Schema(Type.FLOAT64), [0.29, -4.035, 59.9139, 1e300, -1e-300]),
    "float": ({"kind": "coordinate", "decimals": 2}, Schema(Type.FLOAT32), [0.29, -4.03, 59.9139, 1e30]),
}


@pytest.mark.parametrize("case", COARSE)
def test_multiples_agree(spark, case):
    options, y, values = COARSE[case]
    schema, rows = Schema(Type.STRUCT, fields=(("y", y),)), []
    for value in values:
        if isinstance(value, str):
            value = base64.b64encode(integer_bytes(int(value.replace(".", "")))).decode()
        rows.append((json.dumps({"y": value}).encode(), "orders", ()))
    stage = {"alias": "c", "type": "dagster_smt.privacy.Coarsen$Value", "options": {"fields": ["y"], **options}}
    compare(spark, Example(schema, [stage], rows))
