"""Compares the columns of a connector's table with the columns that the chain produces for the last records."""

import secrets
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.types import StructField, StructType

from dagster_smt.connect.takeover.takeover_parts import ColumnDifference
from dagster_smt.errors import TableError
from dagster_smt.model.windows.offsets import TopicPartition
from dagster_smt.model.windows.window import Range, Window
from dagster_smt.run.batch import run
from dagster_smt.run.run_spec import RunSpec
from dagster_smt.tables.schemas import evolved_schema
from dagster_smt.tables.sink_options import NO_LAYOUT, DeltaSink, IcebergSink, Sink, SourceColumns, TableSink
from dagster_smt.tables.sinks import open_table
from dagster_smt.tables.window_request import WindowRequest


def scratch_sink(sink: TableSink, folder: str) -> TableSink:
    """Returns a sink for a scratch table of the same kind as the table of ``sink``. The scratch table is a new table
    under ``folder``, without a layout (partitioning, clustering, properties).
    """
    kind = IcebergSink if isinstance(sink, IcebergSink) else DeltaSink
    path = f"{folder.rstrip('/')}/smt_scratch_{secrets.token_hex(6)}"
    source = sink.source_columns or SourceColumns()
    return kind(path=path, kind=sink.kind, source_columns=source, schema_evolution="widen", **NO_LAYOUT)


def scratch_run(spec: RunSpec, sink: TableSink, window: Window) -> RunSpec:
    """Returns a copy of the run ``spec`` that reads only the offsets in ``window`` and writes the scratch table
    ``sink``. Records that fail are left out.
    """
    request = WindowRequest(explicit=window)
    return replace(spec, sink=sink, window=request, errors_tolerance="all", dead_letter_topic="", key="")


def last_records(ranges: list[Range], ends: Mapping[TopicPartition, int], most: int) -> Window:
    """Returns a window (a range of offsets for each topic-partition) with the last records before ``ends``. If a
    partition has no record before its offset in ``ends``, the window contains the partition's first records.

    Args:
        ranges: The offsets that the partitions contain.
        ends: The offset before which the window ends, by topic-partition.
        most: The largest number of records, distributed evenly over the partitions.
    """
    each = max(1, most // max(1, len(ranges)))
    results = []
    for r in ranges:
        end = min(r.end, ends.get((r.topic, r.partition), r.end))
        if end <= r.start:
            end = min(r.end, r.start + each)
        start = max(r.start, end - each)
        if start < end:
            results.append(Range(r.topic, r.partition, start, end))
    return Window(tuple(results))


def columns_of_chain(session: SparkSession, spec: RunSpec, sink: TableSink, window: Window) -> StructType | None:
    """Returns the columns that the chain produces for the records in ``window``. Returns None if the window has no
    record.

    Args:
        session: The Spark session.
        spec: The run of the component.
        sink: A scratch table, which this function creates.
        window: The offsets of the records, for each topic-partition.
    """
    if not window.ranges:
        return None
    run(scratch_run(spec, sink, window), session)
    schema: StructType | None = open_table(session, sink).schema()
    return schema


def column_differences(sink: TableSink, table: StructType, chain: StructType) -> list[ColumnDifference]:
    """Returns the differences between the columns of a table and the columns that a chain produces. The columns with
    the topic, partition and offset of each row's record are ignored.

    Args:
        sink: The sink of the component. Its ``schema_evolution`` determines which types fit.
        table: The columns of the table.
        chain: The columns of the rows that the chain produces.
    """
    own = {name.lower() for name in sink.source_columns.names} if sink.source_columns is not None else set()
    there, ours = _without(table, own), _without(chain, own)
    differences: list[ColumnDifference] = []
    # Only types are judged here; _names reports columns that one side lacks. With "none", evolved_schema would report
    # them, too.
    judged: Sink = replace(sink, schema_evolution="widen" if sink.schema_evolution == "widen" else "add")
    try:
        evolved_schema(judged, there, ours, case_sensitive=False)
    except TableError as error:
        for problem in error.problems:
            differences.append(ColumnDifference(problem.place, "type", problem.statement))
    _names(there, ours, "", differences)
    return differences


def _names(table: StructType, chain: StructType, path: str, differences: list[ColumnDifference]) -> None:
    """Adds a difference for each column or field that is only in ``table`` or only in ``chain``."""
    there = {f.name: f for f in table.fields}
    ours = {f.name: f for f in chain.fields}
    for name, column in ours.items():
        if name not in there:
            text = f"the chain makes {column.dataType.simpleString()}, and the table has no such column"
            differences.append(ColumnDifference(path + name, "added", text))
    for name, column in there.items():
        if name not in ours:
            text = f"the table has {column.dataType.simpleString()}, and the chain does not make it"
            differences.append(ColumnDifference(path + name, "absent", text))
        else:
            kinds: tuple[Any, Any] = (column.dataType, ours[name].dataType)
            if isinstance(kinds[0], StructType) and isinstance(kinds[1], StructType):
                _names(kinds[0], kinds[1], f"{path}{name}.", differences)


def _without(schema: StructType, names: set[str]) -> StructType:
    columns: list[StructField] = []
    for f in schema.fields:
        if f.name.lower() not in names:
            columns.append(f)
    return StructType(columns)
