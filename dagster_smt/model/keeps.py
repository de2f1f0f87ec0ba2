"""Conditions on records, as data. A condition is true for each record that a stage keeps. A source can skip records for
which the condition is false.

For example, ``Filter`` with the predicate ``TopicNameMatches`` drops the records of all matching topics. The condition
of this stage is true for all other topics. The source then does not read the matching topics.

A condition has three possible results: true, false, or not known. Before a source reads a record, it knows only some of
its properties: the topic, the partition, the offset, and bounds of the timestamp. ``Unknown`` is a condition on other
properties, such as a header. Its result is not known before the record is read, and neither is the result of its
negation. The source must then read the record.

A condition is data instead of a function, so that ``tables.push_down`` can determine for which topics and offsets the
condition may be true.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from dagster_smt.model.schema import Schema

Test = Callable[[Schema | None, Any], bool]
"""A function that takes a schema (None for no schema) and a value, and returns True or False. The function is an
immutable object. A stage uses this function to test records, and a source uses the same function to skip records.
"""


@dataclass(frozen=True, slots=True)
class FieldTest:
    """A condition that is true if a top-level field of the value passes a test. It is false if the value is null.

    Attributes:
        name: The field.
        test: The test.
        cuts: The whole numbers at which the result of the test can change. With the cuts 10 and 20, the numbers 11 to
            19 all have the same result. The same is true of all numbers below 10, and of all numbers above 20. None if
            the result may change at any number.
    """

    name: str
    test: Test
    cuts: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class TopicTest:
    """A condition that is true if the record's topic passes a test."""

    test: Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class NullTest:
    """A condition that is true if the value is null."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """A condition whose result is not known before the record is read."""


@dataclass(frozen=True, slots=True)
class NotCondition:
    """A condition that is true if another condition is false."""

    condition: "Condition"


@dataclass(frozen=True, slots=True)
class AllConditions:
    """A condition that is true if every one of several conditions is true. For an empty list of conditions, the result
    is true.
    """

    conditions: tuple["Condition", ...]


@dataclass(frozen=True, slots=True)
class AnyCondition:
    """A condition that is true if at least one of several conditions is true. For an empty list of conditions, the
    result is false.
    """

    conditions: tuple["Condition", ...]


Condition = FieldTest | TopicTest | NullTest | Unknown | NotCondition | AllConditions | AnyCondition
NOTHING = AnyCondition(())
"""The condition of a stage that keeps no record."""


def fields_of(condition: Condition) -> set[str]:
    """Returns the names of the fields that ``condition`` tests."""
    results = set()
    for test in _tests(condition):
        if isinstance(test, FieldTest):
            results.add(test.name)
    return results


def tests_topic(condition: Condition) -> bool:
    """Returns True if ``condition`` tests the record's topic."""
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
