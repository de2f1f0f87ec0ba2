"""Defines Java's run-time types for values without a schema. With these types, stages and converters distinguish values
as Connect does.

JSON contains ``int`` (Long), ``float`` (Double), ``str``, ``bool``, ``None``, lists and objects. A stage can also
produce the number types of this module, such as ``JavaByte``, and ``JavaDate``.
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
    """A ``java.lang.Float``, rounded to 32 bits."""

    __slots__ = ()


class JavaDouble(float):
    """A ``java.lang.Double`` that JSON cannot write as a number: NaN or an infinity."""

    __slots__ = ()


class KeyDict(dict[Any, Any]):
    """A struct or map that serves as the key of a map."""

    __slots__ = ()

    def __hash__(self) -> int:  # type: ignore[override]
        # equal dicts must have equal hashes, and dicts are equal in any order of their entries
        return hash(frozenset(self.items()))


class KeyList(list[Any]):
    """An array that serves as the key of a map."""

    __slots__ = ()

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self))


class OwnStruct(dict[str, Any]):
    """A struct that a class from a jar has set as a header's value. Its own schema differs from the header's schema.

    For example, Debezium's ``ExtractNewRecordState`` creates a header with fields in its value, but without fields in
    its schema. Connect's ``SimpleHeaderConverter`` writes the value according to the value's own schema.

    Attributes:
        schema: The struct's own schema.
    """

    __slots__ = ("schema",)

    def __init__(self, schema: Schema, value: dict[str, Any]):
        super().__init__(value)
        self.schema = schema


def as_key(value: Any) -> Any:
    """Returns ``value`` in a form that can be the key of a Python dictionary. A ``dict`` becomes a ``KeyDict``, and a
    ``list`` becomes a ``KeyList``. Java accepts a struct, an array or a map as the key of a map, but Python does not.
    """
    if isinstance(value, dict):
        entries = {}
        for k, v in value.items():
            entries[as_key(k)] = as_key(v)
        return KeyDict(entries)
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
"""The Connect types whose values ``box`` may convert to a class of this module. For example, INT8 values become
``JavaByte``.
"""
_KINDS: dict[type, str] = {
    int: "int64",
    float: "double",
    str: "string",
    bool: "boolean",
    bytes: "bytes",
    list: "array",
    KeyList: "array",
    dict: "map",
    KeyDict: "map",
    OwnStruct: "map",
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
    """Converts ``value``, which has no schema, into the Java class of ``type``. For example, with INT8 an ``int``
    becomes a ``JavaByte``.
    """
    return boxer(type)(value)


def boxer(type: Type) -> Callable[[Any], Any]:
    """Returns a function that calls ``box`` with the type ``type``."""
    if type is Type.FLOAT64:
        return lambda value: value if value is None or math.isfinite(value) else JavaDouble(value)
    boxed = _BOXES.get(type)
    if boxed is None:
        return lambda value: value
    return lambda value: None if value is None else boxed(value)


def kind_of(value: Any) -> str:
    """Returns the kind of ``value``, which has no schema. The kind is the name of a Connect type, such as ``string`` or
    ``int64``. It is ``Decimal`` for a decimal, and ``Timestamp`` for every ``JavaDate``.
    """
    # the exact type, not isinstance: a bool and a JavaByte are also an int
    return _KINDS[type(value)]


def kind_of_schema(schema: Schema) -> str:
    """Returns the kind of the values that ``schema`` describes. This is the name of the logical type, such as ``Date``.
    Without a logical type, it is the name of the Connect type, such as ``int32``.
    """
    return schema.logical or schema.type.value


def java_class(value: Any) -> str:
    """Returns the name of the Java class of ``value``, which has no schema, as Connect's messages spell it."""
    if value is None:
        return "null"
    return java_class_of(kind_of(value))


def java_class_of(kind: str) -> str:
    """Returns the Java class of a value without a schema in Connect, such as ``java.lang.Long`` for the kind
    ``int64``.
    """
    return _JAVA_CLASSES[kind]
