"""ExtractField: replace the whole key or value with one of its fields."""

from collections.abc import Iterator

from dagster_smt.authoring.bundles import NestedPaths, NullDefaults, check_paths
from dagster_smt.authoring.options import Text, option
from dagster_smt.authoring.transform import PACKAGE, Example, Transform
from dagster_smt.effects.effect import Effect, Extract

_MISSING = "java.lang.IllegalArgumentException"


class ExtractField(NullDefaults, NestedPaths, Transform):
    """Replace the key or value with one of its fields.

    With a schema, the field must exist, and the field's schema becomes the schema of the key or value. Without a
    schema, a missing field gives a null key or value. A key or value that is already null stays null, with the field's
    schema.
    """

    connect_class = PACKAGE + "ExtractField"

    purpose = "field extraction"
    field: Text = option("The field to extract.")
    examples = (
        Example("a field", {"field": "id"}, '{"id":7,"x":1}', "7"),
        Example("a nested field", {"field": "a.b", "field.syntax.version": "V2"}, '{"a":{"b":[1]}}', "[1]"),
    )

    def check(self) -> Iterator[tuple[str, str, str]]:
        return check_paths("field", (self.field,), self.path, single=True)

    def effects(self) -> tuple[Effect, ...]:
        return (Extract(self.path(self.field), _MISSING),)
