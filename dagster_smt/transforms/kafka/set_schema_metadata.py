"""SetSchemaMetadata: set the name and version of a struct's schema."""

from collections.abc import Iterator

from dagster_smt.authoring.bundles import NullDefaults
from dagster_smt.authoring.options import Int, Text, option
from dagster_smt.authoring.transform import PACKAGE, Example, Transform
from dagster_smt.effects.effect import Effect, NeedsSchema, SetSchema

_FIELD = '{"type":"int32","optional":false,"field":"id"}'
_BEFORE = f'{{"schema":{{"type":"struct","fields":[{_FIELD}],"optional":false}},"payload":{{"id":7}}}}'
_AFTER = _BEFORE.replace('],"optional":false', '],"optional":false,"name":"orders.Order","version":2')


class SetSchemaMetadata(NullDefaults, Transform):
    """Set the name or the version, or both, of a struct's schema.

    If `schema.name` is not set, the schema keeps its name; if `schema.version` is not set, it keeps its version. The
    fields, the doc and the parameters always stay. The new name is literal: `${topic}` is not expanded. The key or
    value must be a struct. A value without a schema is rejected; a tombstone passes through unchanged.
    """

    connect_class = PACKAGE + "SetSchemaMetadata"

    purpose = "updating schema metadata"
    schema_name: Text | None = option("The new name of the schema.", None)
    schema_version: Int | None = option("The new version of the schema.", None)
    examples = (Example("both", {"schema.name": "orders.Order", "schema.version": 2}, _BEFORE, _AFTER),)

    def check(self) -> Iterator[tuple[str, str, str]]:
        if self.schema_name is None and self.schema_version is None:
            yield "", "neither schema.name nor schema.version is set", "set one or both"

    def effects(self) -> tuple[Effect, ...]:
        hint = "declare the schema of this side, or drop the stage"
        needs = NeedsSchema("SMT221", f"a schema is required for [{self.purpose}]", hint)
        return needs, SetSchema(self.schema_name, self.schema_version)
