"""``Object.equals`` of Java between a value and what ``Values.parseString`` makes of a text: the class counts."""

import math
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any, ClassVar

from dagster_smt.model.runtime import box, kind_of, kind_of_schema
from dagster_smt.model.schema import BOOLEAN, JavaDate, Schema
from dagster_smt.values.basic import ValueRule
from dagster_smt.values.headers.literals import parse_literal
from dagster_smt.values.json.lazy import whole
from dagster_smt.values.numbers import float_text

_CATALYST = ("string", "boolean", "int8", "int16", "int32", "int64")
_DATES = ("Date", "Time", "Timestamp")


def identity(schema: Schema | None, value: Any) -> Any:
    """What is equal for two values where they are equal in Java; what equals nothing is equal to nothing.

    Args:
        schema: The value's schema; None if it has none.
        value: The value, decoded at every level.
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
        return kind, value.as_tuple()
    if isinstance(value, float):
        return kind, "NaN" if math.isnan(value) else (math.copysign(1, value), float(value))
    if isinstance(value, JavaDate):
        return ("date", int(value))
    return (kind, value)


@lru_cache(maxsize=256)
def expected(text: str) -> Any:
    """The identity of what a text stands for; None for the text ``null``."""
    schema, value = parse_literal(text)
    return identity(schema, _boxed(schema, value))


def _boxed(schema: Schema | None, value: Any) -> Any:
    """A literal with the classes of numbers in arrays and maps whose elements have no one type: each has its own."""
    inner = schema.values if schema else None
    if isinstance(value, list):
        return [_boxed(inner, item) for item in value]
    if isinstance(value, dict):
        return {key: _boxed(inner, item) for key, item in value.items()}
    if schema is None and type(value) in (int, float):
        text = str(value) if isinstance(value, int) else float_text(value)
        found = parse_literal(text)[0]
        if found is None:
            return value
        return box(value, found.type)
    return value


@dataclass(frozen=True, slots=True)
class EqualsLiteral(ValueRule):
    """Whether a value equals what a text stands for; null equals nothing.

    Attributes:
        schema: The value's schema; None if it has none.
        text: The text, as ``Values.parseString`` reads it.
    """

    schema: Schema | None
    text: str
    returns: ClassVar[Schema | None] = BOOLEAN

    @property
    def needs_python(self) -> bool:  # type: ignore[override]
        """Where the classes can be the same, and Catalyst compares otherwise."""
        return self._kind not in _CATALYST and self._same_class

    @property
    def _kind(self) -> str:
        if self.schema:
            return kind_of_schema(self.schema)
        return ""

    @property
    def _same_class(self) -> bool:
        found = expected(self.text)
        return found is not None and found[0] == ("date" if self._kind in _DATES else self._kind)

    def python(self, value: Any) -> bool:
        return value is not None and identity(self.schema, whole(value)) == expected(self.text)

    def column(self, F: Any, value: Any) -> Any:
        if not self._same_class:
            return F.lit(False)
        return F.coalesce(value == F.lit(expected(self.text)[1]), F.lit(False))


@dataclass(frozen=True, slots=True)
class IsLiteral:
    """``EqualsLiteral`` for values of any schema: a test of ``model.keeps``."""

    text: str

    def __call__(self, schema: Schema | None, value: Any) -> bool:
        return EqualsLiteral(schema, self.text).python(value)
