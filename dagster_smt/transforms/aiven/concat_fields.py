"""ConcatFields: join fields into one string."""

from dagster_smt.authoring.options import Names, Text, option
from dagster_smt.authoring.transform import Example, Transform
from dagster_smt.authoring.validate import NonEmptyText
from dagster_smt.effects.effect import Effect, Join


class ConcatFields(Transform):
    """Join several fields into one new field, with a delimiter between the values.

    Values are written as Java prints them. A date becomes the text of `java.util.Date` in UTC. For a field that is null
    or missing, the result contains the value of `field.replace.missing`. Bytes are rejected, because Java writes them
    differently in every run. Fields are top-level names: a dot is part of the name. Whitespace around the value of an
    option is removed. A delimiter that consists only of spaces therefore becomes empty.

    With a schema, the new field is an optional string after the other fields, and no field with its name may exist yet.
    Before the fields are joined, a null in any field of the struct becomes the default of this field, if it has one.
    The struct becomes required and loses its name, version, doc and parameters. Without a schema, an existing field of
    the same name is overwritten. A null key or value is rejected.
    """

    connect_class = "io.aiven.kafka.connect.transforms.ConcatFields"
    purpose = "join fields"
    null = "reject"
    field_names: Names = option("Fields to join, in this order.")
    output_field_name: NonEmptyText = option("Name of the new field.")
    field_replace_missing: Text = option("The string for a field that is null or missing.", "")
    delimiter: Text = option("The delimiter between the values.", "")
    examples = (
        Example(
            "two fields",
            {"field.names": "shop,id", "output.field.name": "ref", "delimiter": "-"},
            '{"shop":"a","id":7}',
            '{"shop":"a","id":7,"ref":"a-7"}',
        ),
        Example(
            "a missing field",
            {"field.names": "shop,till", "output.field.name": "ref", "delimiter": "-", "field.replace.missing": "*"},
            '{"shop":"a"}',
            '{"shop":"a","ref":"a-*"}',
        ),
    )

    def effects(self) -> tuple[Effect, ...]:
        return (Join(self.output_field_name, self.field_names, self.delimiter, self.field_replace_missing),)
