"""RecordIsTombstone: a test for a null value."""

from dagster_smt.authoring.predicate import PACKAGE, Predicate
from dagster_smt.authoring.transform import Example
from dagster_smt.effects.condition import NullValue


class RecordIsTombstone(Predicate):
    """True if the value is null, whatever the key and the schema."""

    connect_class = PACKAGE + "RecordIsTombstone"
    examples = (Example("no value", {}, "null", "true"), Example("an empty object", {}, "{}", "false"))

    def condition(self) -> NullValue:
        return NullValue()
