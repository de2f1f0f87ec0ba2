"""Conditions, as data, that state which records a stage keeps. With them, a source can skip records that the first
stages drop in any case.

For example, ``Filter`` with the predicate ``TopicNameMatches`` keeps a record if a ``TopicTest`` is true. The source
then does not read topics for which the test is false.

A condition has three possible results. Before a source reads a record, it knows only some properties of the record: the
topic, the partition, the offset, and bounds of the timestamp. Given these properties, a condition is true, false, or
not known. ``Unknown`` is a condition that depends on the rest of the record. Neither its result nor the result of its
negation is known in advance, so the source reads the record. A condition is data instead of a function, so that
``tables.push_down`` can determine where the condition may be true.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from dagster_smt.model.schema import Schema

Test = Callable[[Schema | None, Any], bool]
"""A function that tests a value and its schema (None for no schema). It is an immutable object, and the stage uses the
same object to test records.
"""


@dataclass(frozen=True, slots=True)
class FieldTest:
    """A condition that is true if a top-level field of the value passes a test. It is false if the value is null.

    Attributes:
        name: The field.
        test: The test.
        cuts: The whole numbers at which the answer for whole numbers can change. The answer is constant below the
            lowest cut, between two neighbouring cuts, and above the highest cut. None: the answer may change anywhere.
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
    """A condition that is true if every one of several conditions is true. Without conditions, it is true."""

    conditions: tuple["Condition", ...]


@dataclass(frozen=True, slots=True)
class AnyCondition:
    """A condition that is true if at least one of several conditions is true. Without conditions, it is false."""

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
