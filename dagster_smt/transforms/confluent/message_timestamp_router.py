"""MessageTimestampRouter: a topic per day, hour or other period, by a field of the value."""

from collections.abc import Iterator
from typing import Any

from dagster_smt.authoring.options import Text, option
from dagster_smt.authoring.schemaless import require_map
from dagster_smt.authoring.transform import Entry, Example, Planning, SideFunction, Transform, refuse
from dagster_smt.authoring.validate import DatePattern, NonEmptyNames
from dagster_smt.errors import data_error
from dagster_smt.model.record import PlanRecord, Record
from dagster_smt.model.runtime import kind_of
from dagster_smt.values.lazy import look
from dagster_smt.values.timestamps import ConvertTime, RouteByTime

_HINT = "guard the stage with a predicate, or fill the field first"


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
    reads_value = True
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
            given="value",
        ),
    )

    def check(self) -> Iterator[tuple[str, str, str]]:
        if not self.message_timestamp_format:
            statement = "the text is empty, and what that means is not known"
            yield "message.timestamp.format", statement, "set a pattern such as yyyy-MM-dd"

    def ledger(self) -> tuple[Entry, ...]:
        return (Entry("routed", self.topic_format, self.topic_timestamp_format, "topic"),)

    def plan_record(self, record: PlanRecord, at: Planning) -> PlanRecord:
        assert record.value is not None  # null is refused
        what = record.value.schema.label
        statement = f"only a value without a schema can be used for [{self.purpose}], but this is {what}"
        hint = "use TimestampConverter, Aiven's ExtractTimestamp and TimestampRouter, or a format without schema"
        raise refuse("SMT461", statement, hint)

    def schemaless(self, bits: tuple[int, ...]) -> SideFunction:
        (bit,) = bits
        instant = ConvertTime("string", "unix", self.message_timestamp_format)
        rule = RouteByTime(self.topic_format, self.topic_timestamp_format)

        def route(value: Any, record: Record) -> None:
            text = self._text(require_map(value, self.purpose))
            record.topic = rule.python(record.topic, instant.python(text))
            record.touched |= bit

        return route

    def _text(self, fields: dict[str, Any]) -> str:
        for name in self.message_timestamp_keys:
            found = look(fields, name) if name in fields else None
            if isinstance(found, str):
                return found
            if found is not None:
                statement = f"the field '{name}' is {kind_of(found)}, but a text with a timestamp is needed"
                raise data_error("SMT463", statement, "convert it with TimestampConverter to string first")
        names = ", ".join(f"'{name}'" for name in self.message_timestamp_keys)
        raise data_error("SMT462", f"none of the fields {names} holds a timestamp", _HINT)
