"""Converts Connect schemas to Spark types, and Spark types to Connect schemas.

| Connect | Spark |
|---|---|
| INT8, INT16, INT32, INT64 | tinyint, smallint, int, bigint |
| FLOAT32, FLOAT64 | float, double |
| BOOLEAN, STRING, BYTES | boolean, string, binary |
| Decimal(scale) | decimal(p, scale), for scales 0 to 38; p is the schema's precision if it has one, else 38 |
| Date | date |
| Time | int: milliseconds of the day (Spark 4.0 has no time type; the column's metadata keeps the logical type) |
| Timestamp | timestamp |
| ARRAY, MAP, STRUCT | array, map, struct |

The attributes that Spark's types lack (name, version, doc, parameters, logical type) are in the column metadata under
``connect``, as schema JSON. Defaults are not in the metadata.
"""

from typing import Any

from pyspark.sql import types as T

from dagster_smt.errors import PlanError, Problem
from dagster_smt.model.paths.extended import below
from dagster_smt.model.schema import MAX_DIGITS, Schema, Type, date, decimal, optional, timestamp
from dagster_smt.model.schema_json import schema_to_json

_SIMPLE: dict[Type, T.DataType] = {
    Type.INT8: T.ByteType(),
    Type.INT16: T.ShortType(),
    Type.INT32: T.IntegerType(),
    Type.INT64: T.LongType(),
    Type.FLOAT32: T.FloatType(),
    Type.FLOAT64: T.DoubleType(),
    Type.BOOLEAN: T.BooleanType(),
    Type.STRING: T.StringType(),
    Type.BYTES: T.BinaryType(),
}
MAX_LEVELS = 60
"""The largest number of nested levels. Columns come from Python through Arrow, which allows 64 levels, and the result
itself needs some of these levels.
"""


def spark_type(schema: Schema, path: str = "") -> T.DataType:
    """Returns the Spark type for values of ``schema``.

    Raises:
        PlanError: SMT207 for a Decimal whose scale Spark cannot hold, for an array or map without an element schema,
            and for more than ``MAX_LEVELS`` nested levels.
    """
    if schema.levels > MAX_LEVELS:
        raise _unmappable(path, schema, f"it nests {schema.levels} levels, and columns have {MAX_LEVELS} at most")
    if schema.logical == "Decimal":
        if not 0 <= schema.scale <= MAX_DIGITS:
            raise _unmappable(path, schema, "Spark's decimals have scales from 0 to 38")
        return T.DecimalType(schema.precision or MAX_DIGITS, schema.scale)
    if schema.logical in ("Date", "Timestamp"):
        if schema.logical == "Date":
            return T.DateType()
        return T.TimestampType()
    if schema.type is Type.STRUCT:
        return T.StructType([struct_field(name, child, path) for name, child in schema.fields])
    if schema.type in _SIMPLE:
        return _SIMPLE[schema.type]
    if schema.values is None or (schema.type is Type.MAP and schema.keys is None):
        raise _unmappable(path, schema, "the schema does not declare its elements")
    values = spark_type(schema.values, f"{path}[]")
    if schema.type is Type.ARRAY:
        return T.ArrayType(values, True)
    assert schema.keys is not None
    return T.MapType(spark_type(schema.keys, path), values, True)


def internal_type(schema: Schema) -> T.DataType:
    """Returns the Spark type that values of ``schema`` have between two stages of a chain.

    It differs from ``spark_type`` in two ways. Fields have numbered names if Spark would confuse the original names,
    such as ``a`` and ``A``. And decimals have 38 digits, because a stage may compute a value with more digits than its
    column has.
    """
    if schema.logical is None and schema.type is Type.STRUCT:
        names = internal_names(schema)
        fields = zip(names, (child for _, child in schema.fields), strict=True)
        types = []
        for name, child in fields:
            types.append(T.StructField(name, internal_type(child)))
        return T.StructType(types)
    if schema.type is Type.ARRAY and schema.values:
        return T.ArrayType(internal_type(schema.values))
    if schema.type is Type.MAP and schema.values and schema.keys:
        return T.MapType(internal_type(schema.keys), internal_type(schema.values))
    kind = spark_type(schema)
    if isinstance(kind, T.DecimalType):
        return T.DecimalType(MAX_DIGITS, kind.scale)
    return kind


def types_by_name(struct: T.StructType) -> dict[str, T.DataType]:
    """Maps each field of ``struct`` to its type."""
    return {field.name: field.dataType for field in struct.fields}


def nullable(data_type: T.DataType) -> T.DataType:
    """Returns ``data_type`` with nulls allowed at every level."""
    if isinstance(data_type, T.StructType):
        fields = data_type.fields
        return T.StructType([T.StructField(f.name, nullable(f.dataType), True, f.metadata) for f in fields])
    if isinstance(data_type, T.ArrayType):
        return T.ArrayType(nullable(data_type.elementType))
    if isinstance(data_type, T.MapType):
        return T.MapType(nullable(data_type.keyType), nullable(data_type.valueType))
    return data_type


def internal_names(schema: Schema) -> tuple[str, ...]:
    """Returns the names that Spark uses for the fields of ``schema``. These are the user's names. If Spark would
    confuse two of them, such as ``a`` and ``A``, all fields get numbered names.
    """
    return schema.internal_names


def _unmappable(path: str, schema: Schema, why: str) -> PlanError:
    hint = "cast the field to string, or write records instead of columns"
    return PlanError(Problem("SMT207", path or "value", f"{schema.label} has no Spark type: {why}", hint))


def struct_field(name: str, schema: Schema, path: str = "") -> T.StructField:
    """Returns the Spark field ``name``, with ``schema`` in its metadata.

    The Spark field is always nullable, even if ``schema`` is required. The metadata shows whether ``schema`` is
    required.
    """
    metadata: dict[str, Any] = {}
    described = schema.name or schema.version or schema.doc or schema.parameters or schema.default is not None
    if described or not schema.optional:
        # the fields of a struct are columns of Spark with metadata of their own
        plain = schema.with_(fields=(), values=None, keys=None, default=None)
        metadata["connect"] = schema_to_json(plain)
    if schema.doc:
        metadata["comment"] = schema.doc
    return T.StructField(name, spark_type(schema, below(path, name)), True, metadata)


def connect_schema(data_type: T.DataType, *, nullable: bool = True) -> Schema:
    """Returns the Connect schema for ``data_type``, the Spark type of a table's column."""
    schema = _connect(data_type)
    if nullable:
        return optional(schema)
    return schema


def _connect(data_type: T.DataType) -> Schema:
    if isinstance(data_type, T.DecimalType):
        # a schema without a precision has 38 digits
        return decimal(data_type.scale, data_type.precision if data_type.precision < MAX_DIGITS else None)
    if isinstance(data_type, T.DateType):
        return date()
    if isinstance(data_type, T.TimestampType):
        return timestamp()
    if isinstance(data_type, T.StructType):
        fields = tuple((f.name, connect_schema(f.dataType, nullable=f.nullable)) for f in data_type.fields)
        return Schema(Type.STRUCT, fields=fields)
    if isinstance(data_type, T.ArrayType):
        return Schema(Type.ARRAY, values=connect_schema(data_type.elementType, nullable=data_type.containsNull))
    if isinstance(data_type, T.MapType):
        values = connect_schema(data_type.valueType, nullable=data_type.valueContainsNull)
        return Schema(Type.MAP, keys=_connect(data_type.keyType), values=values)
    for type_, spark in _SIMPLE.items():
        if type(spark) is type(data_type):
            return Schema(type_)
    hint = "cast the column to a type of Connect first"
    raise PlanError(Problem("SMT208", "", f"the Spark type {data_type.simpleString()} has no Connect type", hint))
