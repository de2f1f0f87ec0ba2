"""Tests whether a value equals a literal, by Java's definition of equality. ``Values.parseString`` determines the value
of the literal.

``Object.equals`` also compares classes. For example, a Long is never equal to an Integer.
"""

import math
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any, ClassVar

from dagster_smt.model.runtime import box, kind_of, kind_of_schema
from dagster_smt.model.schema import BOOLEAN, JavaDate, Schema
from dagster_smt.values.headers.literals import parse_literal
from dagster_smt.values.json.lazy import whole
from dagster_smt.values.numbers import float_text
from dagster_smt.values.value_rule import ValueRule

_CATALYST = ("string", "boolean", "int8", "int16", "int32", "int64")
_DATES = ("Date", "Time", "Timestamp")


def identity(schema: Schema | None, value: Any) -> Any:
    """Returns a key for ``value``. Two keys are equal if and only if their values are equal in Java.

    Args:
        schema: The value's schema; None if the value has no schema.
        value: The value, decoded at every level. Bytes and structs equal no literal, so their key equals no other key.
    """
    if value is None:
        return None
    kind = kind_of_schema(schema) if schema else kind_of(value)
    if isinstance(value, list):
        item = schema.values if schema else None
        return "array", tuple(identity(item, element) for element in value)
    if isinstance(value, bytes) or kind == "struct":
        return object()
    if isinstance(value, dict):
        keys, item = (schema.keys, schema.values) if schema else (None, None)
        return "map", frozenset((identity(keys, k), identity(item, v)) for k, v in value.items())
    if isinstance(value, Decimal):
        # ``BigDecimal.equals`` compares the scale: 1.0 does not equal 1.00
        return kind, value.as_tuple()
    if isinstance(value, float):
        # in ``Double.equals``, NaN equals NaN, and 0.0 does not equal -0.0
        return kind, "NaN" if math.isnan(value) else (math.copysign(1, value), float(value))
    if isinstance(value, JavaDate):
        # the Java class is ``java.util.Date`` for each of the logical types
        return ("date", int(value))
    return (kind, value)


@lru_cache(maxsize=256)
def expected(text: str) -> Any:
    """Parses the literal ``text``. Returns the key by which its value is compared (see ``identity``), or None for the
    string ``null``.
    """
    schema, value = parse_literal(text)
    return identity(schema, _boxed(schema, value))


def _boxed(schema: Schema | None, value: Any) -> Any:
    """Returns ``value``, a parsed literal. In an array or map whose elements have no common type, each number gets the
    Python class that stands for its Java class: 1 becomes a ``JavaByte``.
    """
    inner = schema.values if schema else None
    if isinstance(value, list):
        return [_boxed(inner, item) for item in value]
    if isinstance(value, dict):
        return {key: _boxed(inner, item) for key, item in value.items()}
    if schema is None and type(value) in (int, float):
        text = str(value) if isinstance(value, int) else float_text(value)
        number_schema = parse_literal(text)[0]
        if number_schema is None:
            return value
        return box(value, number_schema.type)
    return value


@dataclass(frozen=True, slots=True)
class EqualsLiteral(ValueRule):
    """A rule that returns True if a value equals the value of the literal ``text``. For null, the result is False.

    Attributes:
        schema: The value's schema; None if the value has no schema.
        text: The string that ``Values.parseString`` reads.
    """

    schema: Schema | None
    text: str
    returns: ClassVar[Schema | None] = BOOLEAN

    @property
    def needs_python(self) -> bool:  # type: ignore[override]
        """True if Catalyst compares the value with the literal differently from Java. False if the value can never have
        the literal's Java class: the rule then returns False for every value, without a comparison.
        """
        return self._kind not in _CATALYST and self._same_class

    @property
    def _kind(self) -> str:
        if self.schema:
            return kind_of_schema(self.schema)
        return ""

    @property
    def _same_class(self) -> bool:
        literal = expected(self.text)
        return literal is not None and literal[0] == ("date" if self._kind in _DATES else self._kind)

    def python(self, value: Any) -> bool:
        return value is not None and identity(self.schema, whole(value)) == expected(self.text)

    def column(self, F: Any, value: Any) -> Any:
        if not self._same_class:
            return F.lit(False)
        return F.coalesce(value == F.lit(expected(self.text)[1]), F.lit(False))


@dataclass(frozen=True, slots=True)
class IsLiteral:
    """A test of a value with any schema. It returns True if the value equals the literal ``text`` in Java, as in
    ``EqualsLiteral``.
    """

    text: str

    def __call__(self, schema: Schema | None, value: Any) -> bool:
        return EqualsLiteral(schema, self.text).python(value)
