"""Determines how each change of a window affects the row of its key, and counts these actions.

| action | the row |
|---|---|
| ``insert`` | is new |
| ``update`` | is replaced |
| ``delete`` | is removed |
| ``superseded`` | stays, because it comes from a later event |
| ``nothing`` | does not exist, so the deletion has no effect |
| ``conflict`` | stays, because it comes from another partition and nothing orders the two events |
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, StructType

from dagster_smt.model.reports.run_report import KeyCounts
from dagster_smt.spark.sql import quoted
from dagster_smt.tables.keyed.key_events import DELETE, Keyed, key_of_rows, no_names
from dagster_smt.tables.schemas import conformed_columns

INSERT, UPDATE, REMOVE = "insert", "update", "delete"
SUPERSEDED, NOTHING, CONFLICT = "superseded", "nothing", "conflict"
WRITTEN = (INSERT, UPDATE, REMOVE)


def current_rows(table: DataFrame, keyed: Keyed) -> DataFrame:
    """Returns the key of each row in ``table``, with the coordinates of the record that produced the row.

    The columns are ``key``, ``now_topic``, ``now_partition``, ``now_offset``, ``now_exists`` (true) and, with
    ``sequence_by``, ``now_sequence``.
    """
    record = zip(keyed.coordinates.names, ("now_topic", "now_partition", "now_offset"), strict=True)
    columns = []
    for name, alias in record:
        columns.append(F.col(quoted(name)).alias(alias))
    if keyed.rows.sequence_by:
        columns.append(F.col(quoted(keyed.rows.sequence_by)).alias("now_sequence"))
    # This column is needed, because a row that another writer has inserted contains no coordinates.
    columns.append(F.lit(True).alias("now_exists"))
    return table.select(key_of_rows(keyed), *columns)


def with_actions(changes: DataFrame, current: DataFrame | None, keyed: Keyed) -> DataFrame:
    """Returns ``changes`` with the column ``action``. For a key with a row in the table, the result also contains the
    coordinates of the record that produced the row.

    Args:
        changes: See ``tables.keyed.fold``.
        current: See ``current_rows``. None if there is no table yet, or if the run replaces all of its rows.
        keyed: The table.
    """
    if current is None:
        nobody = {"now_topic": F.lit(None).cast("string"), "now_partition": F.lit(None).cast("int")}
        joined = changes.withColumns(nobody)
        is_there = F.lit(False)
    else:
        joined = changes.join(current, "key", "left")
        if keyed.rows.sequence_by:
            joined = joined.withColumn("order", _order_after_row(changes.schema["order"].dataType))
            if keyed.rows.deletes == "soft":
                joined = joined.withColumn("row", _row_with_sequence(keyed))
        is_there = F.col("now_exists").isNotNull()
    is_delete = F.col("op") == DELETE
    is_soft = keyed.rows.deletes == "soft"
    new = F.when(is_delete & F.lit(not is_soft), NOTHING).otherwise(INSERT)
    if "deletion" in changes.columns:
        was_deleted_later = F.coalesce(F.col("order") <= F.col("deletion"), F.lit(False))
        new = F.when(was_deleted_later & ~is_delete, SUPERSEDED).otherwise(new)
    there = F.when(is_delete & F.lit(not is_soft), REMOVE).otherwise(UPDATE)
    if current is None:
        action = new
    else:
        action = F.when(~is_there, new).when(_is_older(keyed), SUPERSEDED).otherwise(there)
    conflict = F.col("crosses") & F.lit(not keyed.rows.sequence_by)
    if current is not None:
        conflict = conflict | (is_there & _conflicts(keyed, changes))
    return joined.withColumn("action", F.when(F.coalesce(conflict, F.lit(False)), CONFLICT).otherwise(action))


def vanished_rows(
    table: DataFrame, events: DataFrame, topics: Iterable[str], keyed: Keyed, schema: StructType
) -> DataFrame:
    """Returns an action that deletes the row, for each row of the table that came from ``topics``, unless the window
    has an event with the same key.

    Args:
        table: The rows of the table.
        events: The events of the window.
        topics: The topics that are read again from the beginning.
        keyed, schema: The table and its columns.

    Returns:
        The columns ``key``, ``row``, ``action``, ``op``, ``topic``, ``unchanged``, ``incomplete`` and ``now_topic``.
    """
    row = F.struct(*conformed_columns(table, schema)).alias("row")
    topic = F.col(quoted(keyed.coordinates.topic))
    rows = table.where(topic.isin(*topics)).select(key_of_rows(keyed), row, topic.alias("now_topic"))
    return rows.join(events.select("key").distinct(), "key", "left_anti").select(
        "key",
        "row",
        F.lit(REMOVE).alias("action"),
        F.lit(DELETE).alias("op"),
        F.col("now_topic").alias("topic"),
        no_names().alias("unchanged"),
        no_names().alias("incomplete"),
        "now_topic",
    )


def _same_partition() -> Column:
    return (F.col("topic") == F.col("now_topic")) & (F.col("partition") == F.col("now_partition"))


def _order_after_row(kind: DataType) -> Column:
    """Returns a column with the ``order`` of an event, which sorts the events of one key. ``kind`` is the type of this
    column.

    A tombstone has no sequence of its own. If it is in the same partition as the event that produced the current row,
    and follows this event, its ``order`` gets the sequence of the row. The deletion is remembered with this sequence,
    so that no older event can create the row again.
    """
    follows = F.col("order.sequence").isNull() & _same_partition() & (F.col("offset") > F.col("now_offset"))
    place = F.struct(F.col("now_sequence").alias("sequence"), "topic", "partition", "offset").cast(kind)
    return F.when(follows, place).otherwise(F.col("order"))


def _row_with_sequence(keyed: Keyed) -> Column:
    """Returns a column with the row of a change in a table with soft deletions.

    A tombstone has no sequence, so the row that it marks as deleted keeps its earlier sequence. Without a sequence, the
    row would count as older than any late event, and the event would overwrite it.
    """
    sequence = F.coalesce(F.col("row").getField(keyed.rows.sequence_by), F.col("order.sequence"))
    with_sequence = F.col("row").withField(quoted(keyed.rows.sequence_by), sequence)
    return F.when(F.col("op") == DELETE, with_sequence).otherwise(F.col("row"))


def _is_older(keyed: Keyed) -> Column:
    """Returns a condition that compares two events: a new event, and the event that produced the current row in the
    table ``keyed``. The condition is true if the new event is older.

    Without ``sequence_by``, the condition is never true: a run that reads older offsets again also reads all later
    offsets up to the table's progress.
    """
    if not keyed.rows.sequence_by:
        return F.lit(False)
    now = F.struct(
        F.col("now_sequence").alias("sequence"),
        F.col("now_topic").alias("topic"),
        F.col("now_partition").alias("partition"),
        F.col("now_offset").alias("offset"),
    )
    # A tombstone has no sequence if its window contains no other event of its key. Then the offsets of its partition
    # determine the order. If the row comes from another partition, the tombstone is older than the row, or a conflict.
    by_offset = ~_same_partition() | (F.col("offset") < F.col("now_offset"))
    has_sequence = F.col("order.sequence").isNotNull()
    return F.when(has_sequence, F.col("order") < now).otherwise(by_offset)


def _conflicts(keyed: Keyed, changes: DataFrame) -> Column:
    """Returns a condition that compares the same two events as ``_is_older``. The condition is true if nothing in
    ``keyed`` determines their order.
    """
    if not keyed.rows.sequence_by:
        return ~_same_partition()
    conflicts = F.col("order.sequence").isNull() & ~_same_partition()
    if "deleted_in" not in changes.columns:
        return conflicts
    # A row is later than all remembered deletions. So it is also later than a tombstone that follows such a deletion.
    follows = F.array_contains("deleted_in", F.struct("topic", "partition"))
    return conflicts & ~F.coalesce(follows, F.lit(False))


@dataclass(frozen=True)
class Effects:
    """The effects of a window's changes on a table.

    Attributes:
        counts: The counts of rows and of superseded events, by the topic of the events.
        rows: The change in the number of the table's rows, by topic.
        conflicts: The number of keys whose events are in several partitions and have no order.
        actions: Those of the actions ``insert``, ``update`` and ``delete`` that occur.
        keeps_columns: True if some events lack columns, so that their rows keep the values of these columns.
    """

    counts: Mapping[str, KeyCounts] = field(default_factory=dict)
    rows: Mapping[str, int] = field(default_factory=dict)
    conflicts: int = 0
    actions: frozenset[str] = frozenset()
    keeps_columns: bool = False


def effects_of(changes: DataFrame, events: Mapping[str, int] | None) -> Effects:
    """Counts the effects of ``changes`` on the rows of a table.

    Args:
        changes: See ``with_actions``.
        events: The number of events of each topic. If None, the column ``events`` of the changes holds these numbers.
    """
    lacks = F.size("incomplete") > 0
    keeps = F.size("unchanged") > 0
    is_incomplete = (F.col("op") != DELETE) & (lacks | ((F.col("action") == INSERT) & keeps))
    aggregates = [
        F.count("*").alias("keys"),
        F.count_if(is_incomplete).alias("incomplete"),
        F.count_if(keeps).alias("keeping"),
    ]
    if events is None:
        aggregates.append(F.coalesce(F.sum("events"), F.lit(0)).alias("events"))
    rows = changes.groupBy("topic", "now_topic", "action").agg(*aggregates).collect()
    counts = {}
    for topic in events or ():
        counts[topic] = KeyCounts()
    number_of_events = Counter(events or {})
    table_rows = Counter[str]()
    conflicts = 0
    for row in rows:
        counts.setdefault(row.topic, KeyCounts()).add(row.action, row["keys"], row.incomplete)
        if events is None:
            number_of_events[row.topic] += row.events
        if row.action in (INSERT, UPDATE):
            table_rows[row.topic] += row["keys"]
        if row.action in (UPDATE, REMOVE):
            table_rows[row.now_topic or ""] -= row["keys"]
        if row.action == CONFLICT:
            conflicts += row["keys"]
    for topic, number in number_of_events.items():
        counts[topic].superseded += max(0, number - counts[topic].keys)
    actions = frozenset(row.action for row in rows) & frozenset(WRITTEN)
    return Effects(counts, dict(table_rows), conflicts, actions, any(row.keeping for row in rows))
