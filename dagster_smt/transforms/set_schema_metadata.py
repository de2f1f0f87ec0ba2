"""SetSchemaMetadata: name and version of a struct's schema."""

from collections.abc import Iterator
from typing import Any

from dagster_smt.authoring.bundles import NullDefaults
from dagster_smt.authoring.copying import copied_fields
from dagster_smt.authoring.edit import present, struct_of
from dagster_smt.authoring.options import Int, Text, option
from dagster_smt.authoring.transform import PACKAGE, Entry, Example, Planning, SideFunction, Transform
from dagster_smt.errors import data_error
from dagster_smt.model.cell import Node, with_fields
from dagster_smt.model.record import Record

_FIELD = '{"type":"int32","optional":false,"field":"id"}'
_BEFORE = f'{{"schema":{{"type":"struct","fields":[{_FIELD}],"optional":false}},"payload":{{"id":7}}}}'
_AFTER = _BEFORE.replace('],"optional":false', '],"optional":false,"name":"orders.Order","version":2')


class SetSchemaMetadata(NullDefaults, Transform):
    """Set the name, the version or both of the schema of a struct.

    What is not set stays, and so do the fields, documentation and parameters. The name is taken literally: `${topic}`
    is not expanded. Only structs can be renamed. A value without a schema is refused; a tombstone passes.
    """

    connect_class = PACKAGE + "SetSchemaMetadata"
    former_types = ("Set{}SchemaMetadata",)
    former_options = (("name", "schema.name"), ("version", "schema.version"))
    purpose = "updating schema metadata"
    schema_name: Text | None = option("The new name of the schema.", None)
    schema_version: Int | None = option("The new version of the schema.", None)
    examples = (Example("both", {"schema.name": "orders.Order", "schema.version": "2"}, _BEFORE, _AFTER),)

    def check(self) -> Iterator[tuple[str, str, str]]:
        if not self._changes:
            yield "", "neither a name nor a version is set", "set schema.name, schema.version or both"

    @property
    def _changes(self) -> dict[str, Any]:
        found = {"name": self.schema_name, "version": self.schema_version}
        return {key: value for key, value in found.items() if value is not None}

    def ledger(self) -> tuple[Entry, ...]:
        target = ", ".join(f"{key} {value}" for key, value in self._changes.items())
        return (Entry("renamed", "(schema)", target, named=False),)

    def plan_side(self, node: Node, at: Planning) -> Node:
        group = struct_of(node, self.purpose)
        at.touch(0, present(group))
        fields = copied_fields(group, self.replace_null_with_default, group.fields)
        return with_fields(group, fields, group.schema.with_(**self._changes))

    def schemaless(self, bits: tuple[int, ...]) -> SideFunction:
        def refuse_values(value: Any, record: Record) -> Any:
            if value is not None:
                hint = "declare the schema of this side, or drop the stage"
                raise data_error("SMT221", f"a schema is required for [{self.purpose}]", hint)
            return None

        return refuse_values
