"""DropNull: drop records by a field of the value."""

from typing import Annotated

from dagster_smt.authoring.options import Text, option
from dagster_smt.authoring.transform import Example, NullRule, Transform
from dagster_smt.authoring.validate import one_of
from dagster_smt.effects.condition import FieldPasses, Refusal, ValuePasses
from dagster_smt.effects.effect import Effect, Reject
from dagster_smt.model.paths.connect import FieldPath
from dagster_smt.values.value_rule import IsNull


class DropNull(Transform):
    """Drop records in which a field of the value is null or, without a schema, missing."""

    connect_class = "com.example.transforms.DropNull"
    sided = False
    purpose = "drop records"
    field: Text = option("The field.")
    tombstones: Annotated[Text, one_of("keep", "drop")] = option("What to do with a null value.", "keep")
    examples = (
        Example("it is null", {"field": "id"}, '{"id":null}', None),
        Example("it is not", {"field": "id"}, '{"id":7}', '{"id":7}'),
    )

    def on_null(self) -> NullRule:
        return "drop" if self.tombstones == "drop" else "pass"

    def effects(self) -> tuple[Effect, ...]:
        path = FieldPath(self.field, (self.field,))
        missing = Refusal("ACME02", f"the schema has no field '{self.field}'", "the fields are: {fields}")
        return (Reject(FieldPasses(path, ValuePasses(IsNull()), missing=missing), side="value"),)
