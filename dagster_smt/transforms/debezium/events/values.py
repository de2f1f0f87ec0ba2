"""Defines value rules for Debezium's change events. The rules choose the row of an event and the new topic."""

from dataclasses import dataclass
from typing import Any

from dagster_smt.errors import data_error
from dagster_smt.model.java_text import trim
from dagster_smt.model.record import Record
from dagster_smt.model.schema import BOOLEAN, STRING, Schema
from dagster_smt.values.java.regex import Matches, ReplaceIfMatches, group_missing, too_long
from dagster_smt.values.value_rule import PythonRule, ValueRule

ENVELOPE = ".Envelope"
# Java's `String.trim` removes all characters up to U+0020
_NOT_BLANK = r"[^\x00-\x20]"


def is_change_event(schema: Schema | None) -> bool:
    """Returns True if the name of ``schema`` is that of a change event (Debezium's ``SmtManager.isValidEnvelope``)."""
    return schema is not None and schema.name is not None and schema.name.endswith(ENVELOPE)


def keep_value(value: Any, record: Record) -> None:
    """Does nothing. A value without a schema is not a change event, so some transforms leave it as it is."""


@dataclass(frozen=True, slots=True)
class Pick(ValueRule):
    """A rule that returns the first value if the third value is not null, else the second value."""

    def python(self, value: Any, other: Any, decides: Any) -> Any:
        if decides is None:
            return other
        return value

    def column(self, F: Any, value: Any, other: Any, decides: Any) -> Any:
        return F.when(decides.isNotNull(), value).otherwise(other)


@dataclass(frozen=True, slots=True)
class AnyThere(ValueRule):
    """A rule that returns True if one of the values is not null, else null. A stage uses the rule for a struct that it
    builds from several structs: the new struct is present if one of the old structs is present.
    """

    def python(self, *values: Any) -> bool | None:
        return any(value is not None for value in values) or None

    def column(self, F: Any, *values: Any) -> Any:
        return F.when(_any(values, F), True)


def _any(values: tuple[Any, ...], F: Any) -> Any:
    result = F.lit(False)
    for value in values:
        result = result | value.isNotNull()
    return result


@dataclass(frozen=True, slots=True)
class NoneThere(ValueRule):
    """A rule that returns True for a change event without any row. The first argument is the event, and all other
    arguments are its rows. The result is True if the event is not null and all rows are null, else False.
    """

    def python(self, event: Any, *images: Any) -> bool:
        return event is not None and all(image is None for image in images)

    def column(self, F: Any, event: Any, *images: Any) -> Any:
        return event.isNotNull() & ~_any(images, F)


@dataclass(frozen=True, slots=True)
class Deleted(ValueRule):
    """A rule that returns the value of ``__deleted``, as Debezium does: ``false`` if the row after the change is not
    null, else ``true``.
    """

    returns = STRING

    def python(self, after: Any) -> str:
        if after is None:
            return "true"
        return "false"

    def column(self, F: Any, after: Any) -> Any:
        return F.when(after.isNull(), "true").otherwise("false")


@dataclass(frozen=True, slots=True)
class LogicalTopic(PythonRule):
    """A rule that returns the new topic of a record, by replacing the match of a regular expression in the old topic.

    The record keeps its topic if the expression does not match or if the new topic would be empty. With ``strict``, a
    record that keeps its topic is rejected.
    """

    pattern: str
    replacement: str
    strict: bool = False
    may_fail = True
    returns = STRING

    def new_topic(self, topic: str | None) -> str | None:
        """Returns the new topic for ``topic``. Returns None if the topic does not change."""
        matches = Matches(self.pattern).python(topic)
        if matches:
            return ReplaceIfMatches(self.pattern, self.replacement).python(topic) or None
        return None

    def python(self, topic: str | None) -> str | None:
        new = self.new_topic(topic)
        if new is None and (self.strict or topic is None):
            raise self.failure()
        return new or topic

    def failure(self) -> Any:
        statement = "a topic does not change, so the schema of its keys differs from that of the other topics"
        return data_error("SMT478", statement, "read only topics that topic.regex matches, or write records", "")

    def other_failures(self) -> tuple[Any, ...]:
        return too_long(), group_missing()


@dataclass(frozen=True, slots=True)
class Rerouted(LogicalTopic):
    """A rule that returns True if a record gets a new topic, else null."""

    may_fail = False
    returns = BOOLEAN

    def python(self, topic: str | None) -> bool | None:  # type: ignore[override]
        return self.new_topic(topic) is not None or None


@dataclass(frozen=True, slots=True)
class NotBlank(ValueRule):
    """A rule that returns a string unchanged, or null if the string is blank."""

    reads_values = True

    def python(self, text: str | None) -> str | None:
        if text is not None and trim(text):
            return text
        return None

    def column(self, F: Any, text: Any) -> Any:
        return F.when(text.rlike(_NOT_BLANK), text)
