"""ExtractTopic: take the topic from the key or value, or from a field of it."""

from collections.abc import Iterator
from typing import Annotated

from dagster_smt.authoring.fields.json_path import check_json_path
from dagster_smt.authoring.options import Flag, Text, option
from dagster_smt.authoring.transform import Example, NullRule, Transform
from dagster_smt.authoring.validate import one_of
from dagster_smt.effects.effect import ByField, Effect, Route
from dagster_smt.model.paths.connect import FieldPath
from dagster_smt.model.paths.json_path import parse_json_path

PLAIN, JSON_PATH = "PLAIN", "JSON_PATH"


class ExtractTopic(Transform):
    """Replace the topic by the key or value, or by a field of it, which must be a text.

    With `field.format=JSON_PATH` the field is a path of names, such as `$["f1"]["f3"]` or `$.f1.f3`; what can lead to
    several values is refused. A PLAIN name is one of the top level: a dot is part of it. What is missing or null is
    refused, or (`skip.missing.or.null`) leaves the topic alone. Whether Kafka allows the name is not checked.
    Partition, key and value stay. `ExtractTopic$Header` is a class of its own here, ExtractTopicHeader.

    Not public, and so decided here: everything but a text is refused, also when skipping, and so is a key or value
    without fields if a field is named; the empty text counts as missing, and so does a field below what has none; with
    a schema a null is read as its default.
    """

    connect_class = "io.confluent.connect.transforms.ExtractTopic"
    purpose = "extract the topic"
    field: Text = option("Field that holds the topic; empty: the whole key or value.", "")
    field_format: Annotated[Text, one_of(PLAIN, JSON_PATH, "")] = option(
        "How the field is written. `PLAIN` or empty: its name; `JSON_PATH`: a path to it.", PLAIN
    )
    skip_missing_or_null: Flag = option(
        "Whether the topic stays where the field, key or value is missing or null; if not, the record fails.", False
    )
    examples = (
        Example("the whole value", {}, '"bills"', "bills", shows="topic", input_part="value"),
        Example("a field", {"field": "f2"}, '{"f1":7,"f2":"bills"}', "bills", shows="topic", input_part="value"),
        Example(
            "a field of a field",
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
        named = self.field_format == JSON_PATH
        return FieldPath(self.field, parse_json_path(self.field).names if named else (self.field,))
