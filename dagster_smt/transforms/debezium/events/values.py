"""Rules on change events as Debezium sends them: which image of a row counts, and where a row goes."""

from dataclasses import dataclass
from typing import Any

from dagster_smt.errors import data_error
from dagster_smt.model.java_text import trim
from dagster_smt.model.schema import BOOLEAN, STRING, Schema
from dagster_smt.values.basic import PythonRule, ValueRule
from dagster_smt.values.java.regex import Matches, ReplaceIfMatches, group_missing, too_long

ENVELOPE = ".Envelope"
_NOT_BLANK = r"[^\x00-\x20]"


def is_change_event(schema: Schema | None) -> bool:
    """Whether values of a schema are change events (Debezium's ``SmtManager.isValidEnvelope``): by its name alone."""
    return schema is not None and schema.name is not None and schema.name.endswith(ENVELOPE)


@dataclass(frozen=True, slots=True)
class Pick(ValueRule):
    """The first value where the third is not null, else the second."""

    def python(self, value: Any, other: Any, decides: Any) -> Any:
        if decides is None:
            return other
        return value

    def column(self, F: Any, value: Any, other: Any, decides: Any) -> Any:
        return F.when(decides.isNotNull(), value).otherwise(other)


@dataclass(frozen=True, slots=True)
class AnyThere(ValueRule):
    """True where one of the values is not null, else null: a struct made of one or the other."""

    def python(self, *values: Any) -> bool | None:
        return any(value is not None for value in values) or None

    def column(self, F: Any, *values: Any) -> Any:
        return F.when(_any(values, F), True)


def _any(values: tuple[Any, ...], F: Any) -> Any:
    found = F.lit(False)
    for value in values:
        found = found | value.isNotNull()
    return found


@dataclass(frozen=True, slots=True)
class NoneThere(ValueRule):
    """Whether the first value, a change event, is there, but none of the others, its images of the row."""

    def python(self, event: Any, *images: Any) -> bool:
        return event is not None and all(image is None for image in images)

    def column(self, F: Any, event: Any, *images: Any) -> Any:
        return event.isNotNull() & ~_any(images, F)


@dataclass(frozen=True, slots=True)
class Deleted(ValueRule):
    """``false`` where the row after the change is there, else ``true``: texts, as Debezium has them."""

    returns = STRING

    def python(self, after: Any) -> str:
        if after is None:
            return "true"
        return "false"

    def column(self, F: Any, after: Any) -> Any:
        return F.when(after.isNull(), "true").otherwise("false")


@dataclass(frozen=True, slots=True)
class LogicalTopic(PythonRule):
    """The topic that a regular expression makes of another one; the same where it does not match, or makes nothing.

    ``strict``: a topic that stays the same is refused.
    """

    pattern: str
    replacement: str
    strict: bool = False
    may_fail = True
    returns = STRING

    def found(self, topic: str | None) -> str | None:
        """The new topic, if there is one."""
        matches = Matches(self.pattern).python(topic)
        if matches:
            return ReplaceIfMatches(self.pattern, self.replacement).python(topic) or None
        return None

    def python(self, topic: str | None) -> str | None:
        found = self.found(topic)
        if found is None and (self.strict or topic is None):
            raise self.failure()
        return found or topic

    def failure(self) -> Any:
        statement = "a topic stays the same, so its keys have another schema than those of the other topics"
        return data_error("SMT478", statement, "read topics that topic.regex matches, or write records", "")

    def other_failures(self) -> tuple[Any, ...]:
        return too_long(), group_missing()


@dataclass(frozen=True, slots=True)
class Rerouted(LogicalTopic):
    """True where there is a new topic, else null."""

    may_fail = False
    returns = BOOLEAN

    def python(self, topic: str | None) -> bool | None:  # type: ignore[override]
        return self.found(topic) is not None or None


@dataclass(frozen=True, slots=True)
class NotBlank(ValueRule):
    """A text; null for one of blanks alone."""

    reads_values = True

    def python(self, text: str | None) -> str | None:
        if text is not None and trim(text):
            return text
        return None

    def column(self, F: Any, text: Any) -> Any:
        return F.when(text.rlike(_NOT_BLANK), text)
