"""MaskField: put a harmless value in the place of fields."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, Any

from dagster_smt.errors import DataError
from dagster_smt.model.cell import Cell, Const, Node
from dagster_smt.model.path import FieldPath
from dagster_smt.model.record import Record
from dagster_smt.model.runtime import kind_of_schema
from dagster_smt.spec.bundles import NestedPaths, NullDefaults, by_syntax, check_paths
from dagster_smt.spec.edit import Target, edited, refused, struct_of
from dagster_smt.spec.options import option
from dagster_smt.spec.schemaless import Act, all_visitor, require_map, value_visitor
from dagster_smt.spec.splice import Texts
from dagster_smt.spec.transform import PACKAGE, AllFunction, Effect, Example, Planning, SideFunction, Transform
from dagster_smt.spec.validate import NonEmptyNames, NonEmptyText
from dagster_smt.values.basic import KeepNull
from dagster_smt.values.lazy import encoder, kind_at
from dagster_smt.values.mask import mask_value


class MaskField(NullDefaults, NestedPaths, Transform):
    """Replace the values of fields with the zero of their type, or with a fixed text or number.

    The schema stays as it is. A null stays null, also with a replacement. Numbers take a numeric replacement, cut to
    their width; booleans, dates, arrays and maps take none; bytes and structs cannot be masked as a whole.
    A null key or value is refused: guard the stage with `RecordIsTombstone` where tombstones occur.
    """

    connect_class = PACKAGE + "MaskField"
    former_types = ("Mask{}",)
    purpose = "mask fields"
    null = "reject"
    fields: Annotated[NonEmptyNames, by_syntax()] = option("Fields to mask.")
    replacement: NonEmptyText | None = option("What to put there instead of the type's zero.", None)
    examples = (
        Example("the zero of each type", {"fields": "name,age"}, '{"name":"Ann","age":7}', '{"name":"","age":0}'),
        Example("a replacement", {"fields": "name", "replacement": "***"}, '{"name":"Ann"}', '{"name":"***"}'),
        Example(
            "a nested field",
            {"fields": "user.mail", "field.syntax.version": "V2"},
            '{"user":{"mail":"a@b.example","id":1}}',
            '{"user":{"mail":"","id":1}}',
        ),
    )

    def check(self) -> Iterator[tuple[str, str, str]]:
        return check_paths("fields", self.fields, self.path)

    @property
    def paths(self) -> tuple[FieldPath, ...]:
        return tuple(map(self.path, self.fields))

    def ledger(self) -> tuple[Effect, ...]:
        return tuple(Effect("masked", text) for text in self.fields)

    def plan_side(self, node: Node, at: Planning) -> Node:
        def mask(target: Target) -> Node:
            target.touch()
            return self._masked(target.node)

        group = struct_of(node, self.purpose)
        return edited(group, self.paths, mask, self.replace_null_with_default, at, self.strict)

    def _masked(self, target: Node) -> Node:
        try:
            value = mask_value(kind_of_schema(target.schema), self.replacement)
        except DataError as error:
            return refused(target, error.problem.code, error.problem.statement, error.problem.hint)
        assert isinstance(target, Cell)  # structs are refused
        constant = Cell(target.schema, Const(value, target.schema), frozenset())
        masked = target.call(KeepNull(), target.schema, constant, nullable=target.nullable)
        return replace(masked, marks=target.marks | {"masked"})

    def _acts(self, bits: tuple[int, ...]) -> tuple[Act, ...]:
        masks: dict[str, Any] = {}  # by kind
        text = mask_value("string", self.replacement)

        def mask_of(kind: str) -> Any:
            if kind in ("array", "map"):  # not shared: a later stage may change it
                return type(mask_value(kind, self.replacement))()
            if kind not in masks:
                masks[kind] = mask_value(kind, self.replacement)
            return masks[kind]

        def masker(bit: int) -> Act:
            def mask(parent: Any, key: Any, record: Record) -> None:
                kind = kind_at(parent, key)
                if kind == "string":  # most are
                    parent[key] = text
                    record.touched |= bit
                elif kind != "null":
                    parent[key] = masks[kind] if kind in masks else mask_of(kind)
                    record.touched |= bit

            return mask

        return tuple(map(masker, bits))

    def schemaless(self, bits: tuple[int, ...]) -> SideFunction:
        text = encoder.encode(mask_value("string", self.replacement))
        visit = value_visitor(self.paths, self._acts(bits), tuple(Texts(text, bit) for bit in bits))

        def mask_fields(value: Any, record: Record) -> Any:
            visit(require_map(value, self.purpose), record)
            return value

        return mask_fields

    def schemaless_all(self, bits: tuple[int, ...]) -> AllFunction | None:
        return all_visitor(self.paths, self._acts(bits), fills=True)
