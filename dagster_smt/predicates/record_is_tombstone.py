"""RecordIsTombstone: by a null value."""

from dagster_smt.authoring.predicate import PACKAGE, Predicate
from dagster_smt.authoring.transform import Example
from dagster_smt.model.cell import Call, Expr, Ref
from dagster_smt.model.keeps import Condition, NullValue
from dagster_smt.model.record import PlanRecord
from dagster_smt.values.basic import IsNull


class RecordIsTombstone(Predicate):
    """True where the value is null, whatever the key and the schema."""

    connect_class = PACKAGE + "RecordIsTombstone"
    examples = (Example("no value", {}, "null", "true"), Example("an empty object", {}, "{}", "false"))

    def holds(self) -> Condition:
        return NullValue()

    def test(self, record: PlanRecord) -> Expr | bool:
        return Call(IsNull(), (Ref(("value",)),))
