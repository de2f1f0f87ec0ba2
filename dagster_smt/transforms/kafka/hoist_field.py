"""HoistField: wrap the whole key or value, or an inner field, in a struct or object with one field."""

from collections.abc import Iterator

from dagster_smt.authoring.bundles import NestedPaths, check_paths
from dagster_smt.authoring.options import Text, option
from dagster_smt.authoring.transform import PACKAGE, Example, Transform
from dagster_smt.effects.effect import Effect, Wrap
from dagster_smt.model.paths.connect import FieldPath
from dagster_smt.model.paths.steps import Match


class HoistField(NestedPaths, Transform):
    """Wrap the whole key or value in a struct (without a schema: an object) with one field.

    The struct is required and has no name. Its field has the schema of the key or value. A null key or value becomes a
    null field. If the schema of the key or value does not allow null, the record is rejected.

    With `hoisted`, an inner field is wrapped instead. The new struct replaces the field, and the option `field` gives
    the struct its name. Inside the new struct, the wrapped field keeps its own name. A record without the field that
    `hoisted` names stays as it is.
    """

    connect_class = PACKAGE + "HoistField"

    purpose = "hoisting"
    null = "wrap"
    field: Text = option("Name of the field.")
    hoisted: Text = option("Path of the field to wrap. If empty, the whole key or value is wrapped.", "")
    examples = (
        Example("a number", {"field": "line"}, "7", '{"line":7}'),
        Example("an object", {"field": "line"}, '{"id":7}', '{"line":{"id":7}}'),
        Example(
            "a field inside",
            {"field": "wrapped", "hoisted": "order.id", "field.syntax.version": "V2"},
            '{"order":{"id":7,"x":1}}',
            '{"order":{"wrapped":{"id":7},"x":1}}',
        ),
    )

    def check(self) -> Iterator[tuple[str, str, str]]:
        if not self.hoisted:
            return
        problems = tuple(check_paths("hoisted", (self.hoisted,), self.path))
        yield from problems
        if not problems and not isinstance(self.target.steps[-1], str | Match):
            yield "hoisted", f"'{self.hoisted}' does not end with a name", "end the path with a name or a pattern"

    @property
    def target(self) -> FieldPath:
        if self.hoisted:
            return self.path(self.hoisted)
        return FieldPath("", ())

    def effects(self) -> tuple[Effect, ...]:
        return (Wrap(self.target, self.field),)
