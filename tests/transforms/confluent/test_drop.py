"""Drop: a null key or value. The source is Confluent's documentation of the transform (docs)."""

import json

import pytest

from dagster_smt.chain import parse_chain, plan_chain
from dagster_smt.chain.plan import ledger_entries
from dagster_smt.interpret.interpreter import PASSED, VALUE_CONVERTER, Interpreter
from dagster_smt.model.record import Record
from dagster_smt.model.schema import INT32, STRING, Schema, Type, optional
from dagster_smt.model.topics.format import Format
from dagster_smt.transforms.confluent.drop import Drop
from tests.transforms.helpers import Case, check, envelope, refusal

BEHAVIORS = ("nullify", "retain", "validate", "force_optional")
WHOLE = ("(whole)",)
REQUIRED = "SMT222 transforms.t (Drop${}): the schema requires a value, so the value cannot become null: {}"
OTHER = "SMT013 transforms.t (Drop$Value) schema.behavior: must be one of: nullify, retain, validate, force_optional"
NESTED = "a:int32 b:{c:string}?"


def by(behavior):
    return {"schema.behavior": behavior}


def plain(kind, payload, *, null=True, **more):
    schema = f'"type":"{kind}","optional":{str(null).lower()}'
    schema += "".join(f',"{key}":{value}' for key, value in more.items())
    return f'{{"schema":{{{schema}}},"payload":{payload}}}'


def struct(payload, *, null=True):
    return envelope(NESTED, payload, optional=null)


VALUE = '{"a":1,"b":{"c":"x"}}'
SIDES = {side: {"side": side, "shows": side.lower()} for side in ("Key", "Value")}.values()

CASES = (
    # docs: nullify is the default, and the schema is null
    *(Case(f"the default: {s['side']} {b}", {}, b, "null", touches=WHOLE, **s)
      for s in SIDES for b in (plain("int32", "24", null=False), plain("int32", "24"), struct(VALUE, null=False),
                               struct(VALUE))),
    *(Case(f"nullify: {s['side']} {b}", by("nullify"), b, "null", touches=WHOLE, **s)
      for s in SIDES for b in (plain("int32", "24", null=False), plain("int32", "24"), struct(VALUE, null=False))),
    # docs: retain and validate keep a schema that allows null, and so does force_optional
    *(Case(f"{o}: {s['side']}, optional", by(o), plain("int32", "24"), plain("int32", "null"), touches=WHOLE, **s)
      for s in SIDES for o in BEHAVIORS[1:]),
    *(Case(f"{o}: {s['side']}, an optional struct", by(o), struct(VALUE), struct("null"), touches=WHOLE, **s)
      for s in SIDES for o in BEHAVIORS[1:]),
    # docs: retain does not ask whether a schema allows null; what the schema is then has a test of its own
    *(Case(f"retain: {s['side']} {b}", by("retain"), b, "orders", side=s["side"], input_part=s["shows"], shows="topic",
           touches=WHOLE) for s in SIDES for b in (plain("int32", "24", null=False), struct(VALUE, null=False))),
    # docs: validate refuses one that does not
    *(refusal(f"validate: {s['side']}, required {k}", by("validate"), b, REQUIRED.format(s["side"], k), **s)
      for s in SIDES for k, b in (("int32", plain("int32", "24", null=False)), ("struct", struct(VALUE, null=False)))),
    # docs: force_optional makes one of it that does
    *(Case(f"force_optional: {s['side']}, required", by("force_optional"), plain("int32", "24", null=False),
           plain("int32", "null"), touches=WHOLE, **s) for s in SIDES),
    *(Case(f"force_optional: {s['side']}, a required struct", by("force_optional"), struct(VALUE, null=False),
           struct("null"), touches=WHOLE, **s) for s in SIDES),
    Case("force_optional leaves the rest of the schema", by("force_optional"),
         plain("int32", "24", null=False, name='"n"', version=3, doc='"d"', default=7),
         plain("int32", "null", name='"n"', version=3, doc='"d"', default=7), touches=WHOLE),
    # docs: the option is about schemas that are there
    *(Case(f"{o}: {s['side']} without a schema: {b}", by(o), b, "null", touches=WHOLE, **s)
      for s in SIDES for o in BEHAVIORS for b in ('{"a":1}', "24", '""', "false", "[]")),
    # ours: a side that is null already is not counted, and its schema meets the same rule
    *(Case(f"{o}: {s['side']}, null without a schema", by(o), "null", "null", touches=(), **s)
      for s in SIDES for o in BEHAVIORS),
    *(Case(f"nullify: {s['side']}, null: {b}", by("nullify"), b, "null", touches=(), **s)
      for s in SIDES for b in (plain("int32", "null"), struct("null"))),
    *(Case(f"{o}: {s['side']}, null: {b}", by(o), b, b, touches=(), **s)
      for s in SIDES for o in BEHAVIORS[1:] for b in (plain("int32", "null"), struct("null"))),
    # the configuration
    refusal("another behavior", by("drop"), "24", OTHER),
    refusal("another case", by("RETAIN"), "24", OTHER),
)  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_drop(case):
    check(Drop, case)


def chain_of(*stages):
    """A chain of (type, options)."""
    return parse_chain([{"alias": f"s{n}", "type": t, "options": o} for n, (t, o) in enumerate(stages)])


def drop(side, behavior="nullify"):
    return f"{Drop.connect_class}${side}", by(behavior)


ROW = Schema(Type.STRUCT, fields=(("a", INT32), ("b", optional(STRING))))


def record_with(key=(STRING, "k"), value=(ROW, {"a": 1, "b": "x"})):
    return Record("orders", 0, 42, 0, "CreateTime", *key, *value)


@pytest.mark.parametrize("side", ["key", "value"])
@pytest.mark.parametrize(("schema", "there"), [(INT32, 24), (ROW, {"a": 1, "b": None})], ids=["int32", "struct"])
@pytest.mark.parametrize(
    ("behavior", "after"),
    [("nullify", lambda s: None), ("retain", lambda s: s), ("force_optional", optional)],
    ids=BEHAVIORS[:2] + BEHAVIORS[3:],
)
@pytest.mark.parametrize("null", [False, True], ids=["a value", "null"])
def test_the_schema_of_a_required_side(side, schema, there, behavior, after, null):
    record = record_with(**{side: (schema, None if null else there)})
    other = "value" if side == "key" else "key"
    results = getattr(record, other), getattr(record, f"{other}_schema")
    assert Interpreter(chain_of(drop(side.title(), behavior))).run(record).status == PASSED
    assert (getattr(record, side), getattr(record, f"{side}_schema")) == (None, after(schema))
    assert (getattr(record, other), getattr(record, f"{other}_schema")) == results
    assert record.touched == (not null)


def test_validate_looks_at_the_schema_of_a_null_too():
    outcome = Interpreter(chain_of(drop("Value", "validate"))).run(record_with(value=(INT32, None)))
    assert outcome.problem.code == "SMT222"


@pytest.mark.parametrize("with_schema", [True, False])
def test_the_other_side_is_worked_on_after_the_key_is_dropped(with_schema):
    mask = "org.apache.kafka.connect.transforms.MaskField$Value", {"fields": "b", "replacement": "*"}
    record = record_with() if with_schema else record_with((None, {"id": 7}), (None, {"a": 1, "b": "x"}))
    chain = chain_of(drop("Key"), mask)
    assert Interpreter(chain).run(record).status == PASSED
    assert (record.key, record.key_schema, record.value["a"], record.value["b"]) == (None, None, 1, "*")
    lines = [(e.side, e.action, e.path) for e in ledger_entries(chain)]
    assert (lines, record.touched) == ([("key", "dropped", "(whole)"), ("value", "masked", "b")], 0b11)


def test_a_dropped_key_is_made_anew_of_the_value():
    to_key = "org.apache.kafka.connect.transforms.ValueToKey", {"fields": "a"}
    record = record_with()
    assert Interpreter(chain_of(drop("Key", "retain"), to_key)).run(record).status == PASSED
    assert (record.key, record.key_schema.fields) == ({"a": 1}, (("a", INT32),))


@pytest.mark.parametrize(
    ("behavior", "optional_after"), [("nullify", True), ("retain", False), ("force_optional", True)]
)
def test_in_columns_a_dropped_value_keeps_its_fields_and_comes_from_nowhere(behavior, optional_after):
    plan = plan_chain(chain_of(drop("Value", behavior)), STRING, ROW, typed=True)
    assert (plan.after.fields, plan.after.optional) == (ROW.fields, optional_after)
    assert plan.lineage == {"a": (), "b": ()}


def written(behavior, value, **options):
    """What is written of a dropped value, and the problem if it is refused."""
    interpreter = Interpreter(chain_of(drop("Value", behavior)), value=Format("envelope", **options))
    outcome, _, result = interpreter.process(Record("orders", 0, 42, 0, "CreateTime"), b"k", value.encode())
    return result, outcome.problem and (outcome.stage, outcome.problem.code)


@pytest.mark.parametrize(
    ("behavior", "payload", "problem"),
    [
        ("nullify", None, None),
        ("retain", None, (VALUE_CONVERTER, "SMT415")),
        ("force_optional", plain("int32", "null"), None),
    ],
)
def test_what_is_written_of_a_required_value(behavior, payload, problem):
    result, problem_found = written(behavior, plain("int32", "24", null=False))
    assert problem_found == problem
    assert (result and json.loads(result)) == (payload and json.loads(payload))


@pytest.mark.parametrize(("replaced", "payload"), [(True, "7"), (False, "null")])
def test_json_writes_a_default_in_place_of_the_null_as_connect_does(replaced, payload):
    before = plain("int32", "24", default=7)
    result, _ = written("retain", before, replace_null_with_default=replaced)
    assert json.loads(result) == json.loads(plain("int32", payload, default=7))
    assert written("nullify", before, replace_null_with_default=replaced) == (None, None)
