"""ConcatFields: join fields to one text."""

from typing import Any

from dagster_smt.authoring.copying import copied_fields
from dagster_smt.authoring.edit import all_sources, present, struct_of, under
from dagster_smt.authoring.options import Names, Text, option
from dagster_smt.authoring.schemaless import require_map
from dagster_smt.authoring.texts import java_text_of
from dagster_smt.authoring.transform import Entry, Example, Planning, SideFunction, Transform, refuse
from dagster_smt.authoring.validate import NonEmptyText
from dagster_smt.errors import SCHEMA_BUILDER_EXCEPTION
from dagster_smt.model.cell import Call, Cell, Const, Expr, Group, Node, open_struct
from dagster_smt.model.record import Record
from dagster_smt.model.schema import STRING, Schema, Type, optional
from dagster_smt.values.basic import Refused
from dagster_smt.values.lazy import look
from dagster_smt.values.texts import JoinTexts, has_bytes, java_text, no_text


class ConcatFields(Transform):
    """Add a field that joins others, as Java writes them, with a delimiter between them.

    A field that is null or missing gives `field.replace.missing`. Numbers, booleans and texts are as expected; a date
    is the text of `java.util.Date` in UTC; arrays, objects and structs have Java's texts too. Bytes are refused: their
    text in Java differs from run to run. Fields are names of the top level: a dot is part of them. Options lose the
    blanks around them, so a delimiter of blanks is empty.

    With a schema the new field is an optional string after the others and must not exist yet; null fields become their
    defaults; the struct is required and loses its name, version, doc and parameters. Without a schema a field of the
    name is overwritten. A null key or value is refused.
    """

    connect_class = "io.aiven.kafka.connect.transforms.ConcatFields"
    purpose = "join fields"
    null = "reject"
    field_names: Names = option("Fields to join, in this order.")
    output_field_name: NonEmptyText = option("The new field.")
    field_replace_missing: Text = option("Text for a field that is null or missing.", "")
    delimiter: Text = option("Text between the fields.", "")
    examples = (
        Example(
            "two fields",
            {"field.names": "shop,id", "output.field.name": "ref", "delimiter": "-"},
            '{"shop":"a","id":7}',
            '{"shop":"a","id":7,"ref":"a-7"}',
        ),
        Example(
            "one that is missing",
            {"field.names": "shop,till", "output.field.name": "ref", "delimiter": "-", "field.replace.missing": "*"},
            '{"shop":"a"}',
            '{"shop":"a","ref":"a-*"}',
        ),
    )

    def ledger(self) -> tuple[Entry, ...]:
        return (Entry("added", self.output_field_name, ",".join(self.field_names)),)

    @property
    def _rule(self) -> JoinTexts:
        return JoinTexts(self.delimiter, self.field_replace_missing)

    def plan_side(self, node: Node, at: Planning) -> Node:
        group = struct_of(node, self.purpose)
        if self.output_field_name in group.by_name:
            statement = f"field '{self.output_field_name}' exists already"
            hint = "choose another name, or rename the old field first with ReplaceField"
            raise refuse("SMT110", statement, hint, SCHEMA_BUILDER_EXCEPTION)
        opened = tuple((name, self._opened(name, child)) for name, child in group.fields)
        fields = (*copied_fields(group, True, opened), (self.output_field_name, self._joined(group, opened, at)))
        schema = Schema(Type.STRUCT, fields=tuple((name, child.schema) for name, child in fields))
        at.touch(0, group.present)
        return under(group, Group(schema, fields, group.present, group.sources))

    def _opened(self, name: str, child: Node) -> Node:
        """Structs are taken apart where their text is needed."""
        return open_struct(child) if name in self.field_names and child.schema.type is Type.STRUCT else child

    def _joined(self, group: Group, opened: tuple[tuple[str, Node], ...], at: Planning) -> Cell:
        fields = dict(copied_fields(group, True, opened))
        texts: list[Expr] = []
        sources = frozenset[str]()
        marks = frozenset[str]()
        for name in self.field_names:
            if name not in fields:
                at.miss(name, tuple(fields))
                texts.append(Const(None, optional(STRING)))
                continue
            field = fields[name]
            texts.append(self._text(name, field))
            sources |= all_sources(field)
            marks |= field.marks if isinstance(field, Cell) else frozenset()
        return Cell(optional(STRING), Call(self._rule, tuple(texts)), sources, marks=marks)

    def _text(self, name: str, field: Node) -> Expr:
        if not has_bytes(field.schema):
            return java_text_of(field)
        problem, there = no_text().problem, present(field)
        statement = f"the field '{name}' is {field.schema.label}: {problem.statement}"
        if there is None:
            raise refuse(problem.code, statement, problem.hint)
        return Call(Refused(problem.code, statement, problem.hint), (there,))

    def schemaless(self, bits: tuple[int, ...]) -> SideFunction:
        (bit,), rule = bits, self._rule

        def concat(value: Any, record: Record) -> Any:
            fields = require_map(value, self.purpose)
            found = [look(fields, name) if name in fields else None for name in self.field_names]
            fields[self.output_field_name] = rule.python(*(None if v is None else java_text(None, v) for v in found))
            record.touched |= bit
            return fields

        return concat
