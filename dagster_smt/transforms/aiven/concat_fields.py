"""ConcatFields: join fields into one text."""

from dagster_smt.authoring.options import Names, Text, option
from dagster_smt.authoring.transform import Example, Transform
from dagster_smt.authoring.validate import NonEmptyText
from dagster_smt.effects.effect import Effect, Join


class ConcatFields(Transform):
    """Add a field with the joined texts of other fields, as Java writes them, with a delimiter between them.

    A field that is null or missing contributes `field.replace.missing`. A date becomes the text of `java.util.Date` in
    UTC; numbers, booleans, texts, arrays, objects and structs have Java's texts, too. Bytes are refused, because their
    text in Java differs from run to run. Fields are names of the top level: a dot is part of the name. Options lose
    surrounding blanks, so a delimiter of blanks is empty.

    With a schema, the new field is an optional string after the other fields and must not exist yet. Null fields become
    their defaults. The struct becomes required and loses its name, version, doc and parameters. Without a schema, an
    existing field of the name is overwritten. A null key or value is refused.
    """

    connect_class = "io.aiven.kafka.connect.transforms.ConcatFields"
    purpose = "join fields"
    null = "reject"
    field_names: Names = option("Fields to join, in this order.")
    output_field_name: NonEmptyText = option("Name of the new field.")
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
            "a missing field",
            {"field.names": "shop,till", "output.field.name": "ref", "delimiter": "-", "field.replace.missing": "*"},
            '{"shop":"a"}',
            '{"shop":"a","ref":"a-*"}',
        ),
    )

    def effects(self) -> tuple[Effect, ...]:
        return (Join(self.output_field_name, self.field_names, self.delimiter, self.field_replace_missing),)
