"""TombstoneHandler: drop tombstones, or refuse them."""

from typing import Annotated

from dagster_smt.authoring.options import Text, option
from dagster_smt.authoring.transform import Example, NullRule, Transform
from dagster_smt.authoring.validate import one_of
from dagster_smt.effects.condition import NullValue
from dagster_smt.effects.effect import Effect, Reject


class TombstoneHandler(Transform):
    """Drop the records whose value is null, with or without a schema, or refuse them; others pass.

    Confluent documents `ignore` and `warn` as dropping the record, with a line in the log of another level; here both
    are the same, and the run report counts what was dropped. The documentation does not say whether the case of the
    option matters: other spellings are refused here.
    """

    connect_class = "io.confluent.connect.transforms.TombstoneHandler"
    sided = False
    purpose = "a chain without tombstones"
    behavior: Annotated[Text, one_of("ignore", "warn", "fail")] = option(
        "`ignore` or `warn`: a tombstone is dropped; `fail`: it is refused.", "warn"
    )
    examples = (
        Example("a tombstone", {}, "null", None),
        Example("another record", {"behavior": "fail"}, '{"a":1}', '{"a":1}'),
    )

    def on_null(self) -> NullRule:
        if self.behavior == "fail":
            return "reject"
        return "drop"

    def effects(self) -> tuple[Effect, ...]:
        return (Reject(NullValue(), side="value"),)
