"""Small record transforms and predicates that decide by data, for tests of both evaluators."""

from dataclasses import dataclass, replace
from typing import Annotated

from dagster_smt.authoring.options import Text, option
from dagster_smt.authoring.stage import Stage
from dagster_smt.authoring.transform import Entry
from dagster_smt.authoring.validate import one_of
from dagster_smt.chain import Chain
from dagster_smt.effects.code import Code, CodePredicate, CodeTransform
from dagster_smt.errors import data_error
from dagster_smt.model.cell import Call, Ref, field_nodes
from dagster_smt.model.record import DropRecord
from dagster_smt.values.json.lazy import look
from dagster_smt.values.value_rule import IsNull, ValueRule

VALUE = frozenset({"value"})


class DropIfNull(CodeTransform):
    """Drop records in which a field of the value is null."""

    connect_class = "com.example.DropIfNull"
    sided = False
    purpose = "drop records"
    field: Text = option("The field.")
    behavior: Annotated[Text, one_of("pass", "reject", "drop")] = option("What a null value meets.", "pass")

    def on_null(self):
        return self.behavior

    def effects(self):
        return (Code((Entry("routed", "topic", side="topic"),), VALUE),)

    def plan_record(self, record, at):
        at.touch(0)
        return replace(record, dropped=Call(IsNull(), (dict(field_nodes(record.value))[self.field].expr,)))

    def schemaless(self, bits):
        def drop(value, record):
            record.touched |= bits[0]
            if look(value, self.field) is None:
                raise DropRecord

        return drop


class DropIfKeyIsNull(CodeTransform):
    """The same for a field of the key."""

    connect_class = "com.example.DropIfKeyIsNull"
    sided = False
    null = "reject"
    purpose = "drop records"

    def effects(self):
        return (Code(reads=frozenset({"key"})),)

    def plan_record(self, record, at):
        return replace(record, dropped=Call(IsNull(), (dict(field_nodes(record.key))["k"].expr,)))

    def schemaless(self, bits):
        def drop(key, record):
            if look(key, "k") is None:
                raise DropRecord

        return drop


@dataclass(frozen=True, slots=True)
class Above(ValueRule):
    """Whether a number is above 10; negative ones are refused."""

    may_fail = True

    def python(self, value):
        if value is not None and value < 0:
            raise self.failure()
        return value is not None and value > 10

    def column(self, F, value):
        return F.when(value >= 0, value > 10)

    def failed(self, F, result, value):
        return value < 0

    def failure(self):
        return data_error("ACME02", "the number is negative")


class DropAbove(CodeTransform):
    """Drop records with a large number, refuse those with a negative one."""

    connect_class = "com.example.DropAbove"
    sided = False
    null = "drop"

    def effects(self):
        return (Code(reads=VALUE),)

    def plan_record(self, record, at):
        return replace(record, dropped=Call(Above(), (dict(field_nodes(record.value))["n"].expr,)))

    def schemaless(self, bits):
        def drop(value, record):
            if Above().python(look(value, "n")):
                raise DropRecord

        return drop


class SeesOtherSide(CodeTransform):
    """Looks at a side that it does not declare."""

    connect_class = "com.example.SeesOtherSide"
    sided = False
    side: Text = option("Which.")

    def effects(self):
        return (Code(),)

    def plan_record(self, record, at):
        return replace(record, dropped=getattr(record, self.side) is None)


class Refers(SeesOtherSide):
    """The same, by a reference."""

    connect_class = "com.example.Refers"

    def plan_record(self, record, at):
        return replace(record, dropped=Call(IsNull(), (Ref((self.side, "a")),)))


class LooksAside(SeesOtherSide):
    """A transform with sides that looks at the other one."""

    connect_class = "com.example.LooksAside"
    sided = True

    def schemaless(self, bits):
        return lambda value, record: value


class LooksAtBoth(CodeTransform):
    """Declares both."""

    connect_class = "com.example.LooksAtBoth"
    sided = False
    null = "pass"

    def effects(self):
        return (Code(reads=frozenset({"key", "value"})),)

    def plan_record(self, record, at):
        return replace(record, dropped=record.key is None)

    def schemaless(self, bits):
        return lambda value, record: None


class HasField(CodePredicate):
    """True where a field of the value is not null."""

    connect_class = "com.example.HasField"

    def condition(self):
        return Code(reads=VALUE)

    def test(self, record):
        return Call(IsNull(), (dict(field_nodes(record.value))["a"].expr,))

    def schemaless(self):
        return lambda record: look(record.value, "a") is None


class Peeks(CodePredicate):
    """Looks at the value without declaring it."""

    connect_class = "com.example.Peeks"

    def condition(self):
        return Code()

    def test(self, record):
        return record.value is None


def chain(transform, side="", predicate=None, *, negate=False):
    """A chain of one stage."""
    return Chain((Stage("t", transform, side, predicate, "p" if predicate else "", negate),))
