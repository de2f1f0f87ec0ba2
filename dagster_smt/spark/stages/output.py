"""Builds the rows of a table from the columns after the last stage. Fields get the user's names again.

If a stage has changed the schema of only some records, the changed and the unchanged records have separate columns.
They are combined here by field name.
"""

from collections.abc import Iterable
from typing import cast

from pyspark.sql import DataFrame
from pyspark.sql import types as T
from pyspark.sql.functions import col

from dagster_smt.chain.plan import Plan
from dagster_smt.errors import PlanError, Problem
from dagster_smt.jvm.availability import CATALOG, has_lane
from dagster_smt.model.caseless import caseless
from dagster_smt.model.schema import Schema, Type
from dagster_smt.spark import sql as F
from dagster_smt.spark.flat_columns import Layout, Leaf, Struct, built, field_of
from dagster_smt.spark.outcome_columns import KEY, RECORD_DDL, TARGET
from dagster_smt.spark.sql import Column, select
from dagster_smt.spark.stages.typed import State
from dagster_smt.spark.types import internal_type, spark_type, struct_field
from dagster_smt.spark.versions import struct_of_ddl

WHOLE = "value"
"""The name of the column for a value that is not a struct."""
NO_COLUMNS = Problem(
    "SMT418",
    "value.converter",
    "a record without a value has no columns",
    "drop tombstones with Filter and the predicate RecordIsTombstone, or write records",
)
"""The problem of a record whose value is null, if the table has one column for each field of the value."""


def output_schema(plan: Plan, sink_kind: str) -> T.StructType:
    """Returns the Spark type of the column ``__out``: a row of the table, or a record of a topic.

    Args:
        plan: The plan.
        sink_kind: ``records`` for Kafka's columns; ``columns`` for one column per field.

    Raises:
        PlanError: The sink holds columns, and one of these is true. SMT209: the values have no schema. SMT210: two
            column names differ only in upper and lower case. SMT213: the chain drops or rejects every value.
    """
    if sink_kind == "records":
        if plan.chain.writes_partition:
            chosen = f", {F.quoted(TARGET)}: int"
        else:
            chosen = ""
        return cast(T.StructType, struct_of_ddl(RECORD_DDL + chosen))
    schema = plan.rows
    if schema is None and plan.typed:
        hint = "look for a stage that drops or refuses every record, or write records instead of columns"
        raise PlanError(Problem("SMT213", "", "no record with a value passes the chain", hint))
    if schema is None:
        hint = "declare a schema for the value, or write records"
        raise PlanError(Problem("SMT209", "", "a table of columns needs values with a schema", hint))
    return columns_of(schema)


def key_type(plan: Plan) -> T.StructType:
    """Returns the Spark type of the column ``__key``. It is a struct with the fields of the output key. If the key is
    not a struct, it has the single field ``value``.

    Raises:
        PlanError: SMT701: no record has a key with a schema; SMT210: two column names differ only in upper and lower
            case.
    """
    schema = plan.row_keys
    if schema is None:
        hint = "declare the format of the keys, make a key in the chain (ValueToKey), or use mode='append'"
        raise PlanError(Problem("SMT701", "keys", "no record has a key with a schema", hint))
    return columns_of(schema)


def columns_of(schema: Schema) -> T.StructType:
    """Returns the columns of a table whose rows are values of ``schema``.

    Raises:
        PlanError: SMT210 if a table cannot distinguish some column names.
    """
    fields = _fields(schema)
    clashes = _clashes([name for name, _ in fields])
    if clashes:
        raise PlanError(clashes)
    return T.StructType([struct_field(name, child) for name, child in fields])


def _fields(schema: Schema) -> tuple[tuple[str, Schema], ...]:
    if is_struct(schema):
        return schema.fields
    return ((WHOLE, schema),)


def is_struct(schema: Schema) -> bool:
    """Returns True if a value of ``schema`` becomes several columns."""
    return schema.type is Type.STRUCT


def _clashes(names: list[str]) -> list[Problem]:
    seen: dict[str, str] = {}
    problems = []
    for name in names:
        other = seen.setdefault(caseless(name), name)
        if other is not name:
            statement = f"the columns '{other}' and '{name}' differ in case only"
            problems.append(Problem("SMT210", "", statement, "rename one of them with ReplaceField"))
    return problems


def with_output(
    frame: DataFrame, columns: Iterable[Column], plan: Plan, schema: T.StructType, states: dict[int, State]
) -> DataFrame:
    """Returns a frame with ``columns``, and with the column ``__out``, a struct of the user's columns. The struct is
    null if the record was dropped or has failed. If the chain keeps keys, the result also has the column ``__key``.

    Args:
        frame: The records after the stages, with ``__status``.
        columns: The other columns of the result.
        plan: The plan of the table's rows.
        schema: The ``output_schema`` of the plan.
        states: The columns after the last stage. Records with different schemas (variants) have different columns, so
            this is a dict from the number of the variant to its columns.
    """
    assert plan.rows is not None
    targets = {"__out": ("value", plan.rows, schema)}
    if plan.chain.keeps_key:
        key = key_type(plan)
        assert plan.row_keys is not None
        targets[KEY] = ("key", plan.row_keys, key)
    outputs = []
    for name, (side, connect, target) in targets.items():
        as_read = _as_read(frame, plan, target, states) if side == "value" else None
        if as_read is None:
            output = _output(side, connect, target, states)
        else:
            output = as_read
        outputs.append(F.when(F.col("__status") == 0, output).alias(name))
    rows = select(frame, *columns, *outputs)
    for name, (_, connect, target) in targets.items():
        fields = []
        for field, child in _fields(connect):
            fields.append(T.StructField(field, internal_type(child)))
        internal = T.StructType(fields)
        if target != internal:
            # the cast adds metadata, and names that SQL text cannot express
            rows = rows.withColumn(name, col(name).cast(target))
    return rows


def _as_read(frame: DataFrame, plan: Plan, target: T.StructType, states: dict[int, State]) -> Column | None:
    """Returns a column with the struct that the reader has created from each value, with the user's field names.
    Returns None if this struct is not exactly the row of the table.

    This saves time: Spark need not split the struct into columns and build it again, which takes longer than parsing if
    there are 300 fields.

    The result is None in these cases:

    - A stage has changed, added or dropped a field.
    - A column of the table has a type other than its field in the struct.
    - Records have different schemas after the chain.
    - The chain keeps keys.
    - The session has no JVM lane (Java code inside Spark).
    """
    layouts = [state.sides.get("value") for state in states.values()]
    if len(layouts) != 1 or not isinstance(layouts[0], Struct) or plan.chain.keeps_key:
        return None
    columns = [child.column for child in layouts[0].fields.values() if isinstance(child, Leaf)]
    # a column such as ``read_value.f0`` is a field that no stage has changed since the reader filled it
    wholes = {column.partition(".")[0] for column in columns}
    if len(wholes) != 1 or not all("." in column for column in columns) or not has_lane(frame.sparkSession):
        return None
    (whole,) = wholes
    read = frame.schema[whole].dataType
    assert isinstance(read, T.StructType)
    # all fields of the struct, in its order: Java only exchanges the names
    is_same = columns == [f"{whole}.{name}" for name in read.names]
    types, target_types = [field.dataType for field in read.fields], [field.dataType for field in target.fields]
    if not is_same or types != target_types or "" in target.names:
        return None
    # Java reads only the type of this null
    type_with_names = F.lit(None).cast(target)
    return Column(f"{CATALOG}.relabel({F.col(whole).text}, {type_with_names.text})")


def _output(side: str, schema: Schema, target: T.StructType, states: dict[int, State]) -> Column:
    """Returns a struct with the user's columns for the key or value ``side``. ``states`` contains the columns for each
    variant, that is, for all records with the same schemas. Spark chooses the columns by the variant of each record.
    """
    columns = []
    for field in target.fields:
        column: Column | None = None
        for variant, state in sorted(states.items(), reverse=True):
            layout = state.sides.get(side)
            source = None if layout is None else _source(layout, field.name, schema)
            value = F.lit(None).cast(field.dataType) if source is None else source
            if column is None:
                column = value
            else:
                column = F.when(F.col("__variant") == variant, value).otherwise(column)
        columns.append((F.lit(None).cast(field.dataType) if column is None else column).alias(field.name))
    return F.struct(*columns)


def _source(layout: Layout, name: str, merged: Schema) -> Column | None:
    """Returns the column of the top-level field ``name``, for records of one schema. Its value is converted into the
    type that the field has in ``merged``, the schema of the whole table. Returns None if these records have no such
    field.
    """
    if not is_struct(merged):
        return _conformed(built(layout), layout.schema, merged)
    if name not in layout.schema.by_name:
        return None
    child = layout.fields[name] if isinstance(layout, Struct) else None
    if child is not None:
        column = built(child)
    else:
        column = field_of(F.col(_column(layout)), layout.schema, name)
    if child is not None:
        schema = child.schema
    else:
        schema = layout.schema.by_name[name]
    return _conformed(column, schema, merged.by_name[name])


def _column(layout: Layout) -> str:
    assert isinstance(layout, Leaf)
    return layout.column


def _conformed(column: Column, schema: Schema, merged: Schema) -> Column:
    """Converts the values in ``column`` from ``schema`` to ``merged``, which may have more fields in its structs.
    Fields are matched by name, and missing fields are null.
    """
    # only structs need a conversion: ``merge`` rejects a field with two types
    if schema == merged or not _has_struct(merged):
        return column
    if merged.type is Type.ARRAY and merged.values is not None and schema.values is not None:
        old, new = schema.values, merged.values
        return F.transform(column, lambda v: _conformed(v, old, new))
    if merged.type is Type.MAP and merged.values is not None and schema.values is not None:
        old, new = schema.values, merged.values
        return F.transform_values(column, lambda _, v: _conformed(v, old, new))
    if merged.type is not Type.STRUCT:
        return column
    fields = []
    for name, child in merged.fields:
        old_child = schema.by_name.get(name)
        if old_child is None:
            child_column = F.lit(None)
        else:
            child_column = _conformed(field_of(column, schema, name), old_child, child)
        fields.append(child_column.cast(spark_type(child)).alias(name))
    return F.when(column.isNotNull(), F.struct(*fields))


def _has_struct(schema: Schema) -> bool:
    inner = [schema.values] if schema.values is not None else []
    return schema.type is Type.STRUCT or any(map(_has_struct, inner))
