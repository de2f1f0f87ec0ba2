"""Determines how each change in a window affects the row of its key, and counts these actions.

| action | effect |
|---|---|
| ``insert`` | adds a row |
| ``update`` | replaces the row |
| ``delete`` | removes the row |
| ``superseded`` | none, because a later event of the key has already written or deleted the row |
| ``nothing`` | none, because the change deletes a row that does not exist |
| ``conflict`` | none, because the events of the key come from several partitions and have no order |
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
    """Returns one row for each row of ``table``: its key, and the coordinates (topic, partition and offset) of the
    record that produced the row.

    The columns are ``key``, ``now_topic``, ``now_partition``, ``now_offset``, ``now_exists`` (always true) and, with
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
    """Returns ``changes`` with the column ``action``, such as ``insert`` or ``delete``: the effect of each change on
    the table.

    For a key with a row in the table, the result also contains the columns of ``current_rows``.

    Args:
        changes: One change per key; see ``tables.keyed.fold``.
        current: The result of ``current_rows``. None if there is no table yet, or if the run replaces all of its rows.
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
    # a soft deletion of a key without a row inserts a row that is marked as deleted
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
    # A row that another writer has inserted has no coordinates, so the condition is null. This is no conflict: the next
    # event of the key changes the row.
    return joined.withColumn("action", F.when(F.coalesce(conflict, F.lit(False)), CONFLICT).otherwise(action))


def vanished_rows(
    table: DataFrame, events: DataFrame, topics: Iterable[str], keyed: Keyed, schema: StructType
) -> DataFrame:
    """Returns the rows that a rebuild must delete, because their keys no longer occur in the topics.

    A rebuild reads topics again from the beginning. A row must be deleted if it came from one of these topics, and if
    no event of the window has its key.

    Args:
        table: The rows of the table.
        events: The events of the window.
        topics: The topics that are read again from the beginning.
        keyed, schema: The table and its columns.

    Returns:
        One row for each deletion, with the columns ``key``, ``row``, ``action``, ``op``, ``topic``, ``unchanged``,
        ``incomplete`` and ``now_topic``.
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
    """Returns a column with the ``order`` of an event: a struct of sequence, topic, partition and offset.

    A tombstone has no sequence. If the tombstone comes after the event that wrote the current row, in the same
    partition, the tombstone gets the sequence of this row. The run remembers the deletion with this sequence. So no
    older event can create the row again.

    Args:
        kind: The type of the column.
    """
    follows = F.col("order.sequence").isNull() & _same_partition() & (F.col("offset") > F.col("now_offset"))
    place = F.struct(F.col("now_sequence").alias("sequence"), "topic", "partition", "offset").cast(kind)
    return F.when(follows, place).otherwise(F.col("order"))


def _row_with_sequence(keyed: Keyed) -> Column:
    """Returns a column with the row of a change, for a table that only marks rows as deleted.

    A tombstone has no sequence. The row that the tombstone marks as deleted therefore keeps the sequence that the row
    had before. Without a sequence, every late event would overwrite the row.
    """
    sequence = F.coalesce(F.col("row").getField(keyed.rows.sequence_by), F.col("order.sequence"))
    with_sequence = F.col("row").withField(quoted(keyed.rows.sequence_by), sequence)
    return F.when(F.col("op") == DELETE, with_sequence).otherwise(F.col("row"))


def _is_older(keyed: Keyed) -> Column:
    """Returns a condition that is true if an event is older than the current row of its key.

    The condition compares the event with the event that produced the row. For a table without the option
    ``sequence_by``, the condition is always false: a run that reads old offsets again also reads all later offsets
    again.
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
    """Returns a condition that is true if an event and the current row of its key have no order.

    They have no order if they come from different partitions, and if the event has no sequence. There is one exception:
    a tombstone that follows a remembered deletion in the same partition is older than the row.
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
    """The effects of a run's changes on a table with keys.

    Attributes:
        counts: Maps a topic to the numbers of inserted, updated and deleted rows, and of superseded events.
        rows: Maps a topic to the change in the number of the table's rows, such as ``{"orders": -2}``.
        conflicts: The number of keys whose events come from several partitions and have no order.
        actions: The actions that occur, out of ``insert``, ``update`` and ``delete``.
        keeps_columns: True if some events lack columns, so that their rows keep the values of these columns.
    """

    counts: Mapping[str, KeyCounts] = field(default_factory=dict)
    rows: Mapping[str, int] = field(default_factory=dict)
    conflicts: int = 0
    actions: frozenset[str] = frozenset()
    keeps_columns: bool = False


def effects_of(changes: DataFrame, events: Mapping[str, int] | None) -> Effects:
    """Counts the rows that ``changes`` insert, update or delete, and the events without effect.

    Args:
        changes: The result of ``with_actions``.
        events: Maps a topic to the number of its events. If None, the column ``events`` of the changes contains the
            numbers. Events that ``changes`` do not contain count as superseded.
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
            # a row that another writer has inserted has no topic
            table_rows[row.now_topic or ""] -= row["keys"]
        if row.action == CONFLICT:
            conflicts += row["keys"]
    for topic, number in number_of_events.items():
        counts[topic].superseded += max(0, number - counts[topic].keys)
    actions = frozenset(row.action for row in rows) & frozenset(WRITTEN)
    return Effects(counts, dict(table_rows), conflicts, actions, any(row.keeping for row in rows))
