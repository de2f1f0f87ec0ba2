"""Option types with Kafka's validators (``ConfigDef.ValidList``, ``NonEmptyString``, ``RegexValidator``)."""

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator

from dagster_smt.authoring.options import Names, RawText, Text
from dagster_smt.errors import ConfigError
from dagster_smt.model.java_text import trim
from dagster_smt.values.java.dates import date_format
from dagster_smt.values.java.regex import compile_java


def _some(names: tuple[str, ...]) -> tuple[str, ...]:
    if not names:
        raise ValueError("the list is empty")
    return names


def _some_names(names: tuple[str, ...]) -> tuple[str, ...]:
    return _names(_some(names))


def _names(names: tuple[str, ...]) -> tuple[str, ...]:
    if "" in names:
        raise ValueError("the list has an empty item")
    if len(set(names)) < len(names):
        raise ValueError("the list has an item twice")
    return names


def _not_empty(text: str) -> str:
    if not text:
        raise ValueError("the text is empty")
    return text


def _regex(text: str) -> str:
    try:
        compile_java(text)
    except ConfigError as error:
        raise ValueError(error.problems[0].statement) from None
    return text


def _date_pattern(text: str) -> str:
    try:
        date_format(text)
    except ConfigError as error:
        raise ValueError(error.problems[0].statement) from None
    return text


NonEmptyNames = Annotated[Names, AfterValidator(_some_names)]
SomeNames = Annotated[Names, AfterValidator(_some)]
"""The type of a list option that must not be empty. An item may be empty, and may occur more than once
(``NonEmptyListValidator``).
"""
UniqueNames = Annotated[Names, AfterValidator(_names)]
NonEmptyText = Annotated[Text, AfterValidator(_not_empty)]
Regex = Annotated[Text, AfterValidator(_regex)]
RawRegex = Annotated[RawText, AfterValidator(_regex)]
DatePattern = Annotated[Text, AfterValidator(_date_pattern)]
# pydantic runs the last before-validator of an annotation first: `Annotated[Text, one_of(…), AnyCase]`
AnyCase = BeforeValidator(lambda value: trim(value).lower() if isinstance(value, str) else value)
"""A validator that ignores the case and the surrounding whitespace of an option, as Debezium does."""


@dataclass(frozen=True)
class OneOf(AfterValidator):
    """A validator that only accepts certain strings.

    Attributes:
        allowed: The accepted strings.
    """

    allowed: tuple[str, ...] = ()


def one_of(*allowed: str) -> Any:
    """Returns a validator that only accepts the strings in ``allowed``."""

    def check(text: str) -> str:
        if text not in allowed:
            raise ValueError(f"must be one of: {', '.join(allowed)}")
        return text

    return OneOf(check, allowed)
