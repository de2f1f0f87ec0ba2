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
from dagster_smt.values.texts import Finds, TextPasses

_NULL_WORD = "field.value is the word null, and nothing can be compared with a null"
_HINT = "guard the stage with a predicate, or compare with field.value.pattern"


class FilterByFieldValue(Transform):
    r"""Keep the records whose field has a value, or drop them (`field.value.matches=false`).

    `field.value` is read as Connect reads the value of a header, and then the Java class has to be the same: `42` is an
    INT8, `1.5` a FLOAT32, `true` a boolean. No number in JSON is equal to `42`, since all are INT64 there, and no text
    is. Compare numbers with `field.value.pattern`, such as `^42$`: it looks for a part of the text that Connect makes
    of the value in a header. The field is a name of the top level: a dot is part of it. With a schema a null is read as
    its default.

    A null key or value passes. With a pattern a field that is null, or missing from an object without schema, matches
    nothing. Aiven's class ends with a NullPointerException or ClassCastException in these cases, and here the record
    fails: a field that is null or missing compared with `field.value`; a field that the schema does not have; no
    `field.name` where there is a schema; a key or value that is no struct or object although a field is named.
    """

    connect_class = "io.aiven.kafka.connect.transforms.FilterByFieldValue"
    purpose = "filter by a field"
    null = "pass"
    field_name: Text = option("Field to look at; empty: the whole key or value, which must have no schema.", "")
    field_value: Text | None = option("Value to compare with.", None)
    field_value_pattern: Regex = option("Regular expression (Java syntax) to look for instead.", "")
    field_value_matches: Flag = option("Whether what matches is kept; if not, it is dropped.", True)
    examples = (
        Example("keep", {"field.name": "op", "field.value": "r"}, '{"op":"u"}', None),
        Example(
            "drop", {"field.name": "op", "field.value": "r", "field.value.matches": False}, '{"op":"u"}', '{"op":"u"}'
        ),
        Example("a number", {"field.name": "n", "field.value.pattern": "^42$"}, '{"n":42}', '{"n":42}'),
    )

    def check(self) -> Iterator[tuple[str, str, str]]:
        if (self.field_value is None) is not bool(self.field_value_pattern):
            yield "field.value", "either this or field.value.pattern is needed, not both", "set one of them"

    def effects(self) -> tuple[Effect, ...]:
        name = self.field_name
        no_object = f"only a struct or object has a field '{name}', but this is {{what}}"
        passes = FieldPasses(
            FieldPath(name, (name,) if name else ()),
            self._test,
            null=Refusal("SMT453", f"the field '{name}' is null, but is compared", _HINT, NULL_POINTER),
            missing=Refusal(
                "SMT453", f"the schema has no field '{name}'", "name one of the fields: {fields}", NULL_POINTER
            ),
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
