"""Conditions that describe, as data, which records a stage keeps. With these conditions, a source can skip records that
the first stages drop in any case.

For example, ``Filter`` with the predicate ``TopicNameMatches`` keeps a record if a ``TopicTest`` is true. A source need
not read topics that fail the test at all.

A condition has three possible results. Before the source reads a record, push-down knows some of its properties: topic,
partition, offset, and bounds of the timestamp. With these properties, a condition is true, false, or not known.
``Unknown`` is a condition that depends on the rest of the record. Its result is not known beforehand, and neither is
the result of its negation, so such records are always read. For this reason a condition is data and not a function:
``tables.push_down`` determines where the condition can *possibly* be true.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from dagster_smt.model.schema import Schema

Test = Callable[[Schema | None, Any], bool]
"""A function that tests a value and its schema (None for no schema). It is a frozen object, and the stage itself also
runs the test.
"""


@dataclass(frozen=True, slots=True)
class FieldTest:
    """A condition that is true if a top-level field of the value passes a test. The value is not null.

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
