"""ExtractField: put one field in the place of the whole key or value."""

from collections.abc import Iterator
from typing import Any

from dagster_smt.errors import PlanError, Problem
from dagster_smt.model.cell import Cell, Group, Node, open_struct
from dagster_smt.model.path import FieldPath
from dagster_smt.model.record import Record
from dagster_smt.model.schema import Type
from dagster_smt.spec.bundles import NestedPaths, NullDefaults, check_paths
from dagster_smt.spec.copying import copied
from dagster_smt.spec.edit import present, struct_of
from dagster_smt.spec.options import Text, option
from dagster_smt.spec.schemaless import require_map
from dagster_smt.spec.transform import PACKAGE, Effect, Example, Planning, SideFunction, Transform, refuse
from dagster_smt.values.lazy import look


class ExtractField(NullDefaults, NestedPaths, Transform):
    """Replace the key or value by one of its fields.

    With a schema the field must exist; its schema becomes the schema of the key or value, unchanged. Without a schema
    a missing field gives null. A null key or value stays null, with the field's schema.
    """

    connect_class = PACKAGE + "ExtractField"
    purpose = "field extraction"
    field: Text = option("The field to extract.")
    examples = (
        Example("a field", {"field": "id"}, '{"id":7,"x":1}', "7"),
        Example("a nested field", {"field": "a.b", "field.syntax.version": "V2"}, '{"a":{"b":[1]}}', "[1]"),
    )

    def check(self) -> Iterator[tuple[str, str, str]]:
        return check_paths("field", (self.field,), self.path)

    @property
    def target(self) -> FieldPath:
        return self.path(self.field)

    def ledger(self) -> tuple[Effect, ...]:
        return (Effect("extracted", self.field),)

    def plan_side(self, node: Node, at: Planning) -> Node:
        if node.schema.type is not Type.STRUCT:
            struct_of(node, self.purpose)
        for number, step in enumerate(self.target.steps):
            last = number == len(self.target.steps) - 1
            node = self._child(open_struct(node), step, fill=self.replace_null_with_default if last else True)
            if not last and node.schema.type is not Type.STRUCT:
                statement = f"'{step}' in '{self.field}' is no struct but {node.schema.label}"
                raise refuse("SMT202", statement, "name a field of a struct")
        at.touch(0, present(node))
        return node

    def _child(self, group: Group, step: str, fill: bool) -> Node:
        if step not in group.by_name:
            statement = f"there is no field '{step}' for '{self.field}'"
            names = ", ".join(group.by_name)
            raise PlanError(Problem("SMT102", "", statement, f"the fields are: {names}", "java.lang.IllegalArgumentException"))
        child = group.by_name[step]
        if child.schema.type is Type.STRUCT and isinstance(child, Cell):
            child = open_struct(child) if child.schema.default is not None else child
        if not fill or child.schema.default is None:
            return child
        return copied(step, child, group.present, True)

    def schemaless(self, bits: tuple[int, ...]) -> SideFunction:
        steps, (bit,) = self.target.steps, bits

        def extract(value: Any, record: Record) -> Any:
            if value is None:
                return None
            above = self.purpose
            for step in steps:
                fields = require_map(value, above)
                value = look(fields, step) if step in fields else None
                if value is None:
                    return None
                above = "nested field access"
            record.touched |= bit
            return value

        return extract
