"""Whatever is raised while one record is read, evaluated or written: it is that record's problem, and no other's."""

from dataclasses import dataclass, replace
from typing import ClassVar

import pytest

from dagster_smt.authoring.fields.edit import present
from dagster_smt.authoring.options import Text, option
from dagster_smt.authoring.stage import Stage
from dagster_smt.authoring.transform import Entry
from dagster_smt.chain import Chain
from dagster_smt.effects.code import Code, CodePredicate, CodeTransform
from dagster_smt.errors import ConfigError, EngineError, PlanError, Problem, problem_of_record
from dagster_smt.formats.sides import SideCodec
from dagster_smt.interpret import interpreter as interpreting
from dagster_smt.interpret.interpreter import FAILED, KEY_CONVERTER, PASSED, VALUE_CONVERTER, Interpreter
from dagster_smt.model.cell import Call, field_nodes, open_struct
from dagster_smt.model.record import Header, Record
from dagster_smt.model.topics.format import Format
from dagster_smt.tables.ddl import parse_ddl
from dagster_smt.values.value_rule import ValueRule

POISON = b'{"a":"poison","b":1}'
VALUES = [b'{"a":"x","b":1}', b'{"a":null}', POISON, b"", b'{"a":"y"}', b'{"a":"z","b":2}']
BAD = VALUES.index(POISON)
SCHEMA = parse_ddl("a STRING, b INT")


class OddError(Exception):
    """An exception that nobody knows; its text must not be told."""


RAISED = [OddError, ValueError, KeyError, OverflowError, RecursionError, AssertionError, OSError, TypeError]


def raise_if(wrong, error):
    if wrong:
        raise error("secret-4711")


@dataclass(frozen=True, slots=True)
class Raises(ValueRule):
    """Gives the value, unless it is the one that must not be."""

    error: type = OddError

    def python(self, value):
        raise_if(value == "poison", self.error)
        return value


class Touchy(CodeTransform):
    """Raises for one value, with a schema and without."""

    connect_class = "com.example.Touchy"
    sided = True
    purpose = "raise"
    field: Text = option("The field.", "a")
    error: ClassVar[type] = OddError

    def effects(self):
        return (Code((Entry("changed", self.field),)),)

    def plan_record(self, record, at):
        node = open_struct(at.side_of(record))
        at.touch(0, present(node))
        fields = tuple(
            (name, replace(child, expr=Call(Raises(self.error), (child.expr,))) if name == "a" else child)
            for name, child in node.fields
        )
        return at.with_side(record, replace(node, fields=fields))

    def schemaless(self, bits):
        def change(value, record):
            raise_if(bytes(value.get("a", b"")) == b'"poison"', self.error)
            record.touched |= bits[0]
            return value

        return change


class Doubts(CodePredicate):
    """Raises for one value."""

    connect_class = "com.example.Doubts"
    error: ClassVar[type] = OddError

    def condition(self):
        return Code(reads=frozenset({"value"}))

    def schemaless(self):
        def test(record):
            raise_if(bytes(record.value.get("a", b"")) == b'"poison"', self.error)
            return True

        return test

    def test(self, record):
        return Call(Raises(self.error), (dict(field_nodes(record.value))["a"].expr,))


def variant(base, **attributes):
    """A class of its own, with other attributes."""
    result = type(base.__name__, (base,), {"__module__": __name__})
    for name, value in attributes.items():
        setattr(result, name, value)
    return result()


def chain_of(error, *, predicate=False):
    if not predicate:
        return Chain((Stage("t", variant(Touchy, error=error), "value"),))
    harmless = variant(Touchy, schemaless=lambda self, bits: lambda value, record: value)
    return Chain((Stage("t", harmless, "value", variant(Doubts, error=error)),))


def breaks(read, error):
    """A reader or writer that raises for the one value."""

    def broken(*arguments):
        raise_if(any(_is_poison(one) for one in arguments), error)
        return read(*arguments)

    return broken


def _is_poison(value):
    if isinstance(value, dict):
        return bytes(value.get("a") or b"") == b'"poison"'
    return value == POISON


def evaluated(interpreter, values):
    records = [Record("t", number=n, headers=[Header("h", raw=b"1", from_stage=False)]) for n in range(len(values))]
    for record in records:
        record.dirty = 3
    batch = interpreter.run_all(records, list(values), list(values))
    lost = {n: (o.status, o.stage, o.problem and (o.problem.code, o.problem.statement)) for n, o in batch.lost.items()}
    return lost, [batch.values[n] for n in range(len(values))], [record.touched for record in records]


def broken_interpreter(place, error):
    kinds = {
        "a stage": ({}, Format(), None),
        "a predicate": ({"predicate": True}, Format(), None),
        "a stage with a schema": ({}, Format("json_schema", SCHEMA), None),
        "the decoder": (None, Format(), "read"),
        "the encoder": (None, Format(), "write"),
    }
    options, form, side = kinds[place]
    chain = Chain(()) if options is None else chain_of(error, **options)
    result = Interpreter(chain, Format("bytes"), form)
    if side == "read":
        result.value = SideCodec(breaks(result.value.read, error), result.value.write)
    if side == "write":
        result.value = SideCodec(result.value.read, breaks(result.value.write, error))
    return result


PLACES = ["a stage", "a predicate", "a stage with a schema", "the decoder", "the encoder"]


@pytest.mark.parametrize("error", RAISED)
@pytest.mark.parametrize("place", PLACES)
def test_exactly_that_record_fails(place, error):
    lost, values, touched = evaluated(broken_interpreter(place, error), VALUES)
    without = [value for value in VALUES if value != POISON]
    lost_without, values_without, touched_without = evaluated(broken_interpreter(place, error), without)
    stage = VALUE_CONVERTER if place.endswith("coder") else 0
    assert lost.pop(BAD) == (FAILED, stage, ("SMT430", f"the record cannot be processed: {error.__name__}"))
    assert lost_without == {n - (n > BAD): outcome for n, outcome in lost.items()}
    assert values[:BAD] + values[BAD + 1 :] == values_without
    assert touched[:BAD] + touched[BAD + 1 :] == touched_without


@pytest.mark.parametrize("side", ["key", "value"])
def test_the_side_that_fails_is_told(side):
    result = Interpreter(Chain(()), Format("bytes"), Format("bytes"))
    setattr(result, side, SideCodec(breaks(getattr(result, side).read, OddError), getattr(result, side).write))
    lost, _, _ = evaluated(result, VALUES)
    assert [o[1] for o in lost.values()] == [KEY_CONVERTER if side == "key" else VALUE_CONVERTER]


@pytest.mark.parametrize("error", [MemoryError(), ImportError(), ConfigError([]), EngineError([])], ids=repr)
def test_what_no_record_is_to_blame_for_ends_the_run(error):
    result = Interpreter(Chain(()), Format("bytes"), Format("bytes"))

    def read(*arguments):
        raise error

    result.value = SideCodec(read, result.value.write)
    with pytest.raises(type(error)):
        evaluated(result, VALUES)


def test_a_function_for_all_records_that_comes_to_none_ends():
    result = Interpreter(Chain(()))

    def fails_at_once(records):
        raise OddError

    with pytest.raises(OddError):
        result._for_all(0, fails_at_once, [Record("t")], interpreting.Batch(None, [None]))


def test_a_refused_plan_is_the_problem_of_its_records():
    problem = Problem("SMT999", "", "no")
    assert problem_of_record(PlanError(problem)) == problem


@pytest.mark.parametrize("value", [None, b"{}", b"["])
def test_others_have_a_verdict(value):
    outcome, _, _ = Interpreter(chain_of(OddError)).process(Record("t"), None, value)
    assert outcome.status in (PASSED, FAILED)
