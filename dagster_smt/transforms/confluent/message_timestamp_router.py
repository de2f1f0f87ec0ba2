"""MessageTimestampRouter: a topic per day, hour or other period, by a field of the value."""

from collections.abc import Iterator

from dagster_smt.authoring.options import Text, option
from dagster_smt.authoring.transform import Example, Transform
from dagster_smt.authoring.validate import DatePattern, NonEmptyNames
from dagster_smt.effects.effect import ByFieldTime, Effect, Route


class MessageTimestampRouter(Transform):
    """Replace the topic by a text with the old topic in it and a timestamp that a field of the value holds.

    The field is the first of `message.timestamp.keys` that the value has, a name of the top level, and must be a text.
    It is read and written with Java's SimpleDateFormat in UTC, leniently, as TimestampConverter does: text at its end
    does not count. In `topic.format` first every `${topic}` is replaced, then every `${timestamp}`. The value must be
    an object without schema, as Confluent documents it: a value with a schema is refused, and so is a null. Everything
    but the topic stays.

    Not public, and so decided here: a field that is null counts as missing; where none is there, or the text does not
    match, the record fails, and so it does where the field is no text; `message.timestamp.format` is required, since
    what a blank one means is not known.
    """

    connect_class = "io.confluent.connect.transforms.MessageTimestampRouter"
    sided = False
    purpose = "route by a timestamp in the message"
    null = "reject"
    topic_format: Text = option("The new topic, with `${topic}` and `${timestamp}`.", "${topic}-${timestamp}")
    topic_timestamp_format: DatePattern = option(
        "Pattern (Java's SimpleDateFormat) of the timestamp in the topic.", "yyyyMMdd"
    )
    message_timestamp_format: DatePattern = option("Pattern (Java's SimpleDateFormat) of the field's text.")
    message_timestamp_keys: NonEmptyNames = option("Fields, of which the first that is there holds the timestamp.")
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
            statement = "the text is empty, and what that means is not known"
            yield "message.timestamp.format", statement, "set a pattern such as yyyy-MM-dd"

    def effects(self) -> tuple[Effect, ...]:
        by = ByFieldTime(
            self.topic_format, self.topic_timestamp_format, self.message_timestamp_keys, self.message_timestamp_format
        )
        return (Route(by),)
