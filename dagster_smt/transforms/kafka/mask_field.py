"""MaskField: replace field values with a harmless value."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from dagster_smt.authoring.bundles import NestedPaths, NullDefaults, by_syntax, check_paths
from dagster_smt.authoring.options import option
from dagster_smt.authoring.transform import PACKAGE, Example, Transform
from dagster_smt.authoring.validate import NonEmptyNames, NonEmptyText
from dagster_smt.effects.effect import Change, Effect
from dagster_smt.effects.field_rule import Constant, FieldRule
from dagster_smt.values.mask import mask_value


@dataclass(frozen=True)
class Mask(FieldRule):
    """A rule that replaces a value with the configured replacement, or with the zero of its type: ``0``, ``false`` or
    an empty string.
    """

    name = "mask"
    replacement: str | None
    constant = True

    def of_kind(self, kind: str) -> Constant:
        return Constant(mask_value(kind, self.replacement))


class MaskField(NullDefaults, NestedPaths, Transform):
    """Replace field values with the zero of their type, or with a fixed string or number.

    The schema stays as it is. A null stays null, even with a replacement. A number needs a numeric replacement, which
    is narrowed to the width of the field. Booleans, dates, arrays and maps allow no replacement. Bytes and structs
    cannot be masked as a whole. A null key or value is rejected. If the topic contains tombstones, a stage on the value
    therefore needs the predicate `RecordIsTombstone` with `negate=true`.
    """

    connect_class = PACKAGE + "MaskField"

    purpose = "mask fields"
    null = "reject"
    fields: Annotated[NonEmptyNames, by_syntax()] = option("Fields to mask.")
    replacement: NonEmptyText | None = option(
        "The new value. If it is not set, the new value is the zero of the type.", None
    )
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

    def effects(self) -> tuple[Effect, ...]:
        mask = Mask(self.replacement)
        return tuple(Change(self.path(name), mask, "masked", fills=True) for name in self.fields)
