"""Recognizes columns that a Debezium event does not contain, because an update did not change their large values.

Postgres does not log such a value (TOAST). Debezium then writes a placeholder, the string of its option
``unavailable.value.placeholder``. The form of the placeholder depends on the type of the column:

- a string or bytes: the placeholder, or its base64, because JSON writes bytes as base64;
- an array of strings or bytes: the placeholder, its base64 or a UUID derived from it, as the only element;
- an array of numbers: one number for each byte of the placeholder;
- a map: the placeholder as the only key.

See ``RelationalChangeRecordEmitter`` and ``PostgresValueConverter`` in Debezium, and debezium#7815 for arrays.
"""

import base64
import hashlib
import uuid

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, BinaryType, DataType, IntegralType, MapType, StringType, StructType


def unchanged_columns(rows: StructType, placeholder: str) -> Column:
    """Returns an array column. It lists the names of the columns that contain Debezium's placeholder for an unchanged
    value.

    Args:
        rows: The type of ``__out``, the column with the output row.
        placeholder: The placeholder. If it is an empty string, no column contains a placeholder.
    """
    names = []
    for field in rows.fields:
        is_placeholder = _is_placeholder(F.col("__out").getField(field.name), field.dataType, placeholder)
        if is_placeholder is not None and placeholder:
            names.append(F.when(is_placeholder, F.lit(field.name)))
    if not names:
        return F.array().cast("array<string>")
    return F.array_compact(F.array(*names))


def can_be_unchanged(kind: DataType) -> bool:
    """Returns True if a column of the type ``kind`` can contain Debezium's placeholder for an unchanged value."""
    return _is_placeholder(F.lit(None), kind, "x") is not None


def _is_placeholder(column: Column, kind: DataType, placeholder: str) -> Column | None:
    """Returns a condition that is true if ``column`` contains ``placeholder``, Debezium's string for an unchanged
    value.

    Returns None if a column of the type ``kind`` cannot contain the placeholder.
    """
    data = placeholder.encode()
    if isinstance(kind, StringType):
        return column.isin(placeholder, base64.b64encode(data).decode())
    if isinstance(kind, BinaryType):
        return column == F.lit(data)
    if isinstance(kind, MapType) and isinstance(kind.keyType, StringType) and isinstance(kind.valueType, StringType):
        return F.map_keys(column) == F.array(F.lit(placeholder))
    if not isinstance(kind, ArrayType):
        return None
    if isinstance(kind.elementType, StringType):
        texts = (placeholder, base64.b64encode(data).decode(), _uuid_of(data))
        return (F.size(column) == 1) & F.element_at(column, 1).isin(*texts)
    if isinstance(kind.elementType, BinaryType):
        return (F.size(column) == 1) & (F.element_at(column, 1) == F.lit(data))
    if isinstance(kind.elementType, IntegralType):
        return column == F.array(*map(F.lit, data)).cast(kind)
    return None


def _uuid_of(data: bytes) -> str:
    """Returns the UUID that Java's ``UUID.nameUUIDFromBytes`` derives from ``data``, the bytes of Debezium's
    placeholder.

    In an array of UUIDs, Debezium writes this UUID instead of the placeholder.
    """
    return str(uuid.UUID(bytes=hashlib.md5(data, usedforsecurity=False).digest(), version=3))
