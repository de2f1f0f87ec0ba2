"""Checks the layout of a table: its partitioning, clustering and properties.

A problem is an option that the table format or the table's columns do not permit.
"""

from collections.abc import Iterator

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    IntegerType,
    LongType,
    MapType,
    NullType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from dagster_smt.chain import Plan
from dagster_smt.errors import Problem
from dagster_smt.model.caseless import caseless
from dagster_smt.model.topics.keyed import KeyedRows
from dagster_smt.model.topics.layout import NUMBERED, TIMES, PartitionField, Path, path_text
from dagster_smt.spark.outcome_columns import TARGET
from dagster_smt.spark.stages.output import key_type, output_schema
from dagster_smt.tables.sink_options import DeltaSink, IcebergSink, TableSink

_UNKNOWN = NullType()
_HEADER = StructType([StructField("key", StringType()), StructField("value", BinaryType())])
_TIMESTAMPS = (TimestampType, TimestampNTZType)
_NESTED = (StructType, ArrayType, MapType)
_WHOLE = (ByteType, ShortType, IntegerType, LongType, DecimalType)
# the source types of each partition transform in Iceberg's specification
_OF_TRANSFORM: dict[str, tuple[type[DataType], ...]] = {
    **dict.fromkeys(("year", "month", "day"), (DateType, *_TIMESTAMPS)),
    "hour": _TIMESTAMPS,
    "bucket": (*_WHOLE, DateType, *_TIMESTAMPS, StringType, BinaryType),
    "truncate": (*_WHOLE, StringType, BinaryType),
}
_RECORDS = StructType(
    [
        StructField("key", BinaryType()),
        StructField("value", BinaryType()),
        StructField("topic", StringType()),
        StructField("partition", IntegerType()),
        StructField("offset", LongType()),
        StructField("timestamp", TimestampType()),
        StructField("timestampType", IntegerType()),
        StructField("headers", ArrayType(_HEADER)),
        StructField("source_topic", StringType()),
    ]
)
"""The columns of a table of records (a table with Kafka's columns), as in ``spark.outcome_columns.RECORD_COLUMNS``.

They are not parsed from a DDL string, because Spark's parser needs a session. Dagster loads definitions without a
session.
"""
_MOST_CLUSTERED = 4
"""The largest number of columns that Delta permits in ``CLUSTER BY``."""
_MOST_NAMES = 10


def added_name(field: PartitionField) -> str:
    """Returns the name that Iceberg gives to ``field``, a partition field with a transform, such as ``at_day``."""
    suffix = "trunc" if field.transform == "truncate" else field.transform
    return f"{'.'.join(field.path)}_{suffix}"


def layout_problems(sink: TableSink, columns: StructType) -> list[Problem]:
    """Returns a problem for each option of the sink's layout (partitioning, clustering) that cannot work.

    SMT559 is a missing column. SMT569 is an option that the table format, or the type of a column, does not permit.

    Args:
        sink: The sink.
        columns: The columns of the sink's table. The type ``void`` stands for a type that is not known yet, and is
            never a problem.
    """
    problems = []
    for field in sink.layout.partition_by:
        place = f"partition_by: {field.text}"
        kind = _type_at(columns, field.path)
        if kind is None:
            problems.append(_missing(place, columns))
        else:
            problems += _partition_problems(place, field, kind, columns)
    for path in sink.layout.cluster_by:
        place = f"cluster_by: {path_text(path)}"
        kind = _type_at(columns, path)
        if kind is None:
            problems.append(_missing(place, columns))
        elif isinstance(kind, _NESTED):
            problems.append(_cannot(place, f"values of type {kind.typeName()} have no order", "name a field in it"))
    if isinstance(sink, DeltaSink):
        problems += _of_delta(sink, columns)
    if isinstance(sink, IcebergSink):
        problems += _of_iceberg(sink)
    return problems


def planned_columns(plan: Plan, sink: TableSink) -> StructType | None:
    """Returns the columns of the sink's table, for rows of ``plan``. Returns None if the columns depend on the records,
    so that they are not known before a run.
    """
    if sink.kind == "columns" and plan.after is None:
        return None
    if sink.kind == "records":
        return _RECORDS
    fields = {}
    for field in output_schema(plan, sink.kind).fields:
        if field.name != TARGET:
            fields[field.name] = field
    if sink.keyed is not None:
        fields = {**_of_mode(plan, sink.keyed), **fields}
        # runs read this column, but the table does not store it
        fields.pop(sink.keyed.delete_flag, None)
    if sink.kind == "columns" and sink.coordinates is not None:
        types = (StringType(), IntegerType(), LongType())
        for name, kind in zip(sink.coordinates.names, types, strict=True):
            fields[name] = StructField(name, kind)
    return StructType(list(fields.values()))


def _of_mode(plan: Plan, keyed: KeyedRows) -> dict[str, StructField]:
    """Returns the key columns of a table and the columns that its mode adds, as a dict from name to field.

    The types of most of these columns are not known yet. If the value also has such a column, ``planned_columns`` uses
    the column of the value.
    """
    fields = {}
    for name in (*keyed.keys, *keyed.added_columns):
        fields[name] = StructField(name, _UNKNOWN)
    if plan.key_after is not None and not keyed.keys:
        for field in key_type(plan).fields:
            fields[field.name] = field
    return fields


def _type_at(columns: StructType, path: Path) -> DataType | None:
    kind: DataType = columns
    for name in path:
        if not isinstance(kind, StructType) or name not in kind.names:
            return None
        kind = kind[name].dataType
    return kind


def _missing(place: str, columns: StructType) -> Problem:
    names = ", ".join(columns.names[:_MOST_NAMES])
    return Problem("SMT559", place, "the table has no such column", f"it has: {names}")


def _cannot(place: str, statement: str, hint: str) -> Problem:
    return Problem("SMT569", place, statement, hint)


def _partition_problems(place: str, field: PartitionField, kind: DataType, columns: StructType) -> Iterator[Problem]:
    types = _OF_TRANSFORM.get(field.transform)
    if isinstance(kind, NullType):
        return
    if isinstance(kind, _NESTED):
        yield _cannot(place, f"rows cannot be partitioned by a value of type {kind.typeName()}", "name a field in it")
    elif types is not None and not isinstance(kind, types):
        known = ", ".join(dict.fromkeys(t.typeName() for t in types))
        yield _cannot(place, f"the column is of type {kind.simpleString()}", f"{field.transform} takes {known}")
    column_names = set(map(caseless, columns.names))
    if field.transform and caseless(added_name(field)) in column_names:
        hint = "rename the column in the chain"
        yield _cannot(place, f"the table has a column {added_name(field)}, which the partitioning would add", hint)


def _of_delta(sink: TableSink, columns: StructType) -> Iterator[Problem]:
    layout = sink.layout
    if layout.partition_by and layout.cluster_by:
        yield _cannot("cluster_by", "a Delta table has partitions or clusters, not both", "leave one of them out")
    for field in layout.partition_by:
        place = f"partition_by: {field.text}"
        if field.transform in NUMBERED:
            hint = f"use cluster_by=['{path_text(field.path)}'], or write an Iceberg table"
            yield _cannot(place, f"Delta has no partitioning by {field.transform}", hint)
        if len(field.path) > 1:
            yield _cannot(place, "Delta has no partitioning by a field of a struct", "use Flatten, or cluster_by")
    own = set()
    for field in layout.partition_by:
        if not field.transform:
            own.add(field.path[0])
    if layout.partition_by and own >= set(columns.names):
        yield _cannot("partition_by", "a Delta table needs a column that is not a partition", "leave a column out")
    if len(layout.cluster_by) > _MOST_CLUSTERED:
        yield _cannot("cluster_by", f"Delta clusters by {_MOST_CLUSTERED} columns at most", "leave columns out")
    for path in layout.cluster_by:
        kind = _type_at(columns, path)
        # Delta keeps no minimum and maximum of these types in its file statistics, and clustering needs both
        if isinstance(kind, (BooleanType, BinaryType)):
            place = f"cluster_by: {path_text(path)}"
            yield _cannot(place, f"Delta cannot cluster by values of type {kind.simpleString()}", "use partition_by")


def _of_iceberg(sink: TableSink) -> Iterator[Problem]:
    kinds: dict[tuple[Path, str], PartitionField] = {}
    for field in sink.layout.partition_by:
        # Iceberg rejects a second time transform of a column as redundant, such as day(at) next to hour(at)
        group = "time" if field.transform in TIMES else field.transform
        other = kinds.setdefault((field.path, group), field)
        if other is not field:
            statement = f"Iceberg has one of {other.text} and {field.text}, not both"
            yield _cannot(f"partition_by: {field.text}", statement, "leave the coarser one out")
