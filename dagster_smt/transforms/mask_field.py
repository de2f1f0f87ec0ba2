"""MaskField: put a harmless value in the place of fields."""

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any

from dagster_smt.authoring.bundles import by_syntax
from dagster_smt.authoring.edit import Target, refused
from dagster_smt.authoring.on_paths import OnFields
from dagster_smt.authoring.options import option
from dagster_smt.authoring.schemaless import Act
from dagster_smt.authoring.splice import Texts
from dagster_smt.authoring.transform import PACKAGE, Example
from dagster_smt.authoring.validate import NonEmptyNames, NonEmptyText
from dagster_smt.errors import DataError
from dagster_smt.model.cell import Cell, Const, Node
from dagster_smt.model.record import Record
from dagster_smt.model.runtime import kind_of_schema
from dagster_smt.values.basic import KeepNull
from dagster_smt.values.lazy import encoder, kind_at
from dagster_smt.values.mask import mask_value


class MaskField(OnFields):
    """Replace the values of fields with the zero of their type, or with a fixed text or number.

    The schema stays as it is. A null stays null, also with a replacement. Numbers take a numeric replacement, cut to
    their width; booleans, dates, arrays and maps take none; bytes and structs cannot be masked as a whole.
    A null key or value is refused: guard the stage with `RecordIsTombstone` where tombstones occur.
    """

    connect_class = PACKAGE + "MaskField"
    former_types = ("Mask{}",)
    purpose = "mask fields"
    null = "reject"
    action = "masked"
    fills = True
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

    def changed(self, target: Target) -> Node:
        node = target.node
        try:
            value = mask_value(kind_of_schema(node.schema), self.replacement)
        except DataError as error:
            return refused(node, error.problem.code, error.problem.statement, error.problem.hint)
        assert isinstance(node, Cell)  # structs are refused
        constant = Cell(node.schema, Const(value, node.schema), frozenset())
        masked = node.call(KeepNull(), node.schema, constant, nullable=node.nullable)
        return replace(masked, marks=node.marks | {"masked"})

    def values_function(self, number: int, kind: str) -> Callable[[list[Any]], list[Any]] | None:
        new = mask_value(kind, self.replacement)
        return lambda values: [new] * len(values)

    def acts(self, bits: tuple[int, ...]) -> tuple[Act, ...]:
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

    def same_texts(self, bits: tuple[int, ...]) -> tuple[Texts, ...]:
        text = encoder.encode(mask_value("string", self.replacement))
        return tuple(Texts(text, bit) for bit in bits)
