"""HashField: put the SHA-256 of texts in their place."""

import hashlib
from dataclasses import dataclass, replace
from typing import Any

from dagster_smt.model.cell import Node
from dagster_smt.model.path import FieldPath
from dagster_smt.model.record import Record
from dagster_smt.model.schema import Type
from dagster_smt.spec.bundles import NullDefaults
from dagster_smt.spec.edit import Target, edited, refused, struct_of
from dagster_smt.spec.options import option
from dagster_smt.spec.schemaless import require_map
from dagster_smt.spec.transform import Effect, Example, Planning, SideFunction, Transform
from dagster_smt.spec.validate import NonEmptyNames
from dagster_smt.values.basic import ValueRule
from dagster_smt.values.lazy import look


@dataclass(frozen=True, slots=True)
class Sha256(ValueRule):
    """The SHA-256 of a text, in hexadecimal digits."""

    def python(self, text: str | None) -> str | None:
        return None if text is None else hashlib.sha256(text.encode()).hexdigest()

    def column(self, F: Any, text: Any) -> Any:
        return F.sha2(text.cast("binary"), 256)


class HashField(NullDefaults, Transform):
    """Replace texts by their SHA-256, so that they can still be joined.

    Fields that are no texts are left alone; a null stays null. A null key or value passes.
    """

    connect_class = "com.example.transforms.HashField"
    purpose = "hash fields"
    null = "pass"
    fields: NonEmptyNames = option("Fields to hash.")
    examples = (
        Example(
            "a name",
            {"fields": "name"},
            '{"name":"Ann","age":7}',
            '{"name":"17239b6e250110330eda64a29c610bf146f89883371fab093feda03bec61b646","age":7}',
        ),
    )

    def ledger(self) -> tuple[Effect, ...]:
        return tuple(Effect("masked", name) for name in self.fields)

    def plan_side(self, node: Node, at: Planning) -> Node:
        def hashed(target: Target) -> Node:
            text = target.node
            if text.schema.type is Type.STRUCT:
                return refused(text, "ACME01", "a struct cannot be hashed", "hash its fields")
            if text.schema.type is not Type.STRING:
                return text
            target.touch()
            cell = text.call(Sha256(), text.schema, nullable=text.nullable)
            return replace(cell, marks=text.marks | {"masked"})

        paths = (FieldPath(name, (name,)) for name in self.fields)
        return edited(struct_of(node, self.purpose), paths, hashed, self.replace_null_with_default, at)

    def schemaless(self, bits: tuple[int, ...]) -> SideFunction:
        rule = Sha256()

        def hash_fields(value: Any, record: Record) -> Any:
            fields = require_map(value, self.purpose)
            for name, bit in zip(self.fields, bits, strict=True):
                if name in fields and isinstance(look(fields, name), str):
                    fields[name] = rule.python(fields[name])
                    record.touched |= bit
            return fields

        return hash_fields
