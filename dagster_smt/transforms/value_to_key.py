"""ValueToKey: make the key from fields of the value."""

from dataclasses import replace
from typing import Any

from dagster_smt.errors import PlanError
from dagster_smt.model.cell import Group, Node
from dagster_smt.model.record import KEY_DIRTY, PlanRecord, Record
from dagster_smt.model.schema import Schema, Type
from dagster_smt.spec.bundles import NullDefaults
from dagster_smt.spec.copying import copied
from dagster_smt.spec.edit import field_of, struct_of
from dagster_smt.spec.options import option
from dagster_smt.spec.schemaless import require_map
from dagster_smt.spec.transform import PACKAGE, Effect, Example, Planning, SideFunction, Transform
from dagster_smt.spec.validate import NonEmptyNames
from dagster_smt.values.basic import NotNull
from dagster_smt.values.lazy import copied as copied_value


class ValueToKey(NullDefaults, Transform):
    """Replace the key by a struct (without a schema: an object) of fields of the value.

    The key is a required struct without a name, its fields in the order of the option with the schemas they have in the
    value. One field is wrapped too: `ExtractField$Key` after this unwraps it. The value stays. With a schema every
    field must exist; without one a missing field gives null. A null value is refused: guard the stage with
    `RecordIsTombstone`.
    """

    connect_class = PACKAGE + "ValueToKey"
    sided = False
    reads_value = True
    purpose = "copying fields from value to key"
    null = "reject"
    fields: NonEmptyNames = option("Fields of the value that make the key, in this order.")
    examples = (
        Example(
            "two fields", {"fields": "shop,id"}, '{"id":7,"shop":"a","x":1}', '{"shop":"a","id":7}', "key", "value"
        ),
    )

    def ledger(self) -> tuple[Effect, ...]:
        return tuple(Effect("added", name, f"value.{name}", "key") for name in self.fields)

    def plan_record(self, record: PlanRecord, at: Planning) -> PlanRecord:
        if record.value is None:
            raise PlanError(NotNull(self.purpose).failure().problem)
        group = struct_of(record.value, self.purpose)
        fields: list[tuple[str, Node]] = []
        for number, name in enumerate(self.fields):
            fields.append((name, copied(name, field_of(group, name), group.present, self.replace_null_with_default)))
            at.touch(number, group.present)
        schema = Schema(Type.STRUCT, fields=tuple((name, node.schema) for name, node in fields))
        return replace(record, key=Group(schema, tuple(fields), None))

    def schemaless(self, bits: tuple[int, ...]) -> SideFunction:
        touched = sum(bits)

        def make_key(value: Any, record: Record) -> Any:
            found = require_map(value, self.purpose)
            record.key = {name: copied_value(found.get(name)) for name in self.fields}
            record.key_schema = None
            record.dirty |= KEY_DIRTY
            record.touched |= touched

        return make_key
