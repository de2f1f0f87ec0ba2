"""Computes the values of masked fields (``MaskField.masked`` and ``maskWithCustomReplacement``)."""

from decimal import Decimal
from typing import Any

from dagster_smt.errors import DataError, data_error
from dagster_smt.model.runtime import JavaByte, JavaFloat, JavaInteger, JavaShort, box
from dagster_smt.model.schema import JavaDate, Type
from dagster_smt.values.numbers import low_integer, nearest_float32, parse_big_decimal, wrap

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


def mask_value(kind: str, replacement: str | None) -> Any:
    """Returns the value with which a mask replaces every value of the kind ``kind``, except null.

    Args:
        kind: The type or logical type of the values, such as ``int32``, ``string`` or ``Date``.
        replacement: The configured replacement. None for the kind's zero: 0, an empty string, an empty array and so on.

    Raises:
        DataError: SMT403 if the kind cannot be masked, or cannot be masked with this replacement.
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
    number = parse_big_decimal(text)
    if number is None:
        raise _cannot(f"the replacement is not a number, but the value is of type {kind}")
    if kind in _INTEGERS:
        integer, bits = _INTEGERS[kind]
        # as Java narrows a BigDecimal: 12.9 becomes 12, and for INT8, 300 becomes 44
        return integer(wrap(low_integer(number), bits))
    if kind == "Decimal":
        return number
    if kind == "float":
        return JavaFloat(nearest_float32(number))
    return box(float(number), Type.FLOAT64)


def _cannot(statement: str) -> DataError:
    return data_error("SMT403", statement, "mask its fields one by one, or drop the field with ReplaceField exclude")
