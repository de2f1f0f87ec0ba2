"""JSON with a declared schema on Spark: ``from_json``, made as strict as the Python evaluator's reader.

The text is parsed inside ``{"v":[...]}``: text after the value then breaks the whole, and Spark's column for corrupt
records tells any field that does not fit. Spark's own leniencies (quotes, NaN) are switched off.
"""

from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as T

from dagster_smt.model.schema import FLOATS, Schema, Type
from dagster_smt.spark.literals import literal
from dagster_smt.spark.types import internal_names, internal_type, spark_type
from dagster_smt.values.cast import DAY

CORRUPT = "__corrupt"
_OPTIONS = {"columnNameOfCorruptRecord": CORRUPT, "allowNonNumericNumbers": "false", "allowSingleQuotes": "false"}
_MAX_MILLIS = (2**63 - 1) // 1000


def parsed(text: Column, schema: Schema) -> Column:
    """The parse of a text column: ``struct<v: array<...>, __corrupt: string>``."""
    fields = [T.StructField("v", T.ArrayType(json_type(schema))), T.StructField(CORRUPT, T.StringType())]
    wrapped = F.concat(F.lit('{"v":['), text, F.lit("]}"))
    return F.from_json(wrapped, T.StructType(fields), _OPTIONS)


def json_type(schema: Schema) -> T.DataType:
    """The Spark type that ``from_json`` reads a schema's JSON as; names as the JSON has them."""
    if schema.logical in ("Date", "Time"):
        return T.IntegerType()
    if schema.logical == "Timestamp":
        return T.LongType()
    if schema.logical == "Decimal":
        return T.StringType()
    if schema.type is Type.STRUCT:
        return T.StructType([T.StructField(name, json_type(child)) for name, child in schema.fields])
    if schema.type is Type.ARRAY and schema.values:
        return T.ArrayType(json_type(schema.values))
    if schema.type is Type.MAP and schema.values and schema.keys:
        return T.MapType(T.StringType(), json_type(schema.values))
    return spark_type(schema)


def field_of(column: Column, schema: Schema, name: str) -> Column:
    """A field of an opaque struct column."""
    names = internal_names(schema)
    return column.getField(names[[n for n, _ in schema.fields].index(name)])


def decoded(column: Column, schema: Schema, fill: bool) -> Column:
    """From the parsed JSON form to the internal form: dates, timestamps, decimals, defaults."""
    value = _decoded(column, schema, fill) if needs_decoding(schema, fill) else column.cast(internal_type(schema))
    if not needs_decoding(schema, fill) and json_type(schema) == internal_type(schema):
        value = column
    if fill and schema.default is not None and schema.type is not Type.STRUCT:
        return F.coalesce(value, literal(schema.default, schema))
    return value


def needs_decoding(schema: Schema, fill: bool) -> bool:
    """Whether a schema's parsed JSON differs from its internal form in more than field names."""
    if schema.logical not in (None, "Time") or schema.type in FLOATS or (fill and schema.default is not None):
        return True
    children = [c for _, c in schema.fields] + [c for c in (schema.values, schema.keys) if c is not None]
    return any(needs_decoding(c, fill) for c in children)


def _decoded(column: Column, schema: Schema, fill: bool) -> Column:
    if schema.logical == "Date":
        return F.date_from_unix_date(column)
    if schema.logical == "Timestamp":
        return F.timestamp_millis(F.when(column.between(-_MAX_MILLIS, _MAX_MILLIS), column))
    if schema.logical == "Decimal":
        return _decimals(schema.scale)(column)
    if schema.type in FLOATS:
        return column + F.lit(0.0).cast(spark_type(schema))  # Connect reads numbers as BigDecimal, without -0.0
    if schema.type is Type.STRUCT:
        names = internal_names(schema)
        children = []
        for internal, (name, child) in zip(names, schema.fields, strict=True):
            children.append(decoded(_json_field(column, schema, name), child, fill).alias(internal))
        return F.when(column.isNotNull(), F.struct(*children))
    if schema.type is Type.ARRAY and schema.values is not None:
        item = schema.values
        return F.transform(column, lambda v: decoded(v, item, fill))
    if schema.type is Type.MAP and schema.values is not None:
        value = schema.values
        return F.transform_values(column, lambda _, v: decoded(v, value, fill))
    return column


def _json_field(column: Column, schema: Schema, name: str) -> Column:
    if internal_names(schema) == tuple(n for n, _ in schema.fields):
        return column.getField(name)
    numbered = [T.StructField(i, json_type(c)) for i, (_, c) in zip(internal_names(schema), schema.fields, strict=True)]
    return field_of(column.cast(T.StructType(numbered)), schema, name)


def _decimals(scale: int) -> Any:
    """Base64 of a big-endian unscaled number to decimal; beyond 38 digits null, which ``misfits`` reports."""

    def read(text: str | None) -> Any:
        import base64
        from decimal import Context, Decimal

        if text is None:
            return None
        try:
            unscaled = int.from_bytes(base64.b64decode(text, validate=True), "big", signed=True)
        except ValueError:
            return None
        return Decimal(unscaled).scaleb(-scale, Context(prec=100)) if abs(unscaled) < 10**38 else None

    return F.udf(read, T.DecimalType(38, scale), useArrow=True)


def misfits(json: Column, value: Column, schema: Schema, fill: bool) -> Column | None:
    """Where a parsed value breaks its schema in a way that ``from_json`` accepts: null if required, out of range."""
    checks: list[Column] = []
    if schema.logical == "Time":
        checks.append(~json.between(0, DAY))
    if schema.logical in ("Timestamp", "Decimal"):
        checks.append(json.isNotNull() & value.isNull())
    if schema.type in FLOATS and schema.logical is None:
        checks.append(F.abs(json) == F.lit(float("inf")))
    checks += _below(json, value, schema, fill)
    if not schema.optional and not (fill and schema.default is not None):
        checks.append(json.isNull())
    checks = [F.coalesce(c, F.lit(False)) for c in checks]
    found = checks[0] if checks else None
    for check in checks[1:]:
        found = check if found is None else found | check
    return found


def _below(json: Column, value: Column, schema: Schema, fill: bool) -> list[Column]:
    if schema.logical is None and schema.type is Type.STRUCT:
        found = []
        for name, child in schema.fields:
            below = misfits(_json_field(json, schema, name), field_of(value, schema, name), child, fill)
            if below is not None:
                found.append(json.isNotNull() & below)
        return found
    if schema.type is Type.ARRAY and schema.values is not None:
        item = schema.values
        if misfits(F.lit(None), F.lit(None), item, fill) is None:
            return []
        pairs = F.arrays_zip(json.alias("j"), value.alias("v"))
        return [F.exists(pairs, lambda p: _some(misfits(p.getField("j"), p.getField("v"), item, fill)))]
    if schema.type is Type.MAP and schema.values is not None:
        child = schema.values
        if misfits(F.lit(None), F.lit(None), child, fill) is None:
            return []
        pairs = F.arrays_zip(F.map_values(json).alias("j"), F.map_values(value).alias("v"))
        return [F.exists(pairs, lambda p: _some(misfits(p.getField("j"), p.getField("v"), child, fill)))]
    return []


def _some(check: Column | None) -> Column:
    return F.lit(False) if check is None else check
