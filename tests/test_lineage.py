"""Lineage holds: what a field's value changes in the output is in columns that name the field as a source."""

import json

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from dagster_smt.chain import parse_chain, plan_chain
from dagster_smt.chain.explain import explain
from dagster_smt.errors import PlanError, SmtError, UnsupportedError
from dagster_smt.interpret.interpreter import PASSED, Interpreter
from dagster_smt.model.paths.extended import below
from dagster_smt.model.schema import STRING, Schema, Type, optional
from dagster_smt.model.topics.format import Format
from tests.random_chains import chains
from tests.random_records import payload, record, structs, typed

EXAMPLES = settings(max_examples=settings.default.max_examples * 3, suppress_health_check=list(HealthCheck))


def through(chain, schema, value):
    """The value after the chain, if the record is kept."""
    source = record()
    interpreter = Interpreter(chain, Format("string"), Format("json_schema", schema))
    outcome, _, _ = interpreter.process(source, b"k", json.dumps(value).encode())
    return source.value if outcome.status == PASSED else None


@EXAMPLES
@given(chains(), structs(structs(typed) | typed), st.data())
def test_what_a_field_changes_is_in_columns_that_name_it(chain, schema, data):
    one, other = payload(data.draw, schema), payload(data.draw, schema)
    assume(isinstance(one, dict) and isinstance(other, dict) and schema.fields)
    name = data.draw(st.sampled_from([n for n, _ in schema.fields]))
    changed = {**one, name: other.get(name)}
    try:
        plan = plan_chain(chain, optional(STRING), schema, topics=("orders",), typed=True)
        assert plan.after is None or plan.lineage is not None
    except (PlanError, UnsupportedError, SmtError):
        return
    before, after = through(chain, schema, one), through(chain, schema, changed)
    if not isinstance(before, dict) or not isinstance(after, dict):
        return
    for column in before.keys() | after.keys():
        if before.get(column) != after.get(column):
            place, field = below("", column), below("value", name)
            paths = [p for p in plan.lineage if p == place or p.startswith((f"{place}.", f"{place}["))]
            sources = {source for path in paths for source in plan.lineage[path]}
            assert any(s == "value" or s == field or s.startswith((f"{field}.", f"{field}[")) for s in sources), column


LONG = [
    {"alias": f"s{n}", "type": kind, "options": {key: text.format(n=n, m=n - 1) for key, text in options.items()}}
    for n in range(40)
    for kind, options in [
        [
            ("InsertField$Value", {"static.field": "f{n}", "static.value": "v{n}"}),
            ("ReplaceField$Value", {"renames": "f{m}:g{m}"}),
            ("MaskField$Value", {"fields": "a", "replacement": "m{n}"}),
            ("RegexRouter", {"regex": "(.*)", "replacement": "$1"}),
        ][n % 4]
    ]
]
ROW = Schema(Type.STRUCT, fields=(("a", optional(STRING)), ("b", optional(STRING))))


def test_a_chain_of_forty_stages():
    chain = parse_chain(LONG)
    expected = {"a": "m38", "b": "x"} | {f"g{n}": f"v{n}" for n in range(0, 40, 4)}
    for form in (Format(), Format("json_schema", ROW)):
        source = record()
        outcome, _, data = Interpreter(chain, None, form).process(source, b"k", b'{"a":"secret","b":"x"}')
        assert (outcome.status, json.loads(data)) == (PASSED, expected)
    plan = plan_chain(chain, None, ROW, topics=("orders",), typed=True)
    assert {name for name, _ in plan.after.fields} == expected.keys()
    assert len(explain(plan).splitlines()) > 40


@pytest.mark.long
def test_a_chain_of_forty_stages_on_spark(spark):
    from tests.spark.made_up import Example
    from tests.spark.test_evaluators_agree import compare

    rows = [(b'{"a":"secret","b":"x"}', "orders", ()), (b'{"b":null}', "orders", ()), (b'{"a":1}', "orders", ())]
    compare(spark, Example(ROW, LONG, rows))
