"""CaseTransform: convert strings to upper or lower case."""

from dataclasses import dataclass
from typing import Annotated

from dagster_smt.authoring.fields.edit import Target
from dagster_smt.authoring.options import Names, Text, option
from dagster_smt.authoring.transform import Example, Transform
from dagster_smt.authoring.validate import one_of
from dagster_smt.effects.effect import Change, Effect
from dagster_smt.effects.field_rule import FieldRule
from dagster_smt.model.cell import Node, Rule
from dagster_smt.model.paths.connect import FieldPath
from dagster_smt.model.schema import Type
from dagster_smt.values.text_rules import CaseOfText, ChangeCase


@dataclass(frozen=True)
class CaseField(FieldRule):
    """A rule that converts strings to upper or lower case: ``ann`` becomes ``ANN``. Without a schema, a value of a
    different type first becomes a string: ``true`` becomes ``TRUE``.
    """

    name = "case"
    upper: bool

    def of_kind(self, kind: str) -> Rule:
        if kind == "string":
            return ChangeCase(self.upper)
        return CaseOfText(self.upper)

    def on_node(self, target: Target) -> Node:
        if target.node.schema.type is Type.STRING:
            return super().on_node(target)
        return target.node


class CaseTransform(Transform):
    """Change strings in fields to upper or lower case, by the rules of Unicode, whatever the machine's language.

    With a schema, a null in any field of the struct becomes the default of this field, even if the field is not listed.
    A field that is not a string stays as it is. A field that the struct does not have is skipped. Only a map with
    optional strings gets the missing field, with the value null. Without a schema, a missing field is always added with
    the value null. In JSON without a schema, a value that is not a string becomes the string that Java prints for it,
    in the configured case: `true` becomes `TRUE`. Fields are top-level names: a dot is part of the name. A null key or
    value is rejected.
    """

    connect_class = "io.aiven.kafka.connect.transforms.CaseTransform"
    purpose = "change the case of fields"
    null = "reject"
    field_names: Names = option("Fields to change.")
    case: Annotated[Text, one_of("lower", "upper")] = option("The case: `lower` or `upper`.")
    examples = (
        Example("upper case", {"field.names": "country", "case": "upper"}, '{"country":"de"}', '{"country":"DE"}'),
        Example(
            "lower case", {"field.names": "mail", "case": "lower"}, '{"mail":"A@b.Example"}', '{"mail":"a@b.example"}'
        ),
    )

    def effects(self) -> tuple[Effect, ...]:
        rule = CaseField(self.case == "upper")
        paths = (FieldPath(name, (name,)) for name in self.field_names)
        return tuple(Change(path, rule, "cast", self.case, fills=True, in_maps=True) for path in paths)
