"""ExtractField: put one field in the place of the whole key or value."""

from collections.abc import Iterator
from typing import Any

from dagster_smt.authoring.bundles import NestedPaths, NullDefaults, check_paths
from dagster_smt.authoring.copying import copied
from dagster_smt.authoring.edit import present, struct_of
from dagster_smt.authoring.field_changes import Extract, FieldChange
from dagster_smt.authoring.options import Text, option
from dagster_smt.authoring.reading import read_field
from dagster_smt.authoring.schemaless import element_of, require_map
from dagster_smt.authoring.transform import PACKAGE, Entry, Example, Planning, SideFunction, Transform
from dagster_smt.model.cell import Node, open_struct
from dagster_smt.model.path import FieldPath
from dagster_smt.model.path_steps import Index
from dagster_smt.model.record import Record
from dagster_smt.model.schema import Type
from dagster_smt.values.lazy import look

_MISSING = "java.lang.IllegalArgumentException"


class ExtractField(NullDefaults, NestedPaths, Transform):
    """Replace the key or value by one of its fields.

    With a schema the field must exist; its schema becomes the schema of the key or value, unchanged. Without a schema
    a missing field gives null. A null key or value stays null, with the field's schema.
    """

    connect_class = PACKAGE + "ExtractField"
    former_types = ("Extract{}FromStruct",)
    purpose = "field extraction"
    field: Text = option("The field to extract.")
    examples = (
        Example("a field", {"field": "id"}, '{"id":7,"x":1}', "7"),
        Example("a nested field", {"field": "a.b", "field.syntax.version": "V2"}, '{"a":{"b":[1]}}', "[1]"),
    )

    def check(self) -> Iterator[tuple[str, str, str]]:
        return check_paths("field", (self.field,), self.path, single=True)

    @property
    def target(self) -> FieldPath:
        return self.path(self.field)

    def ledger(self) -> tuple[Entry, ...]:
        return (Entry("extracted", self.field),)

    def plan_side(self, node: Node, at: Planning) -> Node:
        struct_of(node, self.purpose)
        node, parent = read_field(node, self.target, self.strict, _MISSING)
        if self.replace_null_with_default and node.schema.default is not None:
            node = open_struct(node) if node.schema.type is Type.STRUCT else node
            node = copied(self.target.leaf, node, parent, True)
        at.touch(0, present(node))
        return node

    def schemaless(self, bits: tuple[int, ...]) -> SideFunction:
        steps, (bit,) = self.target.steps, bits

        def extract(value: Any, record: Record) -> Any:
            if value is None:
                return None
            above = self.purpose
            for step in steps:
                if isinstance(step, Index):
                    value = element_of(value, step)
                else:
                    fields = require_map(value, above)
                    value = look(fields, step) if step in fields else None
                if value is None:
                    return None
                above = "nested field access"
            record.touched |= bit
            return value

        return extract

    def field_changes(self, bits: tuple[int, ...]) -> tuple[FieldChange, ...] | None:
        return (Extract(self.target, bits[0]),)
