"""ValueToKey: make the key from fields of the value."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, Any

from dagster_smt.authoring.bundles import NestedPaths, NullDefaults, by_syntax, check_paths, named_twice
from dagster_smt.authoring.copying import copied
from dagster_smt.authoring.edit import struct_of
from dagster_smt.authoring.field_changes import FieldChange, MakeKey
from dagster_smt.authoring.options import option
from dagster_smt.authoring.reading import read_field
from dagster_smt.authoring.schemaless import require_map, value_at
from dagster_smt.authoring.transform import PACKAGE, Entry, Example, Planning, SideFunction, Transform
from dagster_smt.authoring.validate import NonEmptyNames
from dagster_smt.model.cell import Group, Node
from dagster_smt.model.path import FieldPath
from dagster_smt.model.record import KEY_DIRTY, PlanRecord, Record
from dagster_smt.model.schema import Schema, Type
from dagster_smt.values.lazy import copied as copied_value


class ValueToKey(NullDefaults, NestedPaths, Transform):
    """Replace the key by a struct (without a schema: an object) of fields of the value.

    The key is a required struct without a name, its fields in the order of the option with the schemas they have in the
    value. One field is wrapped too: `ExtractField$Key` after this unwraps it. The value stays. With a schema every
    field must exist; without one a missing field gives null. A null value is refused: guard the stage with
    `RecordIsTombstone`. A nested field is named in the key by the last name on its path.
    """

    connect_class = PACKAGE + "ValueToKey"
    sided = False
    reads_value = True
    purpose = "copying fields from value to key"
    null = "reject"
    fields: Annotated[NonEmptyNames, by_syntax()] = option("Fields of the value that make the key, in this order.")
    examples = (
        Example(
            "two fields", {"fields": "shop,id"}, '{"id":7,"shop":"a","x":1}', '{"shop":"a","id":7}', "key", "value"
        ),
    )

    def check(self) -> Iterator[tuple[str, str, str]]:
        problems = tuple(check_paths("fields", self.fields, self.path, single=True))
        yield from problems or named_twice("fields", self.paths)

    @property
    def paths(self) -> tuple[FieldPath, ...]:
        return tuple(map(self.path, self.fields))

    def ledger(self) -> tuple[Entry, ...]:
        return tuple(Entry("added", path.leaf, f"value.{path}", "key") for path in self.paths)

    def plan_record(self, record: PlanRecord, at: Planning) -> PlanRecord:
        assert record.value is not None  # null is refused
        group = struct_of(record.value, self.purpose)
        fields: list[tuple[str, Node]] = []
        for number, path in enumerate(self.paths):
            field, parent = read_field(group, path, self.strict)
            fields.append((path.leaf, copied(path.leaf, field, parent, self.replace_null_with_default)))
            at.touch(number, group.present)
        schema = Schema(Type.STRUCT, fields=tuple((name, node.schema) for name, node in fields))
        return replace(record, key=Group(schema, tuple(fields), None))

    def schemaless(self, bits: tuple[int, ...]) -> SideFunction:
        touched, paths = sum(bits), self.paths

        def make_key(value: Any, record: Record) -> Any:
            found = require_map(value, self.purpose)
            record.key = {path.leaf: copied_value(value_at(found, path)) for path in paths}
            record.key_schema = None
            record.dirty |= KEY_DIRTY
            record.touched |= touched

        return make_key

    def field_changes(self, bits: tuple[int, ...]) -> tuple[FieldChange, ...] | None:
        return (MakeKey(self.paths, sum(bits)),)
