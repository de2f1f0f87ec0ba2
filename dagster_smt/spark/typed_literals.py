"""Builds Spark literals with the types of Connect schemas."""

from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from typing import Any

from pyspark.sql import types as T

from dagster_smt.errors import Problem, UnsupportedError
from dagster_smt.model.schema import MAX_DIGITS, Schema, Type
from dagster_smt.spark import sql as F
from dagster_smt.spark.sql import Column
from dagster_smt.spark.types import internal_names, internal_type, spark_type
from dagster_smt.values.cast import DAY

MAX_MILLIS = (2**63 - 1) // 1000
"""The latest timestamp in milliseconds that Spark can hold, because Spark counts microseconds in 64 bits. Its negative
is the earliest timestamp.
"""


def timestamp_of(millis: Column) -> Column:
    """Returns the timestamp for ``millis``, a bigint column. The result is null for a time outside Spark's range."""
    return F.timestamp_millis(F.when(millis.between(-MAX_MILLIS, MAX_MILLIS), millis))


def fits_decimal(value: Decimal, scale: int, precision: int = MAX_DIGITS) -> bool:
    """Returns True if Spark's ``decimal(precision, scale)`` can hold ``value`` exactly."""
    if not value:
        return True
    # Python's default context would round to 28 digits, and refuse exponents beyond 999999
    scaled = value.scaleb(scale, Context(prec=len(value.as_tuple().digits), Emax=MAX_EMAX, Emin=MIN_EMIN))
    return scaled.adjusted() < precision and scaled == scaled.to_integral_value()


def _fitting(value: Decimal, schema: Schema) -> Decimal:
    if fits_decimal(value, schema.scale, schema.precision or MAX_DIGITS):
        return value
    statement = f"a value for {schema.label} needs more digits than {spark_type(schema).simpleString()} has"
    raise UnsupportedError(Problem("SMT903", "value", statement, "cast the field to string, or write records"))


def literal(value: Any, schema: Schema) -> Column:
    """Returns a literal for ``value`` as a column. The column has the Spark type that values of ``schema`` have between
    two stages (``internal_type``).
    """
    if value is None:
        return F.lit(None).cast(internal_type(schema))
    if schema.logical == "Date":
        return F.date_from_unix_date(F.lit(value // DAY))
    if schema.logical == "Timestamp":
        return timestamp_of(F.lit(int(value)).cast("bigint"))
    if schema.logical == "Time":
        return F.lit(int(value)).cast(T.IntegerType())
    if schema.logical == "Decimal":
        return F.lit(_fitting(value, schema)).cast(internal_type(schema))
    if schema.type is Type.STRUCT:
        names = internal_names(schema)
        pairs = zip(names, schema.fields, strict=True)
        members = []
        for internal, (name, child) in pairs:
            members.append(literal(value.get(name), child).alias(internal))
        return F.struct(*members)
    if schema.type is Type.ARRAY and schema.values is not None:
        item = schema.values
        return F.array(*(literal(v, item) for v in value)).cast(internal_type(schema))
    if schema.type is Type.MAP and schema.values is not None and schema.keys is not None:
        parts: list[Column] = []
        for k, v in value.items():
            parts.extend((literal(k, schema.keys), literal(v, schema.values)))
        # the cast gives an empty map its type, and a null inside it as well
        return F.create_map(*parts).cast(internal_type(schema))
    if isinstance(value, bytes):
        return F.lit(bytearray(value))
    if schema.type in (Type.FLOAT32, Type.FLOAT64):
        plain = float(value)
    else:
        plain = value
    return F.lit(int(plain) if isinstance(plain, int) and not isinstance(plain, bool) else plain).cast(
        internal_type(schema)
    )
