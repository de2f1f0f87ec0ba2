"""Evaluates a JSONPath on a key or value, by the rules of Jayway's json-path 2.9.

A missing field is not equal to any value, so it passes ``!=``, ``!==`` and ``nin``. Numbers are compared by value. A
number and a string are compared as numbers if the field is a number, and as strings if the field is a string. For
``===`` and ``!==``, a number and a string always differ. Only two numbers or two strings have an order. A regular
expression is matched with a string, with the text of a number or boolean, or with each element of an array. Any other
value is treated as the empty string. Two inputs that crash json-path do not crash here: NaN and the infinities equal
nothing, and an object in an array is treated as the empty string.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar

from dagster_smt.errors import DataError, data_error
from dagster_smt.model.paths.json_path import (
    AllTests,
    AnyTest,
    Comparison,
    Exists,
    FilterStep,
    JsonPath,
    Literal,
    Names,
    NotTest,
    RegexMatch,
    Test,
)
from dagster_smt.model.runtime import JavaFloat
from dagster_smt.model.schema import STRING, JavaDate, Schema, Type, optional
from dagster_smt.values.java.regex import compile_java, too_long
from dagster_smt.values.json.lazy import look
from dagster_smt.values.numbers import decimal_text, float_text, parse_big_decimal
from dagster_smt.values.value_rule import PythonRule

PATH_NOT_FOUND = "com.jayway.jsonpath.PathNotFoundException"
INVALID_PATH = "com.jayway.jsonpath.InvalidPathException"
MATCH, NOTHING, MISSING, NO_OBJECT = "found", "nothing", "missing", "no object"
"""The possible results of a JSONPath. ``MATCH``: the path leads to a value. ``NOTHING``: no value passes the filters.
``MISSING``: a field of the path is missing. ``NO_OBJECT``: a filter is applied to a value that is neither an object nor
an array.
"""
_UNDEFINED = object()


def answer(path: JsonPath, document: Any) -> str:
    """Returns the result of ``path`` in ``document``, such as ``MATCH``. The document is an object without a schema.
    Parts of it may still be undecoded JSON.
    """
    try:
        if any(True for _ in _results(document, path.steps, True)):
            return MATCH
        return NOTHING
    except _Stop as stop:
        return stop.why


class _Stop(Exception):
    """Raised if a path cannot be followed to its end. ``why`` is the result of the path."""

    def __init__(self, why: str):
        self.why = why


def _results(value: Any, steps: tuple[str | FilterStep, ...], sure: bool) -> Iterator[Any]:
    """Follows ``steps``, the rest of a path, from ``value``, and yields the values at the end of the path.

    A step cannot be followed in two cases: a name is missing, or a filter is applied to a value that is neither an
    object nor an array. The function then raises ``_Stop`` if ``sure`` is true, and otherwise yields nothing. ``sure``
    is true if no filter precedes ``steps`` in the path.
    """
    if not steps:
        yield value
        return
    step, rest = steps[0], steps[1:]
    if isinstance(step, str):
        if type(value) is dict and step in value:
            yield from _results(look(value, step), rest, sure)
        elif sure:
            raise _Stop(MISSING)
    elif type(value) is dict:
        if passes(step.test, value):
            yield from _results(value, rest, False)
    elif type(value) is list:
        for element in _elements(value):
            if passes(step.test, element):
                yield from _results(element, rest, False)
    elif sure:
        raise _Stop(NO_OBJECT)


def _elements(value: list[Any]) -> Iterable[Any]:
    return (look(value, number) for number in range(len(value)))


def passes(test: Test, item: Any) -> bool:
    """Returns True if ``item`` passes ``test``, the test of a JSONPath filter such as ``@.age > 18``. The item is an
    object, or an element of an array.
    """
    if isinstance(test, NotTest):
        return not passes(test.test, item)
    if isinstance(test, AllTests):
        return all(passes(part, item) for part in test.tests)
    if isinstance(test, AnyTest):
        return any(passes(part, item) for part in test.tests)
    value = _field(item, test.names)
    if isinstance(test, Exists):
        return value is not _UNDEFINED
    # after ``Exists``, which applies to values of any type
    if isinstance(value, JavaDate | bytes):
        raise not_comparable(test.names)
    if isinstance(test, RegexMatch):
        texts = map(_text, _elements(value)) if type(value) is list else (_text(value),)
        return any(compile_java(test.pattern).fullmatch(text) for text in texts)
    return _compared(test, value)


def not_comparable(names: Names) -> DataError:
    """Returns the error for a test of a field that contains bytes or a date, which cannot be compared. ``names`` is the
    path of the field: ``("customer", "birth")``.
    """
    statement = f"{'.'.join(('@', *names))} holds bytes or a date, which a condition cannot compare"
    hint = "convert the field in an earlier stage, with TimestampConverter or Cast"
    return data_error("SMT458", statement, hint, "com.jayway.jsonpath.JsonPathException")


def _field(item: Any, names: Names) -> Any:
    for name in names:
        if type(item) is not dict or name not in item:
            return _UNDEFINED
        item = look(item, name)
    return item


def _number(value: Any) -> Decimal | None:
    """Converts ``value`` to the ``BigDecimal`` with the same spelling. Returns None if ``value`` is not a number."""
    if isinstance(value, float):
        if math.isfinite(value):
            return Decimal(float_text(value, isinstance(value, JavaFloat)))
        return None
    if isinstance(value, Decimal):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return Decimal(int(value))
    return None


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        if value:
            return "true"
        return "false"
    number = _number(value)
    if number is None:
        return ""
    return decimal_text(number)


def _compared(test: Comparison, value: Any) -> bool:
    operator = test.operator
    if operator == "in" or operator == "nin":
        return any(_equal(value, literal) for literal in test.literals) is (operator == "in")
    (literal,) = test.literals
    if operator == "==" or operator == "!=":
        return _equal(value, literal) is (operator == "==")
    if operator == "===" or operator == "!==":
        return (_same_kind(value, literal) and _equal(value, literal)) is (operator == "===")
    order = _order(value, literal)
    if order is None:
        return False
    return (order < 0 if "<" in operator else order > 0) or (order == 0 and "=" in operator)


def _equal(value: Any, literal: Literal) -> bool:
    number = _number(value)
    if number is not None:
        if isinstance(literal, str):
            other = parse_big_decimal(literal)
        else:
            other = _number(literal)
        return other is not None and number == other
    if isinstance(value, str):
        return value == (decimal_text(literal) if isinstance(literal, Decimal) else literal)
    if isinstance(value, bool):
        return literal is value
    return value is None and literal is None


def _same_kind(value: Any, literal: Literal) -> bool:
    if isinstance(literal, Decimal):
        return _number(value) is not None
    return type(value) is type(literal)


def _order(value: Any, literal: Literal) -> int | None:
    """Compares ``value``, the value of a field, with ``literal``. The result is negative, 0 or positive if the value is
    below, equal to or above the literal.

    The result is None for values without an order, such as a number and a string.
    """
    number = _number(value)
    if number is not None and isinstance(literal, Decimal):
        return (number > literal) - (number < literal)
    if isinstance(value, str) and isinstance(literal, str):
        one, other = _units(value), _units(literal)
        return (one > other) - (one < other)
    return None


def _units(text: str) -> bytes:
    """Returns the UTF-16 units of ``text`` as bytes. Comparing these bytes gives the same order as comparing strings in
    Java.
    """
    return text.encode("utf-16-be", "surrogatepass")


@dataclass(frozen=True, slots=True)
class ValueShape:
    """A value that a JSONPath reads as a whole, such as a string. The rule ``Answer`` gets the value as a single
    argument.
    """

    schema: Schema

    def read(self, args: Iterator[Any]) -> Any:
        return plain(self.schema, next(args))


@dataclass(frozen=True, slots=True)
class StructShape:
    """A struct of which a JSONPath reads only certain fields. The rule ``Answer`` gets the struct as several arguments:
    a flag that is true if the struct is null, and then the arguments of the struct's fields.
    """

    fields: tuple[tuple[str, "ValueShape | StructShape"], ...]

    def read(self, args: Iterator[Any]) -> Any:
        is_null = next(args)
        fields = {name: shape.read(args) for name, shape in self.fields}
        if is_null:  # returned only here, because the arguments of the fields must be consumed first
            return None
        return fields


def plain(schema: Schema, value: Any) -> Any:
    """Returns ``value`` in the form of a value without a schema: structs and maps become objects, arrays stay arrays,
    and numbers keep their Java class. Entries of maps whose keys are not strings are left out. ``schema`` is the schema
    of ``value``.
    """
    if value is None:
        return None
    if schema.type is Type.STRUCT:
        return {name: plain(child, value.get(name)) for name, child in schema.fields}
    if schema.type is Type.ARRAY and schema.values:
        return [plain(schema.values, element) for element in value]
    if schema.type is Type.MAP and schema.values:
        results = {}
        for key, child in value.items():
            if isinstance(key, str):
                results[key] = plain(schema.values, child)
        return results
    if schema.type is Type.FLOAT32:
        return JavaFloat(value)
    return value


@dataclass(frozen=True, slots=True)
class Answer(PythonRule):
    """A rule that evaluates a JSONPath on a struct. The result is ``MATCH``, ``NOTHING``, ``MISSING`` or ``NO_OBJECT``;
    null for a null struct.

    The arguments are the parts of the struct that the path reads. ``shape`` builds the struct from these arguments.
    """

    path: JsonPath
    shape: StructShape
    returns: ClassVar[Schema | None] = optional(STRING)

    def python(self, *args: Any) -> str | None:
        document = self.shape.read(iter(args))
        if document is None:
            return None
        return answer(self.path, document)

    def other_failures(self) -> tuple[Any, ...]:
        return (too_long(),)


@dataclass(frozen=True, slots=True)
class Passes:
    """A test of one field's value, from a JSONPath filter. For the filter ``@.age > 18``, it returns True for the value
    20.
    """

    test: Comparison | RegexMatch | Exists

    def __call__(self, schema: Schema | None, value: Any) -> bool:
        (name,) = self.test.names
        return passes(self.test, {name: value})


def cuts_of(test: Comparison | RegexMatch | Exists) -> tuple[int, ...] | None:
    """Returns the whole numbers at which the result of ``test`` can change: ``(18,)`` for ``@.age > 18``. Between these
    numbers, the result is the same for all whole numbers.

    Returns None for a regular expression, whose result can change at any number.
    """
    if isinstance(test, RegexMatch):
        return None
    literals = test.literals if isinstance(test, Comparison) else ()
    cuts = set()
    for literal in literals:
        number = parse_big_decimal(literal) if isinstance(literal, str) else _number(literal)
        # whole numbers in a field have at most 64 bits, so larger numbers need no cut, and ``floor`` is slow for huge
        # or tiny exponents
        if number is None or number.adjusted() >= 19:
            continue
        # the second case is the floor of a tiny number: 0, or -1 if the number is negative
        cuts.add(math.floor(number) if number.adjusted() > -19 else -int(number < 0))
    return tuple(sorted(cuts))
