"""Conditions on keys and values without a schema: Python functions on lazily decoded JSON (``values.lazy``)."""

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
    """Returns the function that says of a key or value without a schema whether a condition is true.

    Args:
        condition: One about fields, or one that is the same for all records.
        purpose: What the stage does, as messages say it.
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
    raise AssertionError(f"{condition} is no condition on fields")


def _path(condition: PathFinds, purpose: str) -> Test:
    path, answers = condition.path, condition.answers
    refused = {refused: refusal.problem() for refused, refusal in condition.refusals}

    def test(value: Any) -> bool:
        found = answer(path, require_map(value, purpose))
        if found in refused:
            raise data_error(*refused[found])
        return found in answers

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
