"""ExtractTopic: take the topic from the key or value, or from one of its fields."""

from dagster_smt.authoring.options import Flag, Text, option
from dagster_smt.authoring.transform import Example, NullRule, Transform
from dagster_smt.effects.effect import ByField, Effect, Route
from dagster_smt.model.paths.connect import FieldPath


class ExtractTopic(Transform):
    """Replace the topic with the key or value, or with one of its fields: a text, number or boolean, as Java writes it.

    A null or empty text is refused, or keeps the topic if `skip.missing.or.null` is set. A text of blanks is empty
    without a schema; with a schema it becomes the topic. With a schema, a null field is read as its default, and a
    Date, Time or Timestamp becomes the text of `java.util.Date` in UTC. Structs, arrays, maps, bytes and decimals are
    always refused; so is a null key or value if `field.name` is set. The field is a name of the top level: a dot is
    part of the name. The transform does not check that Kafka allows the topic name. Partition, key and value stay.
    """

    connect_class = "io.aiven.kafka.connect.transforms.ExtractTopic"
    purpose = "extract the topic"
    field_name: Text = option("Field with the topic; empty: the whole key or value.", "")
    skip_missing_or_null: Flag = option("If `true`, the topic stays if the new topic is missing, null or empty.", False)
    examples = (
        Example(
            "a field", {"field.name": "kind"}, '{"kind":"bills","id":7}', "bills", shows="topic", input_part="value"
        ),
        Example("the whole value", {}, "7", "7", shows="topic", input_part="value"),
    )

    def on_null(self) -> NullRule:
        if self.skip_missing_or_null and not self.field_name:
            return "apply"
        return "reject"

    def effects(self) -> tuple[Effect, ...]:
        path = FieldPath(self.field_name, (self.field_name,) if self.field_name else ())
        skips = self.skip_missing_or_null
        return (Route(ByField(path, skips, converts=True, blank_is_none=True, by_type=True)),)
