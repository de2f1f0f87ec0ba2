"""The records that a stage keeps, as data. A source can then skip records that the first stages drop in any case.

For example ``Filter`` with the predicate ``TopicNameMatches`` keeps a record if ``TopicTest`` holds; topics that fail
the test need not be read at all.

A condition has three values. Push-down knows some properties of a record before the source reads it: topic, partition,
offset, and bounds of the timestamp. From these a condition is true, false, or not known. ``Unknown`` is a condition
that only the record itself decides: it is not known beforehand, and its negation is not known either, so such records
are always read. That is why a condition is data and not a function: ``tables.push_down`` asks where it is *possible*.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from dagster_smt.model.schema import Schema

Test = Callable[[Schema | None, Any], bool]
"""A test of one value and its schema (None: no schema). It is a frozen object, and the stage itself runs it, too."""


@dataclass(frozen=True, slots=True)
class FieldTest:
    """True if a field at the top of the value passes a test; the value is not null.

    Attributes:
        name: The field.
        test: The test.
        cuts: The whole numbers at which the answer for whole numbers can change. The answer is constant below the
            least, between two neighbours, and above the greatest of them. None: it may change anywhere.
    """

    name: str
    test: Test
    cuts: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class TopicTest:
    """True if the record's topic passes a test."""

    test: Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class NullTest:
    """True if the value is null."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """A condition that only the record itself decides."""


@dataclass(frozen=True, slots=True)
class NotCondition:
    """True if a condition is false."""

    condition: "Condition"


@dataclass(frozen=True, slots=True)
class AllConditions:
    """True if every condition is true; without conditions it is true."""

    conditions: tuple["Condition", ...]


@dataclass(frozen=True, slots=True)
class AnyCondition:
    """True if at least one condition is true; without conditions it is false."""

    conditions: tuple["Condition", ...]


Condition = FieldTest | TopicTest | NullTest | Unknown | NotCondition | AllConditions | AnyCondition
NOTHING = AnyCondition(())
"""The condition of a stage that keeps nothing."""


def fields_of(condition: Condition) -> set[str]:
    """Returns the fields that a condition tests."""
    results = set()
    for test in _tests(condition):
        if isinstance(test, FieldTest):
            results.add(test.name)
    return results


def tests_topic(condition: Condition) -> bool:
    """Returns whether a condition tests the record's topic."""
    for test in _tests(condition):
        if isinstance(test, TopicTest):
            return True
    return False


def _tests(condition: Condition) -> Iterator[Condition]:
    parts: tuple[Condition, ...] = ()
    if isinstance(condition, AllConditions | AnyCondition):
        parts = condition.conditions
    elif isinstance(condition, NotCondition):
        parts = (condition.condition,)
    yield condition
    for part in parts:
        yield from _tests(part)
