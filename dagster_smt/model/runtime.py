"""Java's run-time types where a schemaless value needs them: what a stage made, told apart as Connect tells it.

JSON gives ``int`` (Long), ``float`` (Double), ``str``, ``bool``, ``None``, lists and objects. A stage can also make the
narrower numbers below, and ``JavaDate``.
"""

import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from dagster_smt.model.schema import JavaDate, Schema, Type


class JavaByte(int):
    """A ``java.lang.Byte``."""

    __slots__ = ()


class JavaShort(int):
    """A ``java.lang.Short``."""

    __slots__ = ()


class JavaInteger(int):
    """A ``java.lang.Integer``."""

    __slots__ = ()


class JavaFloat(float):
    """A ``java.lang.Float``: rounded to 32 bits."""

    __slots__ = ()


class JavaDouble(float):
    """A ``java.lang.Double`` that JSON cannot write as a number: NaN or an infinity."""

    __slots__ = ()


class KeyDict(dict[Any, Any]):
    """A struct or map that is the key of a map."""

    __slots__ = ()

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))


class KeyList(list[Any]):
    """An array that is the key of a map."""

    __slots__ = ()

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self))


def as_key(value: Any) -> Any:
    """A value as the key of a map: Java's maps take structs, arrays and maps, too."""
    if isinstance(value, dict):
        return KeyDict({as_key(k): as_key(v) for k, v in value.items()})
    if isinstance(value, list):
        return KeyList(map(as_key, value))
    return value


_BOXES: dict[Type, Any] = {
    Type.INT8: JavaByte,
    Type.INT16: JavaShort,
    Type.INT32: JavaInteger,
    Type.FLOAT32: JavaFloat,
}
BOXED = frozenset({*_BOXES, Type.FLOAT64})
"""Types whose values need a class of their own, some of them at least."""
_KINDS: dict[type, str] = {
    int: "int64",
    float: "double",
    str: "string",
    bool: "boolean",
    bytes: "bytes",
    list: "array",
    dict: "map",
    Decimal: "Decimal",
    JavaDate: "Timestamp",
    JavaByte: "int8",
    JavaShort: "int16",
    JavaInteger: "int32",
    JavaFloat: "float",
    JavaDouble: "double",
}
_JAVA_CLASSES = {
    "int64": "java.lang.Long",
    "int32": "java.lang.Integer",
    "int16": "java.lang.Short",
    "int8": "java.lang.Byte",
    "double": "java.lang.Double",
    "float": "java.lang.Float",
    "string": "java.lang.String",
    "boolean": "java.lang.Boolean",
    "bytes": "[B",
    "array": "java.util.ArrayList",
    "map": "java.util.HashMap",
    "Decimal": "java.math.BigDecimal",
    "Timestamp": "java.util.Date",
}


def box(value: Any, type: Type) -> Any:
    """Give a schemaless value the run-time type that Java would give it."""
    return boxer(type)(value)


def boxer(type: Type) -> Callable[[Any], Any]:
    """``box`` for one type."""
    if type is Type.FLOAT64:
        return lambda value: value if value is None or math.isfinite(value) else JavaDouble(value)
    boxed = _BOXES.get(type)
    if boxed is None:
        return lambda value: value
    return lambda value: None if value is None else boxed(value)


def kind_of(value: Any) -> str:
    """The kind of a schemaless value: a Connect type name, ``Decimal``, or ``Timestamp`` for any date."""
    return _KINDS[type(value)]


def kind_of_schema(schema: Schema) -> str:
    """The kind of the values under a schema: its logical type, or its type name."""
    return schema.logical or schema.type.value


def java_class(value: Any) -> str:
    """The Java class that Connect would name for a schemaless value."""
    if value is None:
        return "null"
    return java_class_of(kind_of(value))


def java_class_of(kind: str) -> str:
    """Returns the Java class of schemaless values of a kind."""
    return _JAVA_CLASSES[kind]
