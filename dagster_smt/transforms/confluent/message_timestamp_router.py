"""MessageTimestampRouter: a topic per day, hour or other period, from a timestamp in the value."""

from collections.abc import Iterator

from dagster_smt.authoring.options import Text, option
from dagster_smt.authoring.transform import Example, Transform
from dagster_smt.authoring.validate import DatePattern, NonEmptyNames
from dagster_smt.effects.effect import ByFieldTime, Effect, Route


class MessageTimestampRouter(Transform):
    """Replace the topic with a new name, which contains the old topic and a timestamp from a field of the value.

    The timestamp comes from a top-level field of the value: the first field in `message.timestamp.keys` that the value
    has. The field must be a string. Java's SimpleDateFormat parses and formats the timestamp in UTC. It parses
    leniently, as in TimestampConverter: text after the timestamp is ignored. In `topic.format`, every `${topic}` is
    replaced first, then every `${timestamp}`. As Confluent documents, the value must be an object without a schema. A
    value with a schema is rejected, and a null value is also rejected. Only the topic changes.

    Confluent does not document the following rules, so this project chose them. A null field is treated as missing. A
    record fails if all fields are missing, if the field is not a string, or if the string does not match the pattern.
    `message.timestamp.format` is required, because Confluent does not document the meaning of a blank format.
    """

    connect_class = "io.confluent.connect.transforms.MessageTimestampRouter"
    sided = False
    purpose = "route by a timestamp in the message"
    null = "reject"
    topic_format: Text = option("The new topic, with `${topic}` and `${timestamp}`.", "${topic}-${timestamp}")
    topic_timestamp_format: DatePattern = option(
        "Pattern (Java's SimpleDateFormat) of the timestamp in the topic.", "yyyyMMdd"
    )
    message_timestamp_format: DatePattern = option("Pattern (Java's SimpleDateFormat) of the timestamp in the field.")
    message_timestamp_keys: NonEmptyNames = option(
        "Fields, in order of preference: the timestamp comes from the first field that the value has."
    )
    examples = (
        Example(
            "a topic per day",
            {
                "topic.format": "foo-${topic}-${timestamp}",
                "message.timestamp.format": "yyyy-MM-dd",
                "topic.timestamp.format": "yyyy.MM.dd",
                "message.timestamp.keys": "timestamp,time,ts",
            },
            '{"time":"2019-08-06"}',
            "foo-orders-2019.08.06",
            shows="topic",
            input_part="value",
        ),
    )

    def check(self) -> Iterator[tuple[str, str, str]]:
        if not self.message_timestamp_format:
            statement = "the text is empty, and Confluent does not document its meaning"
            yield "message.timestamp.format", statement, "set a pattern such as yyyy-MM-dd"

    def effects(self) -> tuple[Effect, ...]:
        by = ByFieldTime(
            self.topic_format, self.topic_timestamp_format, self.message_timestamp_keys, self.message_timestamp_format
        )
        return (Route(by),)
