"""What MaskField puts in the place of a value (``MaskField.masked`` and ``maskWithCustomReplacement``)."""

import re
from decimal import Decimal, InvalidOperation
from typing import Any

from dagster_smt.errors import DataError, data_error
from dagster_smt.model.runtime import JavaByte, JavaFloat, JavaInteger, JavaShort
from dagster_smt.model.schema import JavaDate
from dagster_smt.values.numbers import big_decimal, low_integer, nearest_float32, wrap

_ZEROS: dict[str, Any] = {
    "boolean": False,
    "int8": JavaByte(0),
    "int16": JavaShort(0),
    "int32": JavaInteger(0),
    "int64": 0,
    "float": JavaFloat(0.0),
    "double": 0.0,
    "string": "",
    "Decimal": Decimal(0),
    "Date": JavaDate(0),
    "Time": JavaDate(0),
    "Timestamp": JavaDate(0),
}
_INTEGERS = {"int8": (JavaByte, 8), "int16": (JavaShort, 16), "int32": (JavaInteger, 32), "int64": (int, 64)}
_BIG_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def mask_value(kind: str, replacement: str | None) -> Any:
    """The masked form of any non-null value of a kind.

    Args:
        kind: As ``model.runtime.kind_of`` gives it.
        replacement: The configured replacement, or None for the kind's zero.

    Raises:
        DataError: SMT403, the kind cannot be masked, or not with this replacement.
    """
    if replacement is not None:
        return _replacement(kind, replacement)
    if kind == "array":
        return []
    if kind == "map":
        return {}
    if kind not in _ZEROS:
        raise _cannot(f"a value of type {kind} cannot be masked")
    return _ZEROS[kind]


def _replacement(kind: str, text: str) -> Any:
    if kind == "string":
        return text
    if kind not in _INTEGERS and kind not in ("float", "double", "Decimal"):
        raise _cannot(f"a value of type {kind} cannot be masked with a replacement")
    number = _number(text)
    if number is None:
        raise _cannot(f"the replacement is not a number, and the value is of type {kind}")
    if kind in _INTEGERS:
        box, bits = _INTEGERS[kind]
        return box(wrap(low_integer(number), bits))
    if kind == "Decimal":
        return number
    return JavaFloat(nearest_float32(number)) if kind == "float" else float(number)


def _number(text: str) -> Decimal | None:
    """``new BigDecimal(text)``; None if it is no number, or its exponent has too many digits."""
    try:
        return big_decimal(Decimal(text)) if _BIG_DECIMAL.fullmatch(text) else None
    except InvalidOperation:
        return None


def _cannot(statement: str) -> DataError:
    return data_error("SMT403", statement, "mask its fields one by one, or drop the field with ReplaceField exclude")
