"""JSON with a declared schema on Spark: ``from_json``, made as strict as the Python evaluator's reader.

The text is parsed inside ``{"m":{"v":[...],"$":[]}}`` with ``m`` as a map: text after the value then breaks the whole
or changes the number of entries, and Spark's column for corrupt records tells any field that does not fit. Spark's own
leniencies (quotes, NaN, bytes of other encodings) are switched off or checked.

What ``from_json`` cannot read (decimals in Base64, maps with keys that are no strings) it hands on as a variant, for
the Python evaluator's reader in a UDF.
"""

from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as T

from dagster_smt.errors import DataError
from dagster_smt.interpret.codec import reader
from dagster_smt.interpret.sides import parse_json
from dagster_smt.model.format import Format
from dagster_smt.model.schema import FLOATS, Schema, Type
from dagster_smt.spark.json_strings import strings_only, suspicious
from dagster_smt.spark.literals import fits_decimal, literal, timestamp_of
from dagster_smt.spark.plain import from_plain, plain_type, python_function, writer
from dagster_smt.spark.types import internal_names, internal_type, spark_type
from dagster_smt.values.cast import DAY

CORRUPT = "__corrupt"
_OPTIONS = {"columnNameOfCorruptRecord": CORRUPT, "allowNonNumericNumbers": "false", "allowSingleQuotes": "false"}
_PAIRS = r"\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F]"
"""An escaped backslash, or the escapes of a surrogate pair."""
_SURROGATE = r"\\u[dD][89a-fA-F]"


def parsed(text: Column, inner: T.DataType) -> Column:
    """The parse of a text column: ``struct<m: map<string, array<...>>, __corrupt: string>``."""
    entries = T.MapType(T.StringType(), T.ArrayType(inner))
    fields = [T.StructField("m", entries), T.StructField(CORRUPT, T.StringType())]
    wrapped = F.concat(F.lit('{"m":{"v":['), text, F.lit('],"$":[]}}'))
    return F.from_json(wrapped, T.StructType(fields), _OPTIONS)


def items(json: Column) -> Column:
    """The array around the value in what ``parsed`` gave."""
    return json.getField("m").getItem("v")


def broken(json: Column) -> Column:
    """Where the text is not exactly one JSON value of the type."""
    whole = (F.size(json.getField("m")) == 2) & (F.size(items(json)) == 1)
    return json.getField(CORRUPT).isNotNull() | ~F.coalesce(whole, F.lit(False))


def not_unicode(text: Column) -> Column:
    """Where the bytes are no UTF-8, or an escape is half a surrogate pair."""
    escapes = F.contains(text, F.lit("\\u"))
    half = F.regexp_replace(text, _PAIRS, "").rlike(_SURROGATE)
    return ~F.is_valid_utf8(text) | (escapes & half)


def no_strings(text: Column, one: Column, schema: Schema) -> Column | None:
    """Where a declared string is another token in the JSON; None if there are no declared strings."""
    inner = strings_only(schema, by_codec)
    check = suspicious(one, schema, text, by_codec, json_field)
    if inner is None or check is None:
        return None
    return F.coalesce(check, F.lit(False)) & parsed(text, inner).getField(CORRUPT).isNotNull()


def by_codec(schema: Schema) -> bool:
    """Whether a value goes through the Python evaluator's reader. Lambdas take no UDF, so containers go as a whole."""
    if schema.logical or schema.type is Type.STRUCT:
        return schema.logical == "Decimal"
    texts = schema.keys is None or (schema.keys.type is Type.STRING and not schema.keys.optional)
    return not texts or (schema.values is not None and _has_codec(schema.values))


def _has_codec(schema: Schema) -> bool:
    return by_codec(schema) or any(_has_codec(child) for _, child in schema.fields)


def json_type(schema: Schema) -> T.DataType:
    """The Spark type that ``from_json`` reads a schema's JSON as; names as the JSON has them."""
    if by_codec(schema):
        return T.VariantType()
    if schema.logical in ("Date", "Time"):
        return T.IntegerType()
    if schema.logical == "Timestamp":
        return T.LongType()
    if schema.type is Type.INT8:
        return T.ShortType()  # Spark takes 128 to 255 for bytes
    if schema.type is Type.STRUCT:
        return T.StructType([T.StructField(name, json_type(child)) for name, child in schema.fields])
    if schema.type is Type.ARRAY and schema.values:
        return T.ArrayType(json_type(schema.values))
    if schema.type is Type.MAP and schema.values:
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
    if schema.logical not in (None, "Time") or schema.type in (*FLOATS, Type.INT8) or by_codec(schema):
        return True
    if fill and schema.default is not None:
        return True
    children = [c for _, c in schema.fields] + [c for c in (schema.values, schema.keys) if c is not None]
    return any(needs_decoding(c, fill) for c in children)


def _decoded(column: Column, schema: Schema, fill: bool) -> Column:
    if by_codec(schema):
        return _read_by_codec(column, schema, fill)
    if schema.logical == "Date":
        return F.date_from_unix_date(column)
    if schema.logical == "Timestamp":
        return timestamp_of(column)
    if schema.type is Type.INT8:
        return column.try_cast("tinyint")
    if schema.type in FLOATS:
        return column + F.lit(0.0).cast(spark_type(schema))  # Connect reads numbers as BigDecimal, without -0.0
    if schema.type is Type.STRUCT:
        names = internal_names(schema)
        children = []
        for internal, (name, child) in zip(names, schema.fields, strict=True):
            children.append(decoded(json_field(column, schema, name), child, fill).alias(internal))
        return F.when(column.isNotNull(), F.struct(*children))
    if schema.type is Type.ARRAY and schema.values is not None:
        item = schema.values
        return F.transform(column, lambda v: decoded(v, item, fill))
    if schema.type is Type.MAP and schema.values is not None:
        value = schema.values
        return F.transform_values(column, lambda _, v: decoded(v, value, fill))
    return column


def json_field(column: Column, schema: Schema, name: str) -> Column:
    if internal_names(schema) == tuple(n for n, _ in schema.fields):
        return column.getField(name)
    numbered = [T.StructField(i, json_type(c)) for i, (_, c) in zip(internal_names(schema), schema.fields, strict=True)]
    return field_of(column.cast(T.StructType(numbered)), schema, name)


def _codec_text(variant: Column) -> Column:
    """The JSON of what the Python evaluator's reader takes over; null for null."""
    return F.nullif(F.to_json(variant), F.lit("null"))


def _read_by_codec(variant: Column, schema: Schema, fill: bool) -> Column:
    convert = reader(schema.with_(default=None), Format("json_schema", schema, fill))
    output = writer(schema)

    def read(text: str | None) -> Any:
        if text is None or text == '"Infinity"':  # how a variant spells 1e400; would pass for Base64
            return None
        try:
            value = convert(parse_json(text.encode(), exact=True))
        except DataError:
            return None
        fits = schema.logical != "Decimal" or fits_decimal(value, schema.scale)
        return output(value) if fits else None

    function = python_function(read, [T.StringType()], plain_type(schema))
    return from_plain(function(_codec_text(variant)), schema)


def misfits(json: Column, value: Column, schema: Schema, fill: bool) -> Column | None:
    """Where a parsed value breaks its schema in a way that ``from_json`` accepts: null if required, out of range."""
    checks: list[Column] = []
    if fill and schema.default is not None and schema.type is not Type.STRUCT:
        value = _decoded(json, schema, fill)  # the default hides that there was something else
    json = _codec_text(json) if by_codec(schema) else json
    if schema.logical == "Time":
        checks.append(~json.between(0, DAY))
    if schema.logical == "Timestamp" or schema.type is Type.INT8 or by_codec(schema):
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
            below = misfits(json_field(json, schema, name), field_of(value, schema, name), child, fill)
            if below is not None:
                found.append(json.isNotNull() & below)
        return found
    if by_codec(schema):
        return []
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
