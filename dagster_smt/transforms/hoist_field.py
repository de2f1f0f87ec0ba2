"""HoistField: wrap the whole key or value in a struct or object with one field."""

from dataclasses import replace
from typing import Any

from dagster_smt.errors import SCHEMA_BUILDER_EXCEPTION
from dagster_smt.model.cell import Call, Cell, Group, Node
from dagster_smt.model.record import Record
from dagster_smt.model.schema import Schema, Type
from dagster_smt.spec.options import Text, option
from dagster_smt.spec.transform import PACKAGE, Effect, Example, Planning, SideFunction, Transform, refuse
from dagster_smt.values.basic import NotNull


class HoistField(Transform):
    """Wrap the whole key or value in a struct (without a schema: an object) with one field.

    The struct is required and has no name; its field has the schema of what is wrapped. A null becomes a field that
    is null, and is refused where its schema requires a value.
    """

    connect_class = PACKAGE + "HoistField"
    purpose = "hoisting"
    field: Text = option("Name of the field.")
    examples = (
        Example("a number", {"field": "line"}, "7", '{"line":7}'),
        Example("an object", {"field": "line"}, '{"id":7}', '{"line":{"id":7}}'),
    )

    def ledger(self) -> tuple[Effect, ...]:
        return (Effect("renamed", "(whole)", self.field),)

    def plan_side(self, node: Node, at: Planning) -> Node:
        if not self.field:
            raise refuse("SMT112", "a field needs a name that is not empty", "name the field", SCHEMA_BUILDER_EXCEPTION)
        at.touch(0)
        child = self._required(node) if node.may_be_null and not node.schema.optional else node
        return Group(Schema(Type.STRUCT, fields=((self.field, node.schema),)), ((self.field, child),), None)

    def _required(self, node: Node) -> Node:
        rule = NotNull(self.purpose)
        if isinstance(node, Cell):
            return replace(node, expr=Call(rule, (node.expr,)), nullable=False)
        assert node.present is not None  # else it could not be null
        return replace(node, present=Call(rule, (node.present,)), nullable=False)

    def schemaless(self, bits: tuple[int, ...]) -> SideFunction:
        (bit,) = bits

        def hoist(value: Any, record: Record) -> Any:
            record.touched |= bit
            return {self.field: value}

        return hoist
