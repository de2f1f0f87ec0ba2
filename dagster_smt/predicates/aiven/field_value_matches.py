"""FieldValueMatches: by the text of a field."""

from collections.abc import Callable, Iterator

from dagster_smt.authoring.bundles import NestedPaths, check_paths
from dagster_smt.authoring.edit import struct_of
from dagster_smt.authoring.options import Text, option
from dagster_smt.authoring.predicate import Predicate
from dagster_smt.authoring.reading import read_field
from dagster_smt.authoring.schemaless import value_at
from dagster_smt.authoring.texts import default_of, literal_text_of
from dagster_smt.authoring.transform import Example
from dagster_smt.authoring.validate import Regex
from dagster_smt.errors import PlanError
from dagster_smt.model.cell import Call, Expr, Node
from dagster_smt.model.keeps import All, Condition, FieldTest, Not, NullValue, Unknown
from dagster_smt.model.record import PlanRecord, Record
from dagster_smt.values.header_literals import literal_text
from dagster_smt.values.java_regex import Matches
from dagster_smt.values.texts import IsText, TextPasses


class FieldValueMatches(NestedPaths, Predicate):
    """True where the text of a field of the value, or of the whole value, is a given one or matches a pattern.

    The text is the one that Connect makes of a value in a header: a number as it is printed, bytes in Base64, arrays,
    objects and structs as `["a"]` and `{"a":1}`. With a schema a null is read as its default. It is false where the
    field is null or missing, and where a path leads through what has no fields; there Aiven's class fails the record. A
    null value is never matched.
    """

    connect_class = "io.aiven.kafka.connect.predicates.FieldValueMatches"
    reads_value = True
    field: Text = option("Field of the value; empty: the whole value.", "")
    value: Text | None = option("The text it must be.", None)
    value_pattern: Regex | None = option("Or the expression (Java syntax) that the whole text must match.", None)
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
            yield "value", "either this or value.pattern is needed, not both", "set one of them"
        if self.field:
            yield from check_paths("field", (self.field,), self.path, single=True)

    @property
    def _rule(self) -> IsText | Matches:
        return IsText(self.value) if self.value is not None else Matches(self.value_pattern or "")

    def holds(self) -> Condition:
        found: Condition = Unknown()
        if self.field and len(steps := self.path(self.field).steps) == 1 and isinstance(steps[0], str):
            found = FieldTest(steps[0], TextPasses(self._rule))
        return All((Not(NullValue()), found))

    def test(self, record: PlanRecord) -> Expr | bool:
        assert record.value is not None  # a null is false
        node: Node = record.value
        if self.field:
            try:
                node, parent = read_field(struct_of(node, "look at a field"), self.path(self.field), self.strict)
            except PlanError:
                return False
            node = default_of(node, parent)
        return Call(self._rule, (literal_text_of(node),))

    def schemaless(self) -> Callable[[Record], bool]:
        rule, path = self._rule, self.path(self.field) if self.field else None

        def test(record: Record) -> bool:
            value = record.value if path is None else value_at(record.value, path)
            return value is not None and rule.python(literal_text(None, value))

        return test
