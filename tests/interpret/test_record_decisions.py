"""Record transforms and predicates that decide by data, on the Python evaluator; on Spark: `tests/spark`."""

import pytest

from dagster_smt.authoring.stage import Chain, Stage
from dagster_smt.chain import plan_chain
from dagster_smt.chain.explain import explain
from dagster_smt.errors import ClassError
from dagster_smt.interpret.interpreter import DROPPED_STATUS, FAILED, PASSED, Interpreter
from dagster_smt.interpret.preview import Sample, preview
from dagster_smt.model.schema import STRING
from dagster_smt.tables.ddl import parse_ddl
from dagster_smt.transforms.kafka.filter import Filter
from tests.chain.record_transforms import (
    DropAbove,
    DropIfKeyIsNull,
    DropIfNull,
    HasField,
    LooksAside,
    LooksAtBoth,
    Peeks,
    Refers,
    SeesOtherSide,
    chain,
)
from tests.transforms.helpers import envelope, record_of

SCHEMAS = {"schemaless": str, "with schema": lambda payload: envelope("a:string? n:int32?", payload, optional=True)}
forms = pytest.mark.parametrize("form", SCHEMAS.values(), ids=SCHEMAS)


def outcome(transform, text, part="value", **more):
    record = record_of(text, part)
    return Interpreter(chain(transform, **more)).run(record), record


@forms
@pytest.mark.parametrize(
    ("payload", "status", "touched"), [('{"a":"x","n":1}', PASSED, 1), ('{"a":null,"n":1}', DROPPED_STATUS, 0)]
)
def test_a_field_of_the_value_decides(form, payload, status, touched):
    result, record = outcome(DropIfNull(field="a"), form(payload))
    assert (result.status, record.touched) == (status, touched)


@forms
def test_what_a_dropped_record_met_before_still_counts(form):
    stages = (Stage("s", DropIfNull(field="n")), Stage("t", DropIfNull(field="a")))
    record = record_of(form('{"a":null,"n":1}'))
    report = Interpreter(Chain(stages)).run(record)
    assert (report.status, report.stage, record.touched) == (DROPPED_STATUS, 1, 1)


@pytest.mark.parametrize(("behavior", "status"), [("pass", PASSED), ("reject", FAILED), ("drop", DROPPED_STATUS)])
@pytest.mark.parametrize("text", ["null", envelope("a:string?", "null", optional=True)], ids=SCHEMAS)
def test_an_option_chooses_what_a_null_meets(text, behavior, status):
    assert outcome(DropIfNull(field="a", behavior=behavior), text)[0].status == status


@forms
@pytest.mark.parametrize(
    ("payload", "status"),
    [
        ('{"a":"","n":10}', PASSED),
        ('{"a":"","n":11}', DROPPED_STATUS),
        ('{"a":"","n":null}', PASSED),
        ('{"a":"","n":-1}', FAILED),
    ],
)
def test_the_decision_may_fail(form, payload, status):
    result, _ = outcome(DropAbove(), form(payload))
    assert (result.status, result.problem and result.problem.code) == (status, "ACME02" if status == FAILED else None)


@pytest.mark.parametrize("part", ['{"k":null}', envelope("k:string?", '{"k":null}')], ids=SCHEMAS)
def test_a_field_of_the_key_decides(part):
    assert outcome(DropIfKeyIsNull(), part, "key")[0].status == DROPPED_STATUS
    assert outcome(DropIfKeyIsNull(), part.replace(":null", ':"x"'), "key")[0].status == PASSED
    assert outcome(DropIfKeyIsNull(), "null", "key")[0].problem.code == "SMT402"


@forms
@pytest.mark.parametrize("negate", [False, True])
def test_a_predicate_may_look_at_a_field(form, negate):
    for payload, met in (('{"a":null,"n":1}', True), ('{"a":"x","n":1}', False), ("null", False)):
        result, _ = outcome(Filter(), form(payload), predicate=HasField(), negate=negate)
        assert (result.status == DROPPED_STATUS) is (met is not negate)


LOOKERS = [
    (SeesOtherSide(side="value"), "value"),
    (SeesOtherSide(side="key"), "key"),
    (Refers(side="value"), "value"),
    (Refers(side="key"), "key"),
]


@pytest.mark.parametrize(("transform", "side"), LOOKERS, ids=lambda x: x if isinstance(x, str) else type(x).__name__)
def test_a_class_that_looks_at_a_side_it_did_not_declare_is_told_so(transform, side):
    name = type(transform).__name__
    message = f"SMT910 {name} reads the {side} of a record, but does not declare it\n"
    for wrong in (
        lambda: Interpreter(chain(transform)),
        lambda: plan_chain(chain(transform), STRING, parse_ddl("a STRING"), typed=True),
    ):
        with pytest.raises(ClassError) as caught:
            wrong()
        assert str(caught.value) == f"{message}  hint: add '{side}' to the sides that the Code of {name} reads"


def test_so_is_a_predicate_and_a_transform_that_looks_at_the_other_side():
    with pytest.raises(ClassError, match="Peeks reads the value"):
        Interpreter(chain(Filter(), predicate=Peeks()))
    with pytest.raises(ClassError, match="LooksAside reads the key"):
        outcome(LooksAside(side="key"), envelope("a:int8", '{"a":1}'), side="value")
    assert outcome(LooksAside(side="value"), envelope("a:int8", '{"a":1}'), side="value")[0].status == PASSED


def test_a_key_without_schema_is_not_taken_for_a_null():
    record, key = record_of(envelope("a:int8", '{"a":1}')), record_of('{"k":1}', "key")
    record.key = key.key
    problem = Interpreter(chain(LooksAtBoth())).run(record).problem
    assert str(problem).splitlines()[0] == (
        "SMT215 transforms.t (LooksAtBoth): the key has no schema, but the value has one"
    )
    record.key = None
    assert Interpreter(chain(LooksAtBoth())).run(record).status == DROPPED_STATUS


def test_explain_and_preview_tell_it():
    plan = plan_chain(chain(DropIfNull(field="a")), None, parse_ddl("a STRING"), typed=True)
    assert "  some records are dropped" in explain(plan).splitlines()
    (_, shown) = next(iter(preview(chain(DropIfNull(field="a")), [Sample("t", value=b'{"a":null}')])))
    assert [step.note for step in shown] == ["", "dropped"]


def test_a_class_that_sees_nothing_may_still_give_a_side():
    from dataclasses import replace

    from dagster_smt.model.cell import Cell, Const

    class SetKey(SeesOtherSide):
        """Make a key of nothing."""

        def plan_record(self, record, at):
            return replace(record, key=Cell(STRING, Const("k", STRING), frozenset()))

    result, record = outcome(SetKey(side=""), '{"a":1}')
    assert (result.status, record.key, record.key_schema) == (PASSED, "k", STRING)
