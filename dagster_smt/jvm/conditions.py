"""Translates conditions on records into JSON programs for the JVM lane, this package's Java code inside Spark. The Java
classes are ``Test`` and ``FieldTest``.
"""

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
    """Returns the JSON program with which the JVM lane (the Java code inside Spark) tests ``predicate``.

    If the predicate tests fields, it is false for a record whose value is null. With ``negate``, the result for such a
    record is true.

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
    """Returns the JSON program with which the JVM lane (the Java code inside Spark) tests ``condition``.

    Args:
        condition: The condition.
        side: ``key`` or ``value``: the part of the record whose fields the condition tests.
        negate: True to reverse the result.

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
    """Returns the type and the value of a literal, as strings: ``{"kind": "int64", "text": "3000000000"}`` for the
    literal ``3000000000``.

    The kind is ``null`` for a literal that equals no string, number or boolean of JSON. One example is ``7``: Connect
    reads the literal as an INT8, but each whole number in JSON as an INT64. The JVM lane, the Java code inside Spark,
    leaves objects and arrays to Python.

    Raises:
        NoJavaError: Connect reads the literal as a double, as it does for ``1e300``. The lane does not support such a
            literal.
    """
    kind, value = expected(text) or ("null", None)
    if kind == "double":
        raise NoJavaError("a literal that is a large number")
    if kind == "boolean":
        return {"kind": kind, "text": "true" if value else "false"}
    if kind in ("string", "int64"):
        return {"kind": kind, "text": str(value)}
    return {"kind": "null", "text": ""}
