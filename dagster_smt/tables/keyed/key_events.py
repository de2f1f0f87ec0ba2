"""Computes the events of a window (the range of offsets that a run reads).

An event is a record that changes or deletes the row of its key. Each event has these columns:

| column | type | meaning |
|---|---|---|
| ``key`` | struct | the key columns |
| ``row`` | struct | the row, in the table's types; for a deletion, only the key and the coordinates are used |
| ``op`` | string | ``upsert`` or ``delete`` |
| ``unchanged`` | array<string> | columns that are missing in the event, because the update did not change them |
| ``topic``, ``partition``, ``offset``, ``timestamp`` | | as in the record |
| ``order`` | struct | sorts the events of one key |
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, StructType, TimestampType

from dagster_smt.errors import Problem
from dagster_smt.model.topics.keyed import NO_SEQUENCE, NULL_KEY, KeyedRows
from dagster_smt.spark.outcome_columns import GONE, KEY, TIMESTAMP
from dagster_smt.spark.sql import quoted, sql_try_cast
from dagster_smt.tables.keyed.keys import KeyColumns
from dagster_smt.tables.keyed.unavailable import unchanged_columns
from dagster_smt.tables.schemas import conformed_columns
from dagster_smt.tables.sink_options import SourceColumns

UPSERT, DELETE = "upsert", "delete"


@dataclass(frozen=True)
class Keyed:
    """A table with one row per key (or one row per version of a key), as a run sees it.

    Attributes:
        rows: The options of the table's mode, such as ``deletes`` and ``sequence_by``.
        columns: The key columns.
        coordinates: The names of the columns with the topic, partition and offset of each row's record.
    """

    rows: KeyedRows
    columns: KeyColumns
    coordinates: SourceColumns


def key_of_rows(keyed: Keyed) -> Column:
    """Returns a struct column ``key``, which contains the values of the key columns in a row of the table."""
    key_columns = []
    for name in keyed.columns.names:
        key_columns.append(F.col(quoted(name)).alias(name))
    return F.struct(*key_columns).alias("key")


def no_names() -> Column:
    """Returns a column with an empty list of strings. The column serves as ``unchanged`` or ``incomplete``."""
    return F.array().cast("array<string>")


def key_failures(evaluated: DataFrame, keyed: Keyed) -> list[tuple[Column, Problem]]:
    """Returns the reasons for which a record cannot have a row in the table, each as a pair ``(condition, problem)``.

    If the condition is true for a record in ``evaluated``, the record fails with the problem. For example, one
    condition is true if a key column is null.
    """
    deleted = _is_deleted(evaluated, keyed)
    values = []
    for name in keyed.columns.names:
        values.append(_key_column(evaluated, keyed, name).isNull())
    without_key = F.lit(False)
    for is_null in values:
        without_key = without_key | is_null
    if keyed.rows.deletes == "ignore":
        # such a table ignores deletions, so a deletion needs no key
        without_key = without_key & ~deleted
    failures = [(without_key, NULL_KEY)]
    if keyed.rows.sequence_by:
        sequence = F.col("__out").getField(keyed.rows.sequence_by)
        # a tombstone has no value, and therefore never a sequence; ``_ordered`` finds its place among the events
        failures.append((sequence.isNull() & ~F.col(GONE), NO_SEQUENCE))
    return failures


def keyed_rows(evaluated: DataFrame, keyed: Keyed) -> DataFrame:
    """Returns a row for each record in ``evaluated``. A row consists of:

    - the key columns;
    - the columns that the chain returns, except the column that marks a deletion (the option ``delete_flag``);
    - the columns that the mode of the table adds, such as ``_is_deleted``;
    - the topic, partition and offset of the record.
    """
    return evaluated.select(*_row_columns(evaluated, keyed))


def _row_columns(evaluated: DataFrame, keyed: Keyed) -> list[Column]:
    columns = []
    names = keyed.columns.names
    for name in names:
        if name not in keyed.columns.in_value:
            columns.append(_key_column(evaluated, keyed, name).alias(name))
    for field in _out(evaluated).fields:
        if field.name in names:
            columns.append(_key_column(evaluated, keyed, field.name).alias(field.name, metadata=field.metadata))
        elif field.name != keyed.rows.delete_flag:
            columns.append(F.col("__out").getField(field.name).alias(field.name, metadata=field.metadata))
    columns += _added_columns(evaluated, keyed)
    record = zip(("__topic", "__partition", "__offset"), keyed.coordinates.names, strict=True)
    of_record = []
    for column, name in record:
        of_record.append(F.col(column).alias(name))
    return columns + of_record


def _added_columns(evaluated: DataFrame, keyed: Keyed) -> list[Column]:
    """Returns the columns that the table's mode adds, such as ``_is_deleted``, with their values in a new row.

    For example, ``_is_deleted`` is false in a new row.
    """
    rows = keyed.rows
    if rows.mode == "scd2":
        no_time, no_offset = F.lit(None).cast(TimestampType()), F.lit(None).cast("bigint")
        versions = (F.col(TIMESTAMP), no_time, F.lit(True), no_offset)
        times = []
        for value, name in zip(versions, rows.validity.names, strict=True):
            times.append(value.alias(name))
        return times
    if rows.deletes == "soft":
        values = F.lit(False).cast(BooleanType()), F.lit(None).cast(TimestampType())
        marks = []
        for value, name in zip(values, rows.soft.names, strict=True):
            marks.append(value.alias(name))
        return marks
    return []


def events(evaluated: DataFrame, schema: StructType, keyed: Keyed) -> DataFrame:
    """Returns an event for each record that has passed through the chain. An event changes or deletes the row of a key.
    If the option ``deletes`` is ``ignore``, deletions are left out.

    Args:
        evaluated: The records, after the chain.
        schema: The columns of the table.
        keyed: The table.
    """
    rows = keyed.rows
    event = _free_name([*schema.names, *_out(evaluated).names])
    unchanged = unchanged_columns(_out(evaluated), rows.unavailable_value)
    parts = [
        F.when(_is_deleted(evaluated, keyed), DELETE).otherwise(UPSERT).alias("op"),
        unchanged.alias("unchanged"),
        F.col("__topic").alias("topic"),
        F.col("__partition").alias("partition"),
        F.col("__offset").alias("offset"),
        F.col(TIMESTAMP).alias("timestamp"),
    ]
    if rows.sequence_by:
        parts.append(F.col("__out").getField(rows.sequence_by).alias("sequence"))
    # the user's columns may have names such as ``op`` or ``offset``, so the columns of the event are in a struct of
    # their own
    flat = evaluated.select(*_row_columns(evaluated, keyed), F.struct(*parts).alias(event))
    row = F.struct(*conformed_columns(flat, schema)).alias("row")
    shaped = flat.select(row, f"{event}.*")
    key_columns = []
    for name in keyed.columns.names:
        key_columns.append(F.col("row").getField(name).alias(name))
    key = F.struct(*key_columns).alias("key")
    shaped = shaped.select(key, "*")
    if rows.deletes == "ignore":
        shaped = shaped.where(F.col("op") == UPSERT)
    return _ordered(shaped, rows)


def _ordered(shaped: DataFrame, rows: KeyedRows) -> DataFrame:
    if not rows.sequence_by:
        return shaped.withColumn("order", F.struct("offset"))
    # A tombstone has no value and therefore no sequence, so it is ordered after the preceding event in its partition.
    before = Window.partitionBy("key", "topic", "partition").orderBy("offset")
    shaped = shaped.withColumn("sequence", F.last("sequence", ignorenulls=True).over(before))
    return shaped.withColumn("order", F.struct("sequence", "topic", "partition", "offset"))


def _is_deleted(evaluated: DataFrame, keyed: Keyed) -> Column:
    flag = keyed.rows.delete_flag
    if flag not in _out(evaluated).names:
        return F.col(GONE)
    # Debezium's ExtractNewRecordState writes the flag as a string, other chains as a boolean
    marked = F.lower(F.col("__out").getField(flag).cast("string")) == "true"
    return F.col(GONE) | F.coalesce(marked, F.lit(False))


def _key_column(evaluated: DataFrame, keyed: Keyed, name: str) -> Column:
    """Returns the key column ``name``. Its value comes from the record's key or from the record's value.

    If the record's key is a struct, such as ``{"id": 7}``, the result is the field of the key. If this field is null,
    the result is the field of the value.

    If the record's key is a single value, such as 7, the result is the field of the value. If this field is null, as in
    a tombstone, the result is the record's key.
    """
    from_key = []
    if name in keyed.columns.from_key and KEY in evaluated.columns:
        from_key.append(f"{quoted(KEY)}.{quoted(keyed.columns.from_key[name])}")
    if name not in keyed.columns.in_value:
        return F.coalesce(*map(F.expr, from_key))
    kind = _out(evaluated)[name].dataType
    casts = []
    for field in from_key:
        casts.append(F.expr(sql_try_cast(field, kind)))
    from_value = F.col("__out").getField(name)
    if keyed.columns.is_whole:
        return F.coalesce(from_value, *casts)
    return F.coalesce(*casts, from_value)


def _out(evaluated: DataFrame) -> StructType:
    out = evaluated.schema["__out"].dataType
    assert isinstance(out, StructType)
    return out


def _free_name(names: Sequence[str]) -> str:
    """Returns a column name that is not in ``names``, the names of the user's columns."""
    name = "__event"
    # by default, Spark does not distinguish names that differ only in case
    while any(name.lower() == other.lower() for other in names):
        name += "_"
    return name
