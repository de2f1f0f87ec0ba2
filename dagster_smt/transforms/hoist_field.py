"""HoistField: wrap the whole key or value, or a field inside, in a struct or object with one field."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from dagster_smt.authoring.bundles import NestedPaths, check_paths
from dagster_smt.authoring.copying import validated
from dagster_smt.authoring.edit import Renamed, Target, edited, struct_of
from dagster_smt.authoring.options import Text, option
from dagster_smt.authoring.schemaless import require_map, visitor
from dagster_smt.authoring.transform import PACKAGE, Entry, Example, Planning, SideFunction, Transform, refuse
from dagster_smt.errors import SCHEMA_BUILDER_EXCEPTION
from dagster_smt.model.cell import Call, Cell, Group, Node
from dagster_smt.model.extended_path import WHOLE
from dagster_smt.model.path import FieldPath
from dagster_smt.model.path_steps import Match
from dagster_smt.model.record import Record
from dagster_smt.model.schema import Schema, Type
from dagster_smt.values.basic import NotNull
from dagster_smt.values.containers import NewName


class HoistField(NestedPaths, Transform):
    """Wrap the whole key or value in a struct (without a schema: an object) with one field.

    The struct is required and has no name; its field has the schema of what is wrapped. A null becomes a field that
    is null, and is refused where its schema requires a value.

    With `hoisted` a field inside is wrapped instead, beside its siblings: it keeps its own name inside the new struct,
    and the new struct has the name `field`. A field that does not exist changes nothing.
    """

    connect_class = PACKAGE + "HoistField"
    former_types = ("Hoist{}ToStruct",)
    purpose = "hoisting"
    null = "wrap"
    field: Text = option("Name of the field.")
    hoisted: Text = option("Path of the field to wrap; empty: the whole key or value.", "")
    examples = (
        Example("a number", {"field": "line"}, "7", '{"line":7}'),
        Example("an object", {"field": "line"}, '{"id":7}', '{"line":{"id":7}}'),
        Example(
            "a field inside",
            {"field": "wrapped", "hoisted": "order.id", "field.syntax.version": "V2"},
            '{"order":{"id":7,"x":1}}',
            '{"order":{"wrapped":{"id":7},"x":1}}',
        ),
    )

    def check(self) -> Iterator[tuple[str, str, str]]:
        if not self.hoisted:
            return
        problems = tuple(check_paths("hoisted", (self.hoisted,), self.path))
        yield from problems
        if not problems and not isinstance(self.target.steps[-1], str | Match):
            yield "hoisted", f"'{self.hoisted}' ends with no name", "let it end with a name or a pattern"

    @property
    def target(self) -> FieldPath:
        return self.path(self.hoisted)

    def ledger(self) -> tuple[Entry, ...]:
        return (Entry("renamed", self.hoisted or WHOLE, self.field),)

    def plan_side(self, node: Node, at: Planning) -> Node:
        if not self.field:
            raise refuse("SMT112", "a field needs a name that is not empty", "name the field", SCHEMA_BUILDER_EXCEPTION)
        if self.hoisted:
            return self._inside(node, at)
        at.touch(0)
        child = self._required(node) if node.may_be_null and not node.schema.optional else node
        return _wrapped(self.field, validated(child))

    def _inside(self, node: Node, at: Planning) -> Node:
        def hoist(target: Target) -> Renamed:
            if not target.name:
                raise refuse("SMT226", "the value under a key of a map cannot be wrapped alone", "wrap the map")
            target.touch_place()
            return Renamed(NewName(self.field), _wrapped(target.name, target.node))

        group = struct_of(node, self.purpose)
        return edited(group, (self.target,), hoist, True, at, self.strict)

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

        def hoist_field(parent: Any, key: Any, record: Record) -> None:
            record.touched |= bit
            parent[self.field] = {key: parent.pop(key)}

        if not self.hoisted:
            return hoist
        visit = visitor((self.target,), (hoist_field,))

        def hoist_inside(value: Any, record: Record) -> Any:
            if value is not None:
                visit(require_map(value, self.purpose), record)
            return value

        return hoist_inside


def _wrapped(name: str, node: Node) -> Group:
    return Group(Schema(Type.STRUCT, fields=((name, node.schema),)), ((name, node),), None)
