"""ExtractTopic: take the topic from the key or value, or from one of its fields."""

from dagster_smt.authoring.options import Flag, Text, option
from dagster_smt.authoring.transform import Example, NullRule, Transform
from dagster_smt.effects.effect import ByField, Effect, Route
from dagster_smt.model.paths.connect import FieldPath


class ExtractTopic(Transform):
    """Replace the topic with the key or value, or with one of its fields.

    The field may be a string, a number or a boolean. The topic is the field's value, as Java prints it. With a schema,
    the field may also be a Date, Time or Timestamp, which becomes the text of `java.util.Date` in UTC. Structs, arrays,
    maps, bytes and decimals are always rejected.

    If the field is missing, null or an empty string, the record is rejected. With `skip.missing.or.null`, the record
    keeps its topic instead. With a schema, the default of a null field is read instead of the null. Without a schema, a
    string of spaces is treated as empty. With a schema, such a string becomes the topic. If `field.name` is set, a null
    key or value is always rejected.

    The field is a top-level name: a dot is part of the name. The transform does not check whether Kafka allows the
    topic name. Partition, key and value stay as they are.
    """

    connect_class = "io.aiven.kafka.connect.transforms.ExtractTopic"
    purpose = "extract the topic"
    field_name: Text = option("Field with the topic. If empty, the whole key or value is the topic.", "")
    skip_missing_or_null: Flag = option(
        "If `true`, a record whose new topic is missing, null or empty keeps its topic.", False
    )
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
