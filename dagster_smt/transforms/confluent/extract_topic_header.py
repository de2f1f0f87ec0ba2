"""ExtractTopicHeader: take the topic from a header (``ExtractTopic$Header``)."""

from typing import Annotated

from dagster_smt.authoring.options import Flag, Text, option
from dagster_smt.authoring.topics import needed_topic, routed
from dagster_smt.authoring.transform import Entry, Example, Planning, Transform
from dagster_smt.authoring.validate import NonEmptyText, one_of
from dagster_smt.model.record import PlanRecord
from dagster_smt.model.schema import STRING, Schema, Type, optional
from dagster_smt.values.headers import HeaderText, LastHeader

_BYTES = Schema(Type.BYTES, optional=True)


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
    reads_headers = True
    purpose = "extract the topic"
    field: NonEmptyText = option("Name of the header.")
    field_format: Annotated[Text, one_of("PLAIN", "")] = option("Only `PLAIN`, or empty: the field is a name.", "PLAIN")
    skip_missing_or_null: Flag = option(
        "Whether the topic stays where the header is missing or null; if not, the record fails.", False
    )
    examples = (
        Example(
            "a header",
            {"field": "messageType", "skip.missing.or.null": "true"},
            '[{"key":"messageType","value":"bills"}]',
            "bills",
            shows="topic",
            given="headers",
        ),
    )

    def ledger(self) -> tuple[Entry, ...]:
        return (Entry("routed", self.field, "topic", "topic"),)

    def plan_record(self, record: PlanRecord, at: Planning) -> PlanRecord:
        data = record.headers.call(LastHeader(self.field), _BYTES)
        text = data.call(HeaderText(self.field), optional(STRING))
        return routed(record, text, needed_topic(f"the header '{self.field}'"), self.skip_missing_or_null, at)
