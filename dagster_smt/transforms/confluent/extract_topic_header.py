"""ExtractTopicHeader: take the topic from a header (``ExtractTopic$Header``)."""

from typing import Annotated

from dagster_smt.authoring.options import Flag, Text, option
from dagster_smt.authoring.transform import Example, Transform
from dagster_smt.authoring.validate import NonEmptyText, one_of
from dagster_smt.effects.effect import ByHeader, Effect, Route


class ExtractTopicHeader(Transform):
    """Replace the topic by the text of a header.

    A header that is missing or null is refused, or (`skip.missing.or.null`) leaves the topic alone. Whether Kafka
    allows the name is not checked. Partition, key, value and headers stay.

    Not public, and so decided here: of several headers of the name the last one counts, as Connect's own
    `lastWithName` has it; the text is that of the header's bytes, which must be UTF-8, and of a header that a stage has
    made the text that Connect would write; an empty one counts as missing.
    """

    connect_class = "io.confluent.connect.transforms.ExtractTopic$Header"
    sided = False
    purpose = "extract the topic"
    field: NonEmptyText = option("Name of the header.")
    field_format: Annotated[Text, one_of("PLAIN", "")] = option("Only `PLAIN`, or empty: the field is a name.", "PLAIN")
    skip_missing_or_null: Flag = option(
        "Whether the topic stays where the header is missing or null; if not, the record fails.", False
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
