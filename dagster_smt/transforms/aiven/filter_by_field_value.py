"""FilterByFieldValue: keep or drop records by a field."""

from collections.abc import Iterator

from dagster_smt.authoring.options import Flag, Text, option
from dagster_smt.authoring.transform import Example, Transform
from dagster_smt.authoring.validate import Regex
from dagster_smt.effects.condition import FieldCheck, FieldPasses, Not, NoTest, Refusal
from dagster_smt.effects.effect import Effect, Reject
from dagster_smt.model.paths.connect import FieldPath
from dagster_smt.values.java.regex_equals import IsLiteral, expected
from dagster_smt.values.needs import CLASS_CAST, NULL_POINTER
from dagster_smt.values.text_rules import Finds, TextPasses

_NULL_WORD = "field.value is the word null, and no field can be compared with null"
_HINT = "guard the stage with a predicate, or compare with field.value.pattern"


class FilterByFieldValue(Transform):
    r"""Keep the records whose field matches a value or a pattern, or drop them (`field.value.matches=false`).

    `field.value` is parsed as Connect parses the value of a header: `42` is an INT8, `1.5` a FLOAT32, `true` a boolean.
    A field matches if it has the same Java class and the same value as `field.value`. For example, `42` (an INT8)
    matches neither the number 42 in JSON (an INT64) nor the string `"42"`. To match numbers, set `field.value.pattern`
    instead, such as `^42$`. The transform searches for the pattern in the string that Connect would write for the field
    into a header. The field is a top-level name: a dot is part of the name. With a schema, the default of a null field
    is compared instead of the null.

    A null key or value passes through unchanged. A pattern does not match a field that is null, or that is missing from
    an object without a schema.

    In the following cases Aiven's class throws a NullPointerException or ClassCastException; here the record fails:

    - `field.value` is set, and the field is null or missing;
    - the schema does not have the field;
    - `field.name` is empty, and the record has a schema;
    - `field.name` is set, and the key or value is not a struct or object.
    """

    connect_class = "io.aiven.kafka.connect.transforms.FilterByFieldValue"
    purpose = "filter by a field"
    null = "pass"
    field_name: Text = option(
        "Field to compare. If empty, the whole key or value is compared; it must have no schema.", ""
    )
    field_value: Text | None = option("The value to keep or drop.", None)
    field_value_pattern: Regex = option(
        "Alternative to `field.value`: a regular expression (Java syntax) to find in the field's value.", ""
    )
    field_value_matches: Flag = option("`true` keeps the records that match, `false` drops them.", True)
    examples = (
        Example("keep", {"field.name": "op", "field.value": "r"}, '{"op":"u"}', None),
        Example(
            "drop", {"field.name": "op", "field.value": "r", "field.value.matches": False}, '{"op":"u"}', '{"op":"u"}'
        ),
        Example("a number", {"field.name": "n", "field.value.pattern": "^42$"}, '{"n":42}', '{"n":42}'),
    )

    def check(self) -> Iterator[tuple[str, str, str]]:
        if (self.field_value is None) is not bool(self.field_value_pattern):
            yield (
                "field.value",
                "set exactly one of field.value and field.value.pattern",
                "set one and remove the other",
            )

    def effects(self) -> tuple[Effect, ...]:
        name = self.field_name
        no_object = f"only a struct or object has a field '{name}', but this is {{what}}"
        passes = FieldPasses(
            FieldPath(name, (name,) if name else ()),
            self._test,
            null=Refusal("SMT453", f"the field '{name}' is null, but it is compared with a value", _HINT, NULL_POINTER),
            missing=Refusal("SMT453", f"the schema has no field '{name}'", "the fields are: {fields}", NULL_POINTER),
            no_object=Refusal("SMT454", no_object, "drop the stage", CLASS_CAST),
        )
        return (Reject(Not(passes) if self.field_value_matches else passes),)

    @property
    def _test(self) -> FieldCheck:
        if self.field_value is None:
            return TextPasses(Finds(self.field_value_pattern))
        if expected(self.field_value) is None:
            return NoTest(Refusal("SMT453", _NULL_WORD, _HINT, NULL_POINTER))
        return IsLiteral(self.field_value)
