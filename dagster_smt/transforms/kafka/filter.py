"""Filter: drop records."""

from dagster_smt.authoring.transform import PACKAGE, Example, Transform
from dagster_smt.effects.condition import Always
from dagster_smt.effects.effect import Effect, Reject


class Filter(Transform):
    """Drop every record that reaches this stage. Use the transform together with a predicate."""

    connect_class = PACKAGE + "Filter"
    sided = False
    examples = (Example("without a predicate, all records are dropped", {}, '{"a":1}', None),)

    def effects(self) -> tuple[Effect, ...]:
        return (Reject(Always()),)
