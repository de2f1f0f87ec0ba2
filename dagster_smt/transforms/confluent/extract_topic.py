"""ExtractTopic: take the topic from the key or value, or from one of its fields."""

from collections.abc import Iterator
from typing import Annotated

from dagster_smt.authoring.fields.jayway_paths import check_json_path
from dagster_smt.authoring.options import Flag, Text, option
from dagster_smt.authoring.transform import Example, NullRule, Transform
from dagster_smt.authoring.validate import one_of
from dagster_smt.effects.effect import ByField, Effect, Route
from dagster_smt.model.paths.connect import FieldPath
from dagster_smt.model.paths.json_path import parse_json_path

PLAIN, JSON_PATH = "PLAIN", "JSON_PATH"


class ExtractTopic(Transform):
    """Replace the topic with the key or value, or with one of its fields, which must be a string.

    With `field.format=JSON_PATH`, `field` is a path of names, such as `$["f1"]["f3"]` or `$.f1.f3`. A path that can
    match several values is a configuration error. With `PLAIN`, `field` is a top-level name: a dot is part of the name.
    If the field is missing or null, the record is rejected. With `skip.missing.or.null`, the record keeps its topic
    instead. The transform does not check whether Kafka allows the topic name. Partition, key and value stay as they
    are. Confluent's `ExtractTopic$Header` is a separate class here, ExtractTopicHeader.

    Confluent does not document the following rules, so this project chose them. A value other than a string is always
    rejected. If `field` is set, a key or value without fields, such as a number, is also rejected. An empty string is
    treated as missing. A path that leads through a value without fields is treated as a missing field: `$.f1.f3` is
    missing if `f1` is a string. With a schema, a null is read as the field's default.
    """

    connect_class = "io.confluent.connect.transforms.ExtractTopic"
    purpose = "extract the topic"
    field: Text = option("Field with the topic. If empty, the whole key or value is the topic.", "")
    field_format: Annotated[Text, one_of(PLAIN, JSON_PATH, "")] = option(
        "The syntax of `field`: a name (`PLAIN` or empty), or a path (`JSON_PATH`).", PLAIN
    )
    skip_missing_or_null: Flag = option(
        "If `true`, a record keeps its topic if the field, key or value is missing or null. Otherwise the record "
        "fails.",
        False,
    )
    examples = (
        Example("the whole value", {}, '"bills"', "bills", shows="topic", input_part="value"),
        Example("a field", {"field": "f2"}, '{"f1":7,"f2":"bills"}', "bills", shows="topic", input_part="value"),
        Example(
            "a nested field",
            {"field": '$["f1"]["f3"]', "field.format": "JSON_PATH", "skip.missing.or.null": True},
            '{"f1":{"f3":"bills"}}',
            "bills",
            shows="topic",
            input_part="value",
        ),
    )

    def check(self) -> Iterator[tuple[str, str, str]]:
        if self.field and self.field_format == JSON_PATH:
            yield from check_json_path("field", self.field, single=True)

    def on_null(self) -> NullRule:
        if self.skip_missing_or_null:
            return "pass"
        return "reject"

    def effects(self) -> tuple[Effect, ...]:
        return (Route(ByField(self._path, self.skip_missing_or_null)),)

    @property
    def _path(self) -> FieldPath:
        if not self.field:
            return FieldPath("", ())
        if self.field_format == JSON_PATH:
            return FieldPath(self.field, parse_json_path(self.field).names)
        return FieldPath(self.field, (self.field,))
