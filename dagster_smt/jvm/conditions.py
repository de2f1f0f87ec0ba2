"""Translates conditions into programs of the JVM lane (``Test.java``, ``FieldTest.java``)."""

from typing import Any

from dagster_smt.authoring.predicate import Predicate
from dagster_smt.effects.code import CodePredicate
from dagster_smt.effects.condition import (
    Always,
    Condition,
    FieldPasses,
    HasHeader,
    Not,
    NoTest,
    NullValue,
    PathFinds,
    TopicPasses,
    ValuePasses,
)
from dagster_smt.jvm.paths import NoJavaError, path_of
from dagster_smt.values.java.regex import Matches
from dagster_smt.values.java.regex_equals import IsLiteral, expected
from dagster_smt.values.text_rules import Finds, IsText, TextPasses


def test_of_predicate(predicate: Predicate, negate: bool) -> dict[str, Any]:
    """Returns the program for the test of ``predicate``. If the predicate tests fields, it is false for a null value,
    and ``negate`` also reverses this result.

    Raises:
        NoJavaError: The lane does not support the condition.
    """
    if isinstance(predicate, CodePredicate):
        raise NoJavaError("a predicate that is Python code")
    condition = predicate.condition()
    if "value" not in condition.reads:
        return test_of(condition, "value", negate)
    return {"name": "on value", "test": test_of(condition, "value"), "negate": negate}


def test_of(condition: Condition, side: str, negate: bool = False) -> dict[str, Any]:
    """Returns the program for the test of ``condition``. If the condition tests fields, they are fields of the key or
    value ``side``.

    Raises:
        NoJavaError: The lane does not support the condition.
    """
    match condition:
        case Not(inner):
            return test_of(inner, side, not negate)
        case TopicPasses(Matches(pattern)):
            return {"name": "topic", "pattern": pattern, "negate": negate}
        case NullValue():
            return {"name": "tombstone", "negate": negate}
        case Always():
            return {"name": "always", "negate": negate}
        case HasHeader(name):
            return {"name": "header", "header": name, "negate": negate}
        case FieldPasses():
            return _field(condition, side) | {"negate": negate}
        case PathFinds():
            raise NoJavaError("a condition by a JSONPath")
    raise NoJavaError("its condition")


def _field(condition: FieldPasses, side: str) -> dict[str, Any]:
    return {
        "name": "field",
        "side": side,
        "path": path_of(condition.path),
        "refuses null": condition.null is not None and isinstance(condition.test, IsLiteral),
        "refuses others": condition.no_object is not None,
        **_check(condition),
    }


def _check(condition: FieldPasses) -> dict[str, Any]:
    match condition.test:
        case TextPasses(IsText(text)):
            return {"text": text}
        case TextPasses(Finds(pattern)):
            return {"finds": pattern}
        case TextPasses(Matches(pattern)):
            return {"matches": pattern}
        case IsLiteral(text):
            return _literal(text)
        case NoTest():
            raise NoJavaError("a condition that refuses every record")
        case ValuePasses():
            raise NoJavaError("a condition that is Python code")
    raise NoJavaError("its condition")


def _literal(text: str) -> dict[str, Any]:
    """Returns the kind of the literal ``text``, and its value as a string.

    In the lane, whole numbers in JSON values have at most 64 bits, so a larger literal equals no value.
    """
    kind, value = expected(text) or ("null", None)
    if kind == "double":
        raise NoJavaError("a literal that is a large number")
    if kind == "boolean":
        return {"kind": kind, "text": "true" if value else "false"}
    if kind in ("string", "int64"):
        return {"kind": kind, "text": str(value)}
    return {"kind": "null", "text": ""}
