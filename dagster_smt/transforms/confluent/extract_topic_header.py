"""ExtractTopicHeader: take the topic from a header (``ExtractTopic$Header``)."""

from typing import Annotated

from dagster_smt.authoring.options import Flag, Text, option
from dagster_smt.authoring.transform import Example, Transform
from dagster_smt.authoring.validate import NonEmptyText, one_of
from dagster_smt.effects.effect import ByHeader, Effect, Route


class ExtractTopicHeader(Transform):
    """Replace the topic with the value of a header.

    If the header is missing or null, the record is rejected. With `skip.missing.or.null`, the record keeps its topic
    instead. The transform does not check whether Kafka allows the topic name. Partition, key, value and headers stay as
    they are.

    Confluent does not document the following rules, so this project chose them. If several headers have the name, the
    last of them is read, as by Connect's `lastWithName`. The bytes of the header must be UTF-8. If an earlier stage
    added the header, the topic is the string that Connect would write for the header's value. An empty string is
    treated as missing.
    """

    connect_class = "io.confluent.connect.transforms.ExtractTopic$Header"
    sided = False
    purpose = "extract the topic"
    field: NonEmptyText = option("Name of the header.")
    field_format: Annotated[Text, one_of("PLAIN", "")] = option(
        "Must be `PLAIN` or empty: the field is a name.", "PLAIN"
    )
    skip_missing_or_null: Flag = option(
        "If `true`, a record keeps its topic if the header is missing or null. Otherwise the record fails.", False
    )
    examples = (
        Example(
            "a header",
            {"field": "messageType", "skip.missing.or.null": True},
            '[{"key":"messageType","value":"bills"}]',
            "bills",
            shows="topic",
            input_part="headers",
        ),
    )

    def effects(self) -> tuple[Effect, ...]:
        return (Route(ByHeader(self.field, self.skip_missing_or_null)),)
