"""Remembers deletions in a second table, for a table with ``sequence_by``.

The option ``sequence_by`` names a column that orders the events of a key. After a deletion, an event with a smaller
sequence may still arrive, from another shard or in a replay. The table no longer has a row whose sequence could be
compared. So the second table stores the key of each deleted row as JSON, with the sequence of the deletion.

A run stores the deletions before the commit that removes the rows. If this commit fails, the next run stores the same
deletions again, which changes nothing.

A deletion is stored even if a later event of the window creates the row again. The reason is that Debezium writes a
tombstone after each deletion. This tombstone may be in the next window. A tombstone has no sequence. Only the stored
deletion shows that the tombstone is older than the row.
"""

from dataclasses import replace
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from dagster_smt.model.windows.offsets import OffsetSet
from dagster_smt.tables.keyed.key_events import DELETE, Keyed
from dagster_smt.tables.sink_options import NO_LAYOUT, SourceColumns, TableSink
from dagster_smt.tables.sinks import open_table
from dagster_smt.tables.sinks.protocol import Replaced, Table
from dagster_smt.tables.sinks.replaced_rows import replaced_rows

SUFFIX = "__deleted"
_ORDER = ("sequence", "topic", "partition", "offset")
_PLACE = SourceColumns("topic", "partition", "offset")


def remembers_deletions(keyed: Keyed) -> bool:
    """Returns True if a table must remember deletions. This is true if three conditions are met: the table has the
    option ``sequence_by``, the mode of the table is ``upsert``, and a deletion removes the row.

    Without ``sequence_by``, offsets order the events. A run that reads old records again then also reads all later
    records again, so it needs no remembered deletions.
    """
    return keyed.rows.deletes == "apply" and bool(keyed.rows.sequence_by) and keyed.rows.mode == "upsert"


def deletions_table(session: SparkSession, sink: TableSink) -> Table:
    """Returns the table that remembers the deletions of ``sink``. The path or name is that of ``sink`` with
    ``__deleted`` at the end, such as ``lake.orders__deleted``.
    """
    plain = replace(sink, mode="append", keys="record_key", sequence_by="", schema_evolution="widen", **NO_LAYOUT)
    if sink.table:
        return open_table(session, replace(plain, table=f"{sink.table}{SUFFIX}"))
    text = str(sink.path).rstrip("/") + SUFFIX
    return open_table(session, replace(plain, path=Path(text) if isinstance(sink.path, Path) else text))


def remembered(table: Table, events_again: DataFrame, window: OffsetSet) -> DataFrame | None:
    """Returns the remembered deletions, one row per key. Returns None if the table of deletions does not exist.

    The columns are:

    - ``deleted_key``: the key, as JSON;
    - ``deletion``: the sequence, topic, partition and offset of the key's last deletion;
    - ``deleted_in``: all partitions that contain a deletion of the key.

    Suppose that the run reads a deleting record again, and the chain has changed, so that the record no longer deletes
    a row. The remembered deletion is then ignored.

    Args:
        table: The table of deletions.
        events_again: The events of the window.
        window: The offsets that the run reads.
    """
    if table.schema() is None:
        return None
    lines = table.read()
    of_window = replaced_rows(Replaced(offsets=window), _PLACE)
    # deletions of this window are remembered only if an earlier run has read it; otherwise, the join is not needed
    if window and not lines.where(of_window).isEmpty():
        names = [*_PLACE.names]
        still = events_again.where(F.col("op") == DELETE).select(*names).distinct()
        again = lines.where(of_window).join(still, names, "left_semi").select(*lines.columns)
        lines = lines.where(f"NOT ({of_window})").unionByName(again)
    place = F.max(F.struct(*_ORDER)).alias("deletion")
    partitions = F.collect_set(F.struct("topic", "partition")).alias("deleted_in")
    return lines.groupBy(F.col("key").alias("deleted_key")).agg(place, partitions)


def with_deletions(changes: DataFrame, deletions: DataFrame | None) -> DataFrame:
    """Adds the remembered deletion of each key to ``changes``, in the columns ``deletion`` and ``deleted_in``.

    Args:
        changes: One change per key.
        deletions: The result of ``remembered``. If None, both columns are null.
    """
    if deletions is None:
        nothing = F.lit(None).cast("array<struct<topic: string, partition: int>>")
        order = changes.schema["order"].dataType
        return changes.withColumns({"deletion": F.lit(None).cast(order), "deleted_in": nothing})
    joined = changes.join(deletions, _key_text() == F.col("deleted_key"), "left").drop("deleted_key")
    return joined.withColumn("deletion", F.col("deletion").cast(changes.schema["order"].dataType))


def remember(changes: DataFrame, table: Table) -> None:
    """Appends the deletions in ``changes`` to the table of deletions. A deletion without a sequence is left out.

    If a key has several deletions in one partition, only the last one is appended.
    """
    # A tombstone that deletes the row of the table has the sequence of the row, and no event of the window has it.
    last = F.when((F.col("op") == DELETE) & F.col("order.sequence").isNotNull(), F.array("order"))
    deletions = F.concat("deletions", F.coalesce(last, F.array()))
    each = changes.select(_key_text().alias("key"), F.explode(deletions).alias("order"))
    by_partition = each.groupBy("key", "order.topic", "order.partition").agg(F.max("order").alias("order"))
    order_columns = [F.col(f"order.{name}").alias(name) for name in _ORDER]
    rows = by_partition.select("key", *order_columns)
    if not rows.isEmpty():
        table.append(rows)


def _key_text() -> Column:
    return F.to_json(F.col("key"))
