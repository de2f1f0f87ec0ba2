"""Random chains of all transforms on random records: everything that goes wrong is a problem with a code, and no
problem quotes what was in a record."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dagster_smt.chain import parse_chain, plan_chain
from dagster_smt.chain.explain import explain
from dagster_smt.chain.registry import predicates, transforms
from dagster_smt.errors import PlanError, SmtError, UnsupportedError
from dagster_smt.interpret.interpreter import FAILED, KEPT, Interpreter
from dagster_smt.model.format import Format
from dagster_smt.model.schema import Schema, Type
from tests.chain.record_transforms import DropIfNull
from tests.random_chains import chains, check_problem, joined, parsed, stages, strategies
from tests.random_records import as_text, documents, payload, record, structs, typed

EXAMPLES = settings(max_examples=settings.default.max_examples * 6, suppress_health_check=list(HealthCheck))
KINDS = st.sampled_from(["sink", "sink", "source"])


def test_every_option_is_drawn():
    for cls in (*transforms().values(), *predicates().values()):
        required, free = strategies(cls)
        assert {*required, *free} == set(cls.keys()), cls.__name__


def test_options_of_a_class_that_no_table_has_are_drawn_from_its_examples():
    required, free = strategies(DropIfNull)
    assert (set(required), set(free)) == ({"field"}, {"behavior"})


@EXAMPLES
@given(st.tuples(stages("a"), stages("b")))
def test_a_chain_is_refused_or_comes_back_from_its_own_text(found):
    chain = parsed(joined(dict(zip("ab", found, strict=True))))
    if chain is not None:
        assert parse_chain(chain.properties) == chain == parse_chain(chain.to_stages())
        assert parse_chain(chain.to_stages()).hash == chain.hash


@EXAMPLES
@given(chains(), documents, documents, KINDS)
def test_records_without_a_schema(chain, key, value, kind):
    for form in (Format(), Format("string")):
        outcome, _, _ = Interpreter(chain, form, Format()).process(record(kind), key, value)
        if outcome.status == FAILED:
            check_problem(outcome.problem)


@EXAMPLES
@given(chains(), typed | st.none(), structs(typed) | structs(typed) | typed, KINDS, st.data())
def test_records_with_a_schema(chain, key, schema, kind, data):
    forms = key and Format("json_schema", key), Format("json_schema", schema)
    kept = []
    for _ in range(2):
        given = record(kind)
        texts = (key and as_text(payload(data.draw, key))), as_text(payload(data.draw, schema))
        outcome, _, _ = Interpreter(chain, *forms).process(given, *(texts if key else (b"k", texts[1])))
        if outcome.status == FAILED:
            check_problem(outcome.problem)
        elif outcome.status == KEPT:
            kept.append(given)
    if kind == "sink":  # a plan is for records that a table reads
        check_plan(chain, key or Schema(Type.STRING, optional=True), schema, kept)


def check_plan(chain, key, schema, kept):
    """What the plan foretells holds for every record that went through."""
    try:
        plan = plan_chain(chain, key, schema, topics=("orders",), typed=True)
    except UnsupportedError:
        return
    except PlanError as error:
        for problem in error.problems:
            check_problem(problem)
        if any(problem.code == "SMT476" for problem in error.problems):
            return  # headers decide: columns cannot say what records can
        assert all(out.value is None for out in kept)  # what passes nulls is planned for the rest
        return
    foretold = [(r.key and r.key.schema, r.value and r.value.schema) for r in plan.results.values()]
    for out in kept:
        if out.value is not None:
            assert (out.key_schema, out.value_schema) in foretold
    roots = {"value", "key", "topic", "partition", "offset", "timestamp", "headers"}
    assert {source.split(".")[0] for sources in plan.lineage.values() for source in sources} <= roots
    assert explain(plan)
    try:
        assert plan.after is None or set(plan.lineage) >= set(plan.masked)
    except SmtError as error:
        for problem in error.problems:
            check_problem(problem)


@pytest.mark.parametrize("depth", [100, 900, 5_000])
@pytest.mark.parametrize("stage", ["HeaderFrom", "ValueToKey", "MaskField", "Flatten"])
def test_deep_values_are_taken_or_refused(stage, depth):
    options = {"HeaderFrom": {"fields": "a", "headers": "h", "operation": "copy"}, "Flatten": {}}.get(
        stage, {"fields": "a"}
    )
    chain = parse_chain(
        [{"alias": "t", "type": stage + ("" if stage == "ValueToKey" else "$Value"), "options": options}]
    )
    value = b'{"a":' * depth + b"1" + b"}" * depth
    outcome, _, _ = Interpreter(chain).process(record(), None, value)
    assert outcome.status in (KEPT, FAILED)
    if outcome.status == FAILED:
        assert outcome.problem.statement == "the JSON is nested too deeply"
