"""DropNull: drop records by a field of the value."""

from dataclasses import replace
from typing import Annotated, Any

from dagster_smt.authoring.edit import field_of, present, struct_of
from dagster_smt.authoring.options import Text, option
from dagster_smt.authoring.schemaless import require_map
from dagster_smt.authoring.transform import Example, NullRule, Planning, SideFunction, Transform
from dagster_smt.authoring.validate import one_of
from dagster_smt.model.cell import Call
from dagster_smt.model.record import DropRecord, PlanRecord, Record
from dagster_smt.values.basic import IsNull
from dagster_smt.values.lazy import look


class DropNull(Transform):
    """Drop records in which a field of the value is null or, without a schema, missing."""

    connect_class = "com.example.transforms.DropNull"
    sided = False
    reads_value = True
    purpose = "drop records"
    field: Text = option("The field.")
    tombstones: Annotated[Text, one_of("keep", "drop")] = option("What to do with a null value.", "keep")
    examples = (
        Example("it is null", {"field": "id"}, '{"id":null}', None),
        Example("it is not", {"field": "id"}, '{"id":7}', '{"id":7}'),
    )

    def on_null(self) -> NullRule:
        return "drop" if self.tombstones == "drop" else "pass"

    def plan_record(self, record: PlanRecord, at: Planning) -> PlanRecord:
        assert record.value is not None  # the null rule has seen to it
        there = present(field_of(struct_of(record.value, self.purpose), self.field))
        return record if there is None else replace(record, dropped=Call(IsNull(), (there,)))

    def schemaless(self, bits: tuple[int, ...]) -> SideFunction:
        def drop(value: Any, record: Record) -> None:
            fields = require_map(value, self.purpose)
            if self.field not in fields or look(fields, self.field) is None:
                raise DropRecord

        return drop
