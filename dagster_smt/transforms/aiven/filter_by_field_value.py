"""FilterByFieldValue: keep or drop records by a field."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from dagster_smt.authoring.options import Flag, Text, option
from dagster_smt.authoring.texts import literal_text_of, with_default
from dagster_smt.authoring.transform import Example, Planning, SideFunction, Transform, refuse
from dagster_smt.authoring.validate import Regex
from dagster_smt.errors import data_error
from dagster_smt.model.cell import Call, Cell, Const, Expr, Node, open_struct
from dagster_smt.model.keeps import Any as AnyOf
from dagster_smt.model.keeps import Condition, FieldTest, Not, NullValue, Unknown
from dagster_smt.model.record import DropRecord, PlanRecord, Record
from dagster_smt.model.runtime import java_class
from dagster_smt.model.schema import BOOLEAN, Type
from dagster_smt.values.basic import WhereThere
from dagster_smt.values.header_literals import literal_text
from dagster_smt.values.java_equals import EqualsLiteral, IsLiteral, expected
from dagster_smt.values.lazy import look
from dagster_smt.values.needs import CLASS_CAST, NULL_POINTER, Differs, Needed
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
            "drop", {"field.name": "op", "field.value": "r", "field.value.matches": "false"}, '{"op":"u"}', '{"op":"u"}'
        ),
        Example("a number", {"field.name": "n", "field.value.pattern": "^42$"}, '{"n":42}', '{"n":42}'),
    )

    def check(self) -> Iterator[tuple[str, str, str]]:
        if (self.field_value is None) is not bool(self.field_value_pattern):
            yield "field.value", "either this or field.value.pattern is needed, not both", "set one of them"

    def keeps(self, side: str) -> Condition:
        text = self.field_value
        if side != "value" or not self.field_name or (text is not None and expected(text) is None):
            return Unknown()
        test = TextPasses(Finds(self.field_value_pattern)) if text is None else IsLiteral(text)
        found = FieldTest(self.field_name, test)
        return AnyOf((NullValue(), found if self.field_value_matches else Not(found)))

    def plan_record(self, record: PlanRecord, at: Planning) -> PlanRecord:
        node = record.key if at.side == "key" else record.value
        if node is None:
            return self.plan_absent(record)
        if node.schema.type is not Type.STRUCT:
            raise refuse("SMT454", self._no_object(node.schema.label), "drop the stage", CLASS_CAST)
        group = open_struct(node)
        if not self.field_name or self.field_name not in group.by_name:
            hint = f"name one of the fields: {', '.join(group.by_name)}"
            raise refuse("SMT453", f"the schema has no field '{self.field_name}'", hint, NULL_POINTER)
        match = self._match(with_default(group.by_name[self.field_name], group), group.present)
        drops: Expr = Call(Differs(self.field_value_matches), (match,))
        return replace(record, dropped=drops if group.present is None else Call(WhereThere(), (group.present, drops)))

    def _match(self, field: Node, around: Expr | None) -> Expr:
        if self.field_value is None:
            return Call(Finds(self.field_value_pattern), (literal_text_of(field),))
        if expected(self.field_value) is None:
            raise refuse("SMT453", _NULL_WORD, _HINT, NULL_POINTER)
        there = field.expr if isinstance(field, Cell) else field.present or Const(True, BOOLEAN)
        expr = Call(self._needed, (there,) if around is None else (there, around))
        return Call(EqualsLiteral(field.schema, self.field_value), (expr,))

    @property
    def _needed(self) -> Needed:
        return Needed("SMT453", f"the field '{self.field_name}' is null, but is compared", _HINT, NULL_POINTER)

    def schemaless(self, bits: tuple[int, ...]) -> SideFunction:
        equals = EqualsLiteral(None, self.field_value or "")
        finds = Finds(self.field_value_pattern)

        def decide(value: Any, record: Record) -> Any:
            field = self._field(value)
            if self.field_value is None:
                match = finds.python(None if field is None else literal_text(None, field))
            elif expected(self.field_value) is None:
                raise data_error("SMT453", _NULL_WORD, _HINT, NULL_POINTER)
            elif field is None:
                raise self._needed.failure()
            else:
                match = equals.python(field)
            if match is not self.field_value_matches:
                raise DropRecord
            return value

        return decide

    def _field(self, value: Any) -> Any:
        if not self.field_name:
            return value
        if type(value) is not dict:
            raise data_error("SMT454", self._no_object(java_class(value)), "drop the stage", CLASS_CAST)
        return look(value, self.field_name) if self.field_name in value else None

    def _no_object(self, what: str) -> str:
        return f"only a struct or object has a field '{self.field_name}', but this is {what}"
