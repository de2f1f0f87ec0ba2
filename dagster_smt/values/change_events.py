"""Rules on change events as Debezium sends them: which image of a row counts, and where a row goes."""

from dataclasses import dataclass
from typing import Any

from dagster_smt.model.java_text import trim
from dagster_smt.model.schema import STRING, Schema
from dagster_smt.values.basic import ValueRule

ENVELOPE = ".Envelope"
_NOT_BLANK = r"[^\x00-\x20]"


def is_change_event(schema: Schema | None) -> bool:
    """Whether values of a schema are change events (Debezium's ``SmtManager.isValidEnvelope``): by its name alone."""
    return schema is not None and schema.name is not None and schema.name.endswith(ENVELOPE)


@dataclass(frozen=True, slots=True)
class Pick(ValueRule):
    """The first value where the third is not null, else the second."""

    def python(self, value: Any, other: Any, decides: Any) -> Any:
        return other if decides is None else value

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
        return "true" if after is None else "false"

    def column(self, F: Any, after: Any) -> Any:
        return F.when(after.isNull(), "true").otherwise("false")


@dataclass(frozen=True, slots=True)
class NotBlank(ValueRule):
    """A text; null for one of blanks alone."""

    def python(self, text: str | None) -> str | None:
        return text if text is not None and trim(text) else None

    def column(self, F: Any, text: Any) -> Any:
        return F.when(text.rlike(_NOT_BLANK), text)
