"""Filter: drop records."""

from dataclasses import replace

from dagster_smt.authoring.transform import PACKAGE, Example, Planning, Transform
from dagster_smt.model.keeps import NOTHING, Condition
from dagster_smt.model.record import PlanRecord


class Filter(Transform):
    """Drop every record that reaches this stage. Use it with a predicate."""

    connect_class = PACKAGE + "Filter"
    sided = False
    examples = (Example("without a predicate all are dropped", {}, '{"a":1}', None),)

    def keeps(self, side: str) -> Condition:
        return NOTHING

    def plan_record(self, record: PlanRecord, at: Planning) -> PlanRecord:
        return replace(record, dropped=True)
