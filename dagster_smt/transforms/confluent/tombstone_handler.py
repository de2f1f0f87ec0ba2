"""TombstoneHandler: drop or reject tombstones."""

from typing import Annotated

from dagster_smt.authoring.options import Text, option
from dagster_smt.authoring.transform import Example, NullRule, Transform
from dagster_smt.authoring.validate import one_of
from dagster_smt.effects.condition import NullValue
from dagster_smt.effects.effect import Effect, Reject


class TombstoneHandler(Transform):
    """Drop or reject the records whose value is null, with or without a schema.

    All other records pass through unchanged.

    In Confluent's documentation, `ignore` and `warn` drop the record and write a line to the log, at different levels.
    Here `ignore` and `warn` do the same: they drop the record, and the run report counts the dropped records. Confluent
    does not document whether the option is case-sensitive; here only lower case is accepted.
    """

    connect_class = "io.confluent.connect.transforms.TombstoneHandler"
    sided = False
    purpose = "a chain without tombstones"
    behavior: Annotated[Text, one_of("ignore", "warn", "fail")] = option(
        "`ignore` and `warn` drop a tombstone; `fail` rejects it.", "warn"
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
