"""ExtractTopicHeader: take the topic from a header (``ExtractTopic$Header``)."""

from typing import Annotated

from dagster_smt.authoring.options import Flag, Text, option
from dagster_smt.authoring.transform import Example, Transform
from dagster_smt.authoring.validate import NonEmptyText, one_of
from dagster_smt.effects.effect import ByHeader, Effect, Route


class ExtractTopicHeader(Transform):
    """Replace the topic with the text of a header.

    A missing or null header is refused, or keeps the topic if `skip.missing.or.null` is set. The transform does not
    check that Kafka allows the topic name. Partition, key, value and headers stay.

    Confluent does not document the following rules, so this project chose them. Of several headers with the name, the
    last one counts, as in Connect's `lastWithName`. The bytes of the header must be UTF-8. If an earlier stage added
    the header, its text is the one that Connect would write. An empty text counts as missing.
    """

    connect_class = "io.confluent.connect.transforms.ExtractTopic$Header"
    sided = False
    purpose = "extract the topic"
    field: NonEmptyText = option("Name of the header.")
    field_format: Annotated[Text, one_of("PLAIN", "")] = option("Only `PLAIN`, or empty: the field is a name.", "PLAIN")
    skip_missing_or_null: Flag = option(
        "If `true`, the topic stays if the header is missing or null. Else the record fails.", False
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
