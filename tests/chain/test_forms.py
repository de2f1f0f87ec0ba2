"""One plan for records of several schemas: columns by name, what every form warns of, what stops a window."""

import pytest

from dagster_smt.chain.forms import Form, plan_forms
from dagster_smt.errors import PlanError, Problem
from dagster_smt.model.reports.run_report import RunReport, leaf_labels
from dagster_smt.model.schema import STRING, optional
from dagster_smt.model.windows.window import Window
from dagster_smt.tables.ddl import parse_ddl
from tests.chain.helpers import EUROPEAN, TRACED, chain_of, stage

ONE = parse_ddl("id INT NOT NULL, name STRING")
TWO = parse_ddl("id INT NOT NULL, note STRING, a STRUCT<b: INT>")
TEXT = {"id": "string?"}
TEXT_ID = parse_ddl("id STRING, name STRING")
V2 = {"field_syntax_version": "V2"}


def forms(*schemas, topic="orders", **more):
    return tuple(Form(topic, None, schema, **more) for schema in schemas)


def planned(stages, result, **more):
    return plan_forms(chain_of(*stages), result, topics=("orders",), **more)


ID, NAME, NOTE, B = {"id": "int32"}, {"name": "string?"}, {"note": "string?"}, {"a.b": "int32?"}
KEY_STAGE = stage("Cast$Key", spec="id:string")
INSERTED = [stage("InsertField$Value", static_field="name", static_value="x")]
# (name, stages, forms, labels of the columns)
COLUMNS = [
    ("one form", [], forms(ONE), ID | NAME),
    ("fields of all", [], forms(ONE, TWO), ID | NAME | NOTE | B),
    ("in the order of the forms", [], forms(TWO, ONE), ID | NOTE | B | NAME),
    ("a struct grows", [], forms(TWO, parse_ddl("a STRUCT<c: INT>")), {"id": "int32?"} | NOTE | B | {"a.c": "int32?"}),
    ("a clash that the chain removes", [stage("Cast$Value", spec="id:string")], forms(ONE, TEXT_ID), TEXT | NAME),
    ("a form that the chain refuses", INSERTED, forms(ONE, TWO), ID | NOTE | B | NAME),
    (
        "a predicate settled by each topic",
        [stage("Cast$Value", unless=EUROPEAN, spec="id:string")],
        forms(ONE, topic="orders-us") + forms(TEXT_ID, topic="orders-eu"),
        TEXT | NAME,
    ),
    (
        "a predicate that is not settled",
        [stage("InsertField$Value", when=TRACED, static_field="x", static_value="y")],
        forms(ONE, TWO),
        ID | NAME | {"x": "string?"} | NOTE | B,
    ),
    ("schemaless keys", [KEY_STAGE], forms(ONE, free_key=True), ID | NAME),
    ("dropped in one form", [stage("ReplaceField$Value", exclude="note,a")], forms(ONE, TWO), ID | NAME),
    ("no struct", [stage("ExtractField$Value", field="id")], forms(ONE, TWO), {"(whole)": "int32"}),
    ("keys", [stage("ValueToKey", fields="id"), KEY_STAGE], (Form("t", optional(STRING), ONE),), ID | NAME),
]


@pytest.mark.parametrize(("stages", "result", "labels"), [c[1:] for c in COLUMNS], ids=[c[0] for c in COLUMNS])
def test_columns(stages, result, labels):
    plan = planned(stages, result)
    assert plan.typed and plan.steps == ()
    assert list(leaf_labels(plan.after).items()) == list(labels.items())


def test_what_a_plan_says_of_all_forms():
    chain = [stage("MaskField$Value", fields="name,a.b,nope", **V2)]
    plan = planned(chain, forms(ONE, TWO))
    assert leaf_labels(plan.before) == {"id": "int32", "name": "string?", "note": "string?", "a.b": "int32?"}
    assert plan.lineage == {p: (f"value.{p}",) for p in ("id", "name", "note", "a.b")}
    assert plan.masked == {"name", "a.b"}
    assert [entry.path for entry in plan.entries] == ["name", "a.b", "nope"]
    assert [w.statement for w in plan.warnings] == ["no record can have the field 'nope'"]


def test_paths_with_patterns_match_what_any_form_has():
    plan = planned([stage("MaskField$Value", fields="/^n/", field_syntax_version="extended")], forms(ONE, TWO))
    assert [entry.matched for entry in plan.entries] == [("name", "note")]


CLASH = "the field is {} in some records and {} in others"
# (name, stages, forms, first lines of the problems)
REFUSED = [
    ("types clash", [], forms(ONE, TEXT_ID, TEXT_ID), [f"SMT203 id: {CLASH.format('int32', 'string')}"]),
    (
        "in a struct, an item, a map",
        [],
        forms(
            parse_ddl("s STRUCT<x: INT>, l ARRAY<INT>, m MAP<STRING, INT>, k MAP<STRING, INT>"),
            parse_ddl("s STRUCT<x: DATE>, l ARRAY<STRING>, m MAP<STRING, STRING>, k MAP<INT, INT>"),
        ),
        [
            f"SMT203 s.x: {CLASH.format('int32', 'Date')}",
            f"SMT203 l[]: {CLASH.format('int32', 'string')}",
            f"SMT203 m[]: {CLASH.format('int32', 'string')}",
            f"SMT203 k key: {CLASH.format('string', 'int32')}",
        ],
    ),
    (
        "another scale",
        [],
        forms(parse_ddl("d DECIMAL(9, 2)"), parse_ddl("d DECIMAL(9, 3)")),
        [f"SMT203 d: {CLASH.format('Decimal(2)', 'Decimal(3)')}"],
    ),
    ("a struct and a text", [], forms(ONE, STRING), [f"SMT203 value: {CLASH.format('struct', 'string')}"]),
    (
        "every form is refused",
        [stage("InsertField$Value", static_field="id", static_value="x")],
        forms(ONE, TWO),
        ["SMT110 transforms.insertfield (InsertField$Value): field 'id' exists already"],
    ),
    ("no form", [], (), ["SMT212 orders: no record of the window has a schema"]),
]


@pytest.mark.parametrize(("stages", "result", "problems"), [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED])
def test_refused(stages, result, problems):
    with pytest.raises(PlanError) as caught:
        _ = planned(stages, result).after
    assert [str(p).splitlines()[0] for p in caught.value.problems] == problems


def test_a_window_without_forms_names_the_problem_of_its_records():
    unread = Problem("SMT441", "", "the schema with id 1 cannot be used", "set its subject")
    with pytest.raises(PlanError) as caught:
        planned([], (), unread=unread)
    (problem,) = caught.value.problems
    assert (problem.code, problem.place, problem.hint) == ("SMT212", "orders", "set its subject")
    assert problem.statement.endswith("a schema that can be read: SMT441 the schema with id 1 cannot be used")


@pytest.mark.parametrize(
    ("stages", "result"),
    [([], ()), (INSERTED, forms(ONE)), ([stage("Filter")], forms(ONE))],
    ids=["no form", "refused", "dropped"],
)
def test_the_columns_of_the_last_run_stand_in_where_there_are_none(stages, result):
    lineage = {"id": ("value.nr",), "name": ("value.name",)}
    last = RunReport("orders", Window(), before=TWO, after=ONE, lineage=lineage, masked=("name",))
    plan = planned(stages, result, last=last)
    assert (plan.before, plan.after, plan.lineage, plan.masked) == (TWO, ONE, lineage, {"name"})
    assert len(plan.entries) == len(stages) - (stages != [] and stages[0]["type"] == "Filter")
    assert planned([], forms(TWO), last=last).after == TWO
