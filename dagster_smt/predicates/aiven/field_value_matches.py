"""FieldValueMatches: a test of a field's value, as a string."""

from collections.abc import Iterator

from dagster_smt.authoring.bundles import NestedPaths, check_paths
from dagster_smt.authoring.options import Text, option
from dagster_smt.authoring.predicate import Predicate
from dagster_smt.authoring.transform import Example
from dagster_smt.authoring.validate import Regex
from dagster_smt.effects.condition import FieldPasses
from dagster_smt.model.paths.connect import FieldPath
from dagster_smt.values.java.regex import Matches
from dagster_smt.values.text_rules import IsText, TextPasses


class FieldValueMatches(NestedPaths, Predicate):
    """True if a field of the value, or the whole value, equals a string or matches a pattern.

    The predicate first converts the value to a string, as Connect does when it writes a header. A number becomes `5` or
    `1.5`, bytes become Base64, an array becomes `["a"]`, and an object or a struct becomes `{"a":1}`. If the record has
    a schema, a null field is read as the field's default. The predicate is false if the field is null or missing, or if
    the whole value is null. It is also false if a step of the path leads into a value without fields; Aiven's class
    then makes the record fail.
    """

    connect_class = "io.aiven.kafka.connect.predicates.FieldValueMatches"
    field: Text = option("Field of the value. If empty, the predicate tests the whole value.", "")
    value: Text | None = option("The string that the field must equal.", None)
    value_pattern: Regex | None = option(
        "Alternative to `value`: a regular expression (Java syntax) that must match the whole string.", None
    )
    examples = (
        Example("a text", {"field": "state", "value": "deleted"}, '{"state":"deleted"}', "true"),
        Example("a number", {"field": "n", "value": "5"}, '{"n":6}', "false"),
        Example(
            "a nested field",
            {"field": "after.state", "value.pattern": "^del.*", "field.syntax.version": "V2"},
            '{"after":{"state":"deleted"}}',
            "true",
        ),
    )

    def check(self) -> Iterator[tuple[str, str, str]]:
        if (self.value is None) is (self.value_pattern is None):
            yield "value", "set exactly one of value and value.pattern", "set one and remove the other"
        if self.field:
            yield from check_paths("field", (self.field,), self.path, single=True)

    def condition(self) -> FieldPasses:
        path = self.path(self.field) if self.field else FieldPath("", ())
        rule = Matches(self.value_pattern or "") if self.value is None else IsText(self.value)
        return FieldPasses(path, TextPasses(rule), strict=self.strict)
