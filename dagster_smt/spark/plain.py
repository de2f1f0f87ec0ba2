"""Converts values between the plain form in Spark columns and the Python values of this package.

In the plain form, a date is a number of days, and a timestamp is a number of milliseconds. Python's ``datetime`` cannot
hold all of Connect's dates, because it ends with the year 9999.
"""

from collections.abc import Callable, Iterable
from typing import Any

from pyspark.sql import types as T
from pyspark.sql.functions import udf

from dagster_smt.model.runtime import as_key
from dagster_smt.model.schema import JavaDate, Schema, Type
from dagster_smt.spark import sql as F
from dagster_smt.spark.sql import Column
from dagster_smt.spark.typed_literals import timestamp_of
from dagster_smt.spark.types import internal_names, internal_type
from dagster_smt.spark.workers import AtRest
from dagster_smt.values.cast import DAY

Convert = Callable[..., Any]
_SAFE = (T.StringType, T.BinaryType, T.BooleanType, T.DecimalType)


def plain_type(schema: Schema) -> T.DataType:
    """Returns the Spark type for values of ``schema`` in the plain form, in which dates and timestamps are numbers."""
    if schema.logical in ("Date", "Timestamp"):
        if schema.logical == "Date":
            return T.IntegerType()
        return T.LongType()
    if schema.logical is None and schema.type is Type.STRUCT:
        pairs = zip(internal_names(schema), schema.fields, strict=True)
        fields = []
        for name, (_, child) in pairs:
            fields.append(T.StructField(name, plain_type(child)))
        return T.StructType(fields)
    if schema.type is Type.ARRAY and schema.values:
        return T.ArrayType(plain_type(schema.values))
    if schema.type is Type.MAP and schema.values and schema.keys:
        return T.MapType(plain_type(schema.keys), plain_type(schema.values))
    return internal_type(schema)


def python_function(run: Convert, arguments: Iterable[T.DataType], returns: T.DataType) -> Callable[..., Column]:
    """Returns a UDF that calls ``run``. The UDF uses Arrow only if Arrow is safe for the types of ``arguments`` and
    ``returns``.

    For some types, Arrow is unsafe: pandas converts a whole number next to a null into a float.
    """
    if isinstance(returns, T.StructType):
        results = [field.dataType for field in returns.fields]
    else:
        results = [returns]
    safe = all(isinstance(kind, _SAFE) for kind in (*arguments, *results))
    # Spark 4.1 merges projections with deterministic UDFs, and copies the expressions of each stage several times into
    # the next one (SPARK-53399, SPARK-54419): the plan of 20 stages would not fit into memory.
    function = udf(AtRest(run), returns, useArrow=safe).asNondeterministic()
    return lambda *columns: F.python(function, *columns)


def to_plain(column: Column, schema: Schema) -> Column:
    """Returns ``column`` with numbers instead of dates and timestamps: days since 1970 for a Date, milliseconds since
    1970 for a Timestamp. ``schema`` is the schema of the values.
    """
    return _each(column, schema, lambda c, kind: F.unix_date(c) if kind == "Date" else F.unix_millis(c))


def from_plain(column: Column, schema: Schema) -> Column:
    """Returns ``column`` with dates and timestamps instead of numbers. A Date is stored as days since 1970, a Timestamp
    as milliseconds since 1970. A timestamp that Spark cannot hold becomes null. ``schema`` is the schema of the values.
    """
    return _each(column, schema, lambda c, kind: F.date_from_unix_date(c) if kind == "Date" else timestamp_of(c))


def _each(column: Column, schema: Schema, convert: Callable[[Column, str], Column]) -> Column:
    if not _has_dates(schema):
        return column
    if schema.logical:
        return convert(column, schema.logical)
    if schema.type is Type.STRUCT:
        pairs = zip(internal_names(schema), schema.fields, strict=True)
        fields = []
        for name, (_, child) in pairs:
            fields.append(_each(column.getField(name), child, convert).alias(name))
        return F.when(column.isNotNull(), F.struct(*fields))
    item, keys = schema.values, schema.keys
    assert item is not None
    if schema.type is Type.ARRAY:
        return F.transform(column, lambda v: _each(v, item, convert))
    assert keys is not None
    column = F.transform_values(column, lambda _, v: _each(v, item, convert))
    return F.transform_keys(column, lambda k, _: _each(k, keys, convert))


def _has_dates(schema: Schema) -> bool:
    if schema.logical:
        return schema.logical in ("Date", "Timestamp")
    return any(map(_has_dates, schema.children))


def reader(schema: Schema | None) -> Convert:
    """Returns a function that converts values from Spark columns into this package's Python values. In the columns,
    dates and timestamps are numbers (the plain form). The function converts null into None.
    """
    convert = _reading(schema) if schema else _same
    return lambda value: None if value is None else convert(value)


def _reading(schema: Schema) -> Convert:
    if schema.logical in ("Date", "Time", "Timestamp"):
        unit = DAY if schema.logical == "Date" else 1
        return lambda value: JavaDate(int(value) * unit)
    if schema.logical is None and schema.type is Type.STRUCT:
        fields = []
        for name, child in schema.fields:
            fields.append((name, reader(child)))
        return lambda row: {name: read(value) for (name, read), value in zip(fields, _parts(row), strict=True)}
    if schema.type is Type.ARRAY:
        item = reader(schema.values)
        return lambda values: [item(v) for v in values]
    if schema.type is Type.MAP:
        key, item = reader(schema.keys), reader(schema.values)
        # pyarrow returns a map as a list of pairs, Spark as a dict
        return lambda values: {as_key(key(k)): item(v) for k, v in dict(values).items()}
    if schema.type is Type.BYTES and schema.logical is None:
        # Spark may pass a bytearray to a UDF
        return bytes
    return _same


def _parts(row: Any) -> Any:
    # pyarrow's ``to_pylist`` returns dicts, and Spark's UDFs receive rows
    if isinstance(row, dict):
        return row.values()
    return row


def writer(schema: Schema) -> Convert:
    """Returns a function that converts this package's Python values of ``schema`` for Spark columns. In the result,
    dates and timestamps are numbers (the plain form).
    """
    convert = _writing(schema)
    return lambda value: None if value is None else convert(value)


def _writing(schema: Schema) -> Convert:
    if schema.logical in ("Date", "Time", "Timestamp"):
        unit = DAY if schema.logical == "Date" else 1
        return lambda value: int(value) // unit
    if schema.logical is None and schema.type is Type.STRUCT:
        fields = []
        for name, child in schema.fields:
            fields.append((name, writer(child)))
        return lambda value: tuple(write(value.get(name)) for name, write in fields)
    if schema.type is Type.ARRAY and schema.values:
        item = writer(schema.values)
        return lambda values: [item(v) for v in values]
    if schema.type is Type.MAP and schema.values and schema.keys:
        key, item = writer(schema.keys), writer(schema.values)
        return lambda values: {key(k): item(v) for k, v in values.items()}
    return _same


def _same(value: Any) -> Any:
    return value
