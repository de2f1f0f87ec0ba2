"""ExtractTimestamp: take the record's timestamp from a field."""

from typing import Annotated

from dagster_smt.authoring.options import Text, option
from dagster_smt.authoring.transform import Example, Transform
from dagster_smt.authoring.validate import NonEmptyText, one_of
from dagster_smt.effects.effect import Effect, SetTimestamp


class ExtractTimestamp(Transform):
    """Replace the record's timestamp with a field of the key or value.

    The field must be an int64, or Connect's Timestamp, Date or Time. Any other type is rejected, including narrower
    integers. `timestamp.resolution` is the unit of an int64, and has no effect on Timestamp, Date and Time. The field
    is a top-level name: a dot is part of the name. The key and value stay as they are.

    A record is rejected if the key or value is null, or if the field is missing or null. Exception: if the field is
    null, and its schema has a default, the default is the timestamp.

    A timestamp that Spark cannot store (after the year 294247) is also rejected.
    """

    connect_class = "io.aiven.kafka.connect.transforms.ExtractTimestamp"
    purpose = "extract the timestamp"
    null = "reject"
    field_name: NonEmptyText = option("Field with the timestamp.")
    timestamp_resolution: Annotated[Text, one_of("milliseconds", "seconds")] = option(
        "The unit of an int64: `milliseconds` or `seconds`.", "milliseconds"
    )
    examples = (
        Example("the value stays", {"field.name": "at", "timestamp.resolution": "seconds"}, '{"at":7}', '{"at":7}'),
    )

    def effects(self) -> tuple[Effect, ...]:
        return (SetTimestamp(self.field_name, self.timestamp_resolution),)
