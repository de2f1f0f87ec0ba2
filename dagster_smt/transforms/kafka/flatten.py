"""Flatten: move nested fields to the top level."""

from dataclasses import replace
from typing import Any

from dagster_smt.authoring.copying import copied
from dagster_smt.authoring.fields.edit import struct_of, under
from dagster_smt.authoring.fields.schemaless import require_map
from dagster_smt.authoring.options import Text, option
from dagster_smt.authoring.transform import PACKAGE, Entry, Example, Planning, SideFunction, refuse
from dagster_smt.effects.code import Code, CodeTransform
from dagster_smt.errors import SCHEMA_BUILDER_EXCEPTION, data_error
from dagster_smt.model.cell import Cell, Group, Node, open_struct, with_fields
from dagster_smt.model.record import PlanRecord, Record
from dagster_smt.model.runtime import java_class, kind_of
from dagster_smt.model.schema import Type
from dagster_smt.values.json.lazy import is_object, is_raw, look


class Flatten(CodeTransform):
    """Move the fields of nested structs, or of nested objects without a schema, to the top level.

    The new name of a field consists of the names on its path, joined with the delimiter. Arrays stay as they are, even
    with structs inside. Empty structs vanish. The result is a required struct. A null key or value passes through
    unchanged.

    With a schema, a field is optional if the field itself or any struct around it is optional. A null becomes its
    field's default, except inside a null struct. Maps are rejected. If two fields get the same new name, a record with
    a schema is rejected; without a schema, the later field wins.
    """

    connect_class = PACKAGE + "Flatten"
    purpose = "flattening"
    null = "pass"
    delimiter: Text = option("The delimiter between the names. Surrounding spaces are removed.", ".")
    examples = (
        Example(
            "two levels",
            {},
            '{"id":7,"buyer":{"name":"Ann","tags":["a"]}}',
            '{"id":7,"buyer.name":"Ann","buyer.tags":["a"]}',
        ),
        Example("another delimiter", {"delimiter": "_"}, '{"a":{"b":{"c":1}}}', '{"a_b_c":1}'),
    )

    def effects(self) -> tuple[Code, ...]:
        entry = Entry("renamed", "(nested)", f"joined by {self.delimiter}".rstrip(), explicit=False)
        return (Code((entry,), java={"do": "flatten", "delimiter": self.delimiter}),)

    def _joined(self, prefix: str, name: str) -> str:
        if prefix:
            return f"{prefix}{self.delimiter}{name}"
        return name

    def plan_record(self, record: PlanRecord, at: Planning) -> PlanRecord:
        group = struct_of(at.side_of(record), self.purpose)
        fields: dict[str, Node] = {}
        self._collect(group, "", group.schema.optional, group.schema.default, fields)
        if any(child.schema.type is Type.STRUCT for _, child in group.fields):
            at.touch(0, group.present)
        flat = with_fields(group, fields.items(), group.schema.with_fields(()))
        return at.with_side(record, under(group, flat))

    def _collect(
        self, group: Group, prefix: str, optional: bool, defaults: dict[str, Any] | None, leaves: dict[str, Node]
    ) -> None:
        """Adds the leaves of the struct ``group`` to ``leaves`` under their new names. A leaf is a field without inner
        fields.

        ``prefix`` is the new name of the struct. ``optional`` is True if the struct, or a struct around it, is
        optional. ``defaults`` is the default of the struct.
        """
        for name, child in group.fields:
            full = self._joined(prefix, name)
            schema = child.schema
            nullable = optional or schema.optional
            # as in Connect, a field without a default takes its default from the default of the struct around it
            if schema.default is None:
                default = (defaults or {}).get(name)
            else:
                default = schema.default
            if schema.type is Type.STRUCT:
                self._collect(open_struct(child), full, nullable, default, leaves)
                continue
            if schema.type is Type.MAP:
                hint = "drop the field first with ReplaceField, or declare it as a struct"
                raise refuse("SMT220", f"the map '{full}' cannot be flattened", hint)
            if full in leaves:
                statement = f"two fields would be named '{full}'"
                raise refuse(
                    "SMT111", statement, "rename one of them, or use another delimiter", SCHEMA_BUILDER_EXCEPTION
                )
            # Connect's Flatten has no option `replace.null.with.default`
            leaf = copied(full, child, group.present, True)
            assert isinstance(leaf, Cell)
            leaves[full] = replace(leaf, schema=schema.with_(optional=nullable, default=default))

    def schemaless(self, bits: tuple[int, ...]) -> SideFunction:
        (bit,) = bits

        def flatten(value: Any, record: Record) -> Any:
            fields = require_map(value, self.purpose)
            flat: dict[str, Any] = {}
            if self._collect_values(fields, "", flat):
                record.touched |= bit
            return flat

        return flatten

    def _collect_values(self, fields: dict[str, Any], prefix: str, flat: dict[str, Any]) -> bool:
        """Adds the leaves of the object ``fields`` to ``flat`` under their new names. A leaf is a value that is not an
        object. Returns True if the object contains another object.
        """
        nested = False
        for name, child in fields.items():
            full = self._joined(prefix, name)
            if is_object(child):
                nested = True
                self._collect_values(look(fields, name), full, flat)
            # Connect's data API has no types for a `java.util.Date` or `BigDecimal` without a schema
            elif is_raw(child) or child is None or kind_of(child) not in ("Timestamp", "Decimal"):
                flat[full] = child
            else:
                statement = f"'{full}' is a {java_class(child)}, which cannot be flattened without a schema"
                raise data_error("SMT220", statement, "convert it to string or unix first")
        return nested
