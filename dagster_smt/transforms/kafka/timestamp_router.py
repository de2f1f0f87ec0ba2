"""TimestampRouter: a topic per day, hour or other period."""

from dagster_smt.authoring.options import Text, option
from dagster_smt.authoring.transform import PACKAGE, Example, Transform
from dagster_smt.authoring.validate import DatePattern
from dagster_smt.effects.effect import ByTime, Effect, Route


class TimestampRouter(Transform):
    """Replace the topic with a new name, which contains the old topic and the record's timestamp.

    Every `${topic}` is replaced first, then every `${timestamp}`, even a `${timestamp}` that comes from the old topic.
    The timestamp is formatted in UTC. A record without a timestamp is rejected. Partition, offset and timestamp stay as
    they are.
    """

    connect_class = PACKAGE + "TimestampRouter"
    sided = False
    topic_format: Text = option("The new topic, with `${topic}` and `${timestamp}`.", "${topic}-${timestamp}")
    timestamp_format: DatePattern = option("A pattern of Java's SimpleDateFormat.", "yyyyMMdd")
    examples = (
        Example("a topic per day", {}, "orders", "orders-20190425", shows="topic"),
        Example(
            "a topic per hour",
            {"topic.format": "${topic}.${timestamp}", "timestamp.format": "yyyy-MM-dd'T'HH"},
            "orders",
            "orders.2019-04-25T15",
            shows="topic",
        ),
    )

    def effects(self) -> tuple[Effect, ...]:
        return (Route(ByTime(self.topic_format, self.timestamp_format)),)
