"""Which records a stage keeps, as data: so that others can be left unread where they need not be read to know it.

A condition is true, false or, for all that is known of a record before it is read, either. ``Unknown`` stands for what
only a record can tell.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any as Value

from dagster_smt.model.schema import Schema

Test = Callable[[Schema | None, Value], bool]
"""A test of one value and its schema (None: it has none); a frozen object, and the code that the stage itself runs."""


@dataclass(frozen=True, slots=True)
class FieldTest:
    """Whether a field at the top of the value passes a test; the value is not null.

    Attributes:
        name: The field.
        test: The test.
        cuts: The whole numbers at which the answer for a whole number can change: it is one for all below the least,
            one for all between two of them, one for all above the greatest. None: it may change anywhere.
    """

    name: str
    test: Test
    cuts: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class TopicTest:
    """Whether the record's topic passes a test."""

    test: Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class NullValue:
    """Whether the value is null."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """What only the record can tell."""


@dataclass(frozen=True, slots=True)
class Not:
    """Whether a condition is false."""

    condition: "Condition"


@dataclass(frozen=True, slots=True)
class All:
    """Whether every condition is true; of none it is."""

    conditions: tuple["Condition", ...]


@dataclass(frozen=True, slots=True)
class Any:
    """Whether a condition is true; of none there is no true one."""

    conditions: tuple["Condition", ...]


Condition = FieldTest | TopicTest | NullValue | Unknown | Not | All | Any
NOTHING = Any(())
"""A stage that keeps nothing."""


def fields_of(condition: Condition) -> set[str]:
    """The fields that a condition tests."""
    results = set()
    for test in _tests(condition):
        if isinstance(test, FieldTest):
            results.add(test.name)
    return results


def tests_topic(condition: Condition) -> bool:
    """Whether a condition tests the record's topic."""
    return any(isinstance(test, TopicTest) for test in _tests(condition))


def _tests(condition: Condition) -> Iterator[Condition]:
    parts = condition.conditions if isinstance(condition, All | Any) else ()
    if isinstance(condition, Not):
        parts = (condition.condition,)
    yield condition
    for part in parts:
        yield from _tests(part)
