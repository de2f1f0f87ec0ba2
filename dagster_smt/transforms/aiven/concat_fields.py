"""ConcatFields: join fields to one text."""

from dagster_smt.authoring.options import Names, Text, option
from dagster_smt.authoring.transform import Example, Transform
from dagster_smt.authoring.validate import NonEmptyText
from dagster_smt.effects.effect import Effect, Join


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

    def effects(self) -> tuple[Effect, ...]:
        return (Join(self.output_field_name, self.field_names, self.delimiter, self.field_replace_missing),)
