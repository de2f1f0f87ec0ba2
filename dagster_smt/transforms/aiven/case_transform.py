"""CaseTransform: texts in upper or lower case."""

from dataclasses import replace
from typing import Annotated, Any

from dagster_smt.authoring.edit import Target, edited, struct_of
from dagster_smt.authoring.options import Names, Text, option
from dagster_smt.authoring.schemaless import require_map
from dagster_smt.authoring.transform import Entry, Example, Planning, SideFunction, Transform
from dagster_smt.authoring.validate import one_of
from dagster_smt.model.cell import Call, Cell, Node
from dagster_smt.model.path import FieldPath
from dagster_smt.model.record import Record
from dagster_smt.model.schema import Schema, Type
from dagster_smt.values.containers import MapValue
from dagster_smt.values.lazy import look
from dagster_smt.values.texts import ChangeCase, ChangeEntries, java_text


def is_text_map(schema: Schema) -> bool:
    """Whether values are maps from texts to texts that may be null."""
    keys, values = schema.keys, schema.values
    if schema.type is not Type.MAP or keys is None or values is None:
        return False
    return keys.type is values.type is Type.STRING and values.optional


class CaseTransform(Transform):
    """Write the texts of fields in upper or lower case, by the rules of Unicode and of no language.

    With a schema, that of a struct or of a map, the fields are copied, nulls become their defaults, and a field that
    does not exist or is no string is left alone. Without a schema, and in a map of texts that may be null, a field
    that is missing becomes null. What is no text in JSON without a schema becomes one: the text that Java has for it,
    in the case asked for (`true` becomes `TRUE`). Fields are names of the top level: a dot is part of them. A null key
    or value is refused.
    """

    connect_class = "io.aiven.kafka.connect.transforms.CaseTransform"
    purpose = "change the case of fields"
    null = "reject"
    field_names: Names = option("Fields to change.")
    case: Annotated[Text, one_of("lower", "upper")] = option("`lower` or `upper`.")
    examples = (
        Example("upper case", {"field.names": "country", "case": "upper"}, '{"country":"de"}', '{"country":"DE"}'),
        Example(
            "lower case", {"field.names": "mail", "case": "lower"}, '{"mail":"A@b.Example"}', '{"mail":"a@b.example"}'
        ),
    )

    def ledger(self) -> tuple[Entry, ...]:
        return tuple(Entry("cast", name, self.case) for name in self.field_names)

    def plan_side(self, node: Node, at: Planning) -> Node:
        rule = ChangeCase(self.case == "upper")
        if isinstance(node, Cell) and is_text_map(node.schema):
            for number, name in enumerate(self.field_names):
                at.touch(number, Call(MapValue(name), (node.expr,)))
            return replace(node, expr=Call(ChangeEntries(self.field_names, rule.upper), (node.expr,)), copied=False)

        def change(target: Target) -> Node:
            text = target.node
            if text.schema.type is not Type.STRING or not isinstance(text, Cell):
                return text
            target.touch()
            return replace(text.call(rule, text.schema, nullable=text.nullable), marks=text.marks)

        paths = tuple(FieldPath(name, (name,)) for name in self.field_names)
        return edited(struct_of(node, self.purpose), paths, change, True, at)

    def schemaless(self, bits: tuple[int, ...]) -> SideFunction:
        rule = ChangeCase(self.case == "upper")

        def change(value: Any, record: Record) -> Any:
            fields = require_map(value, self.purpose)
            for name, bit in zip(self.field_names, bits, strict=True):
                text = look(fields, name) if name in fields else None
                fields[name] = None if text is None else rule.python(java_text(None, text))
                record.touched |= 0 if text is None else bit
            return fields

        return change
