"""Tests conditions on keys and values without a schema. The tests are Python functions on lazily decoded JSON
(``values.json.lazy``).
"""

from collections.abc import Callable
from typing import Any

from dagster_smt.authoring.fields.schemaless import require_map, value_at
from dagster_smt.effects.condition import Always, Condition, FieldPasses, Not, NoTest, NullValue, PathFinds
from dagster_smt.errors import data_error
from dagster_smt.model.runtime import java_class
from dagster_smt.values.java.regex_equals import IsLiteral
from dagster_smt.values.json.path import answer

Test = Callable[[Any], bool]


def test_function(condition: Condition, purpose: str) -> Test:
    """Returns a function that tests ``condition`` on a key or value without a schema.

    Args:
        condition: A condition on fields, ``NullValue``, ``Always``, or a ``Not`` of one of them.
        purpose: The purpose of the stage, as messages word it, such as ``mask fields``.
    """
    match condition:
        case Not(inner):
            test = test_function(inner, purpose)
            return lambda value: not test(value)
        case Always():
            return lambda value: True
        case NullValue():
            return lambda value: value is None
        case PathFinds():
            return _path(condition, purpose)
        case FieldPasses():
            return _field(condition)
    raise AssertionError(f"{condition} is not a condition on fields")


def _path(condition: PathFinds, purpose: str) -> Test:
    path, answers = condition.path, condition.answers
    problems = {}
    for refused, refusal in condition.refusals:
        problems[refused] = refusal.problem()

    def test(value: Any) -> bool:
        result = answer(path, require_map(value, purpose))
        if result in problems:
            raise data_error(*problems[result])
        return result in answers

    return test


def _field(condition: FieldPasses) -> Test:
    path, passes, null, no_object = condition.path, condition.test, condition.null, condition.no_object

    def test(value: Any) -> bool:
        if path.steps and no_object is not None and type(value) is not dict:
            raise data_error(*no_object.problem(what=java_class(value)))
        field = value_at(value, path)
        if isinstance(passes, NoTest):
            raise data_error(*passes.refusal.problem())
        if field is None and null is not None and isinstance(passes, IsLiteral):
            raise data_error(*null.problem())
        return passes(None, field)

    return test
