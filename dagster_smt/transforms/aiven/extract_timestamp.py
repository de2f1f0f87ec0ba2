"""ExtractTimestamp: take the record's timestamp from a field."""

from typing import Annotated

from dagster_smt.authoring.options import Text, option
from dagster_smt.authoring.transform import Example, Transform
from dagster_smt.authoring.validate import NonEmptyText, one_of
from dagster_smt.effects.effect import Effect, SetTimestamp


class ExtractTimestamp(Transform):
    """Replace the record's timestamp with a field of the key or value.

    The field is a whole number of 64 bits, in the unit of `timestamp.resolution`, or a Timestamp, Date or Time of
    Connect, to which that option does not apply. Any other type is refused, including narrower numbers. A field that is
    missing or null is refused; with a schema, a null is read as the field's default. The field is a name of the top
    level: a dot is part of the name. The key and value stay as they are. A null key or value is refused.

    A timestamp that Spark cannot hold (beyond the year 294247) is refused.
    """

    connect_class = "io.aiven.kafka.connect.transforms.ExtractTimestamp"
    purpose = "extract the timestamp"
    null = "reject"
    field_name: NonEmptyText = option("Field with the timestamp.")
    timestamp_resolution: Annotated[Text, one_of("milliseconds", "seconds")] = option(
        "Unit of a number: `milliseconds` or `seconds`.", "milliseconds"
    )
    examples = (
        Example("the value stays", {"field.name": "at", "timestamp.resolution": "seconds"}, '{"at":7}', '{"at":7}'),
    )

    def effects(self) -> tuple[Effect, ...]:
        return (SetTimestamp(self.field_name, self.timestamp_resolution),)
