"""Computes how events change the versions of a key, in a table with one row per version (slowly changing dimensions,
type 2).

An event is a record that changes or deletes the row of its key. A version begins with an event that changes a tracked
column. It ends with the next such event, or with a deletion.

A window (the range of offsets that a run reads) may contain offsets that an earlier run has read. The run then removes
the versions that began in the window or later, and reopens the version before the window. It creates the removed
versions again, from the events of the window and all later events that have been read: see ``run.keyed``.
"""

from collections.abc import Mapping
from functools import reduce
from operator import and_, or_

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from dagster_smt.tables.keyed.key_events import DELETE, UPSERT, Keyed, key_of_rows, no_names
from dagster_smt.tables.keyed.row_actions import CONFLICT, INSERT, REMOVE, UPDATE
from dagster_smt.tables.keyed.unavailable import can_be_unchanged
from dagster_smt.tables.schemas import conformed_columns

Starts = Mapping[tuple[str, int], int]
"""Maps a topic-partition to the first offset that a window reads there, such as ``{("orders", 0): 100}``."""
_EVENT = ("key", "row", "op", "unchanged", "topic", "partition", "offset", "timestamp")


def version_changes(
    events: DataFrame, table: DataFrame | None, starts: Starts, keyed: Keyed, schema: StructType
) -> DataFrame:
    """Returns the changes to the versions of all keys with an event in a window (the range of offsets that a run
    reads).

    Args:
        events: The events of the window, and the later events that earlier runs have already read.
        table: The rows of the table; None if the table begins with this window.
        starts: The first offset of the window in each topic-partition.
        keyed, schema: The table and its columns.

    Returns:
        A row for each version that is added, changed or removed, and for each key with a conflict (a key whose events
        have no order). The columns are ``key``, ``row``, ``action``, ``op``, ``topic``, ``unchanged``, ``incomplete``,
        ``now_topic`` and ``now_partition``.
    """
    versions = _Versions(keyed, schema)
    if table is None:
        return versions.of_events(events, None)
    there = versions.touched(table, events, starts)
    return versions.of_events(events, there)


class _Versions:
    """Computes the versions that events add, change or remove, in a table with one row per version of a key."""

    def __init__(self, keyed: Keyed, schema: StructType):
        self.keyed, self.schema = keyed, schema
        validity = keyed.rows.validity
        self.start, self.end, self.current, self.closed_by = validity.names
        self.topic, self.partition, self.offset = keyed.coordinates.names
        self.own = {*validity.names, *keyed.coordinates.names, *keyed.columns.names}
        self.tracked = list(keyed.rows.track) or [name for name in schema.names if name not in self.own]

    def touched(self, table: DataFrame, events: DataFrame, starts: Starts) -> DataFrame:
        """Returns the versions in ``table`` that the events of a window may change. For each key, the result contains
        two kinds of versions:

        - the version that was open when the window began: it has no end, or it ended in the window or later;
        - all versions that began in the window or later.

        The result has the columns of an event and the column ``stale``. ``stale`` is true for versions of the second
        kind.
        """
        row = F.struct(*conformed_columns(table, self.schema)).alias("row")
        rows = table.select(key_of_rows(self.keyed), row).join(events.select("key").distinct(), "key", "left_semi")
        begins = self._begins(starts)
        offset, closed_by = F.col("row").getField(self.offset), F.col("row").getField(self.closed_by)
        is_stale = offset >= begins
        is_open = closed_by.isNull() | (closed_by >= begins)
        return rows.where(is_stale | is_open).select(
            "key",
            "row",
            F.lit(UPSERT).alias("op"),
            no_names().alias("unchanged"),
            F.col("row").getField(self.topic).alias("topic"),
            F.col("row").getField(self.partition).alias("partition"),
            offset.alias("offset"),
            F.col("row").getField(self.start).alias("timestamp"),
            is_stale.alias("stale"),
        )

    def _begins(self, starts: Starts) -> Column:
        """Returns a column for rows of the table. The column contains the first offset that the window reads in the
        partition of the row.

        For a partition that the window does not read, the value is ``2**63 - 1``, which is greater than any offset.
        """
        topic, partition = F.col("row").getField(self.topic), F.col("row").getField(self.partition)
        begins = F.lit(2**63 - 1)
        for (name, number), start in sorted(starts.items()):
            begins = F.when((topic == name) & (partition == number), F.lit(start)).otherwise(begins)
        return begins

    def of_events(self, events: DataFrame, there: DataFrame | None) -> DataFrame:
        """Returns the changes to the versions of all keys in ``events``.

        A key's events may come from several partitions. Offsets then do not show the order of the events, so the result
        contains a conflict for this key instead of changes.

        Args:
            events: The events.
            there: The result of ``touched``: the versions in the table. None if the table does not exist yet.
        """
        conflicts = self._conflicts(events, there)
        ordered = events.join(conflicts, "key", "left_anti").select(*_EVENT)
        if there is not None:
            before = there.where("NOT stale").join(conflicts, "key", "left_anti")
            # the version that was open before the window counts as the key's first event, so the events can close or
            # continue it
            ordered = ordered.unionByName(before.select(*_EVENT))
        versions = self._new_versions(ordered)
        if there is None:
            changes = versions.withColumn("action", F.lit(INSERT)).withColumn("now_topic", F.lit(None).cast("string"))
        else:
            changes = self._beside(versions, there.join(conflicts, "key", "left_anti"))
        shown = changes.select(
            "key",
            "row",
            "action",
            F.lit(UPSERT).alias("op"),
            "topic",
            no_names().alias("unchanged"),
            "incomplete",
            "now_topic",
            F.lit(None).cast("int").alias("now_partition"),
        )
        refused = conflicts.select(
            "key",
            F.lit(None).cast(self.schema).alias("row"),
            F.lit(CONFLICT).alias("action"),
            F.lit(UPSERT).alias("op"),
            F.lit("").alias("topic"),
            no_names().alias("unchanged"),
            no_names().alias("incomplete"),
            "now_topic",
            "now_partition",
        )
        return shown.unionByName(refused)

    def _conflicts(self, events: DataFrame, there: DataFrame | None) -> DataFrame:
        """Returns the keys whose events and versions come from more than one partition. Offsets cannot order these
        events.

        The columns are ``key``, ``now_topic`` and ``now_partition``. The last two columns contain the topic and the
        partition from which the key's version in the table comes. They are null if the table has no version of the key.

        Args:
            events: The events.
            there: The result of ``touched``: the versions in the table. None if the table does not exist yet.
        """
        place = F.struct("topic", "partition")
        places = events.groupBy("key").agg(F.min(place).alias("first"), F.max(place).alias("last"))
        now = F.lit(None).cast("struct<topic: string, partition: int>").alias("now")
        if there is None:
            joined = places.select("*", now)
        else:
            joined = places.join(there.groupBy("key").agg(F.min(place).alias("now")), "key", "left")
        # ``now`` is null for a key without a version in the table, so the comparison is null, too
        crosses = (F.col("first") != F.col("last")) | F.coalesce(F.col("now") != F.col("first"), F.lit(False))
        shown = F.col("now.topic").alias("now_topic"), F.col("now.partition").alias("now_partition")
        return joined.where(crosses).select("key", *shown)

    def _new_versions(self, events: DataFrame) -> DataFrame:
        """Applies ``events`` in order, and returns the versions that they create, one row per version.

        The columns are ``key``, ``row``, ``topic``, ``offset``, ``incomplete``, and ``until`` for the end of the
        version.
        """
        # keys with events from several partitions have been left out as conflicts, so offsets order the events of a key
        in_order = Window.partitionBy("key").orderBy("offset")
        filled = self._filled(events, in_order)
        before = F.lag("op").over(in_order)
        columns = []
        for name in self.tracked:
            columns.append(_comparable(F.col("row").getField(name), self.schema[name].dataType).alias(name))
        filled = filled.withColumn("tracked", F.struct(*columns))
        is_same = F.col("tracked").eqNullSafe(F.lag("tracked").over(in_order))
        begins = (F.col("op") == UPSERT) & (before.isNull() | (before == DELETE) | ~is_same)
        ends = (F.col("op") == DELETE) & (before == UPSERT)
        # ``before`` is null at the first event of a key, so ``ends`` may be null
        marked = filled.withColumn("begins", begins).withColumn("bounds", F.coalesce(begins | ends, F.lit(False)))
        number = F.sum(F.col("begins").cast("int")).over(in_order).alias("number")
        # The version that an event begins ends at the first bound after the event.
        after = in_order.rowsBetween(1, Window.unboundedFollowing)
        bound = F.when(F.col("bounds"), F.struct("timestamp", "offset"))
        placed = marked.select("*", number, F.first(bound, ignorenulls=True).over(after).alias("until"))
        grouped = (
            placed.where(F.col("op") == UPSERT)
            .groupBy("key", "number")
            .agg(
                F.min_by(F.struct("row", "topic", "offset", "timestamp", "incomplete"), "offset").alias("first"),
                F.max_by("row", "offset").alias("newest"),
                F.max_by("until", "offset").alias("until"),
            )
        )
        return grouped.select(
            "key",
            self._version().alias("row"),
            "first.topic",
            "first.offset",
            "first.incomplete",
            "until",
        )

    def _filled(self, events: DataFrame, in_order: WindowSpec) -> DataFrame:
        """Returns ``events``, with values for columns that an update left out because it did not change them.

        The value comes from the last earlier event of the key that contains the column. The search ends at a deletion
        of the key. If there is no such event, the new column ``incomplete`` lists the name of the column.
        """
        deletions = F.sum((F.col("op") == DELETE).cast("int")).over(in_order)
        events = events.withColumn("deletions", deletions)
        since = Window.partitionBy("key", "deletions").orderBy("offset")
        columns, missing = [], []
        for field in self.schema.fields:
            value = F.col("row").getField(field.name)
            if can_be_unchanged(field.dataType) and field.name not in self.own:
                is_absent = F.array_contains("unchanged", field.name)
                # ignorenulls must skip events that lack the column, but not a value that is null, so each value is in a
                # struct
                held = F.when((F.col("op") == UPSERT) & ~is_absent, F.struct(value.alias("v")))
                known = F.last(held, ignorenulls=True).over(since)
                value = F.when(is_absent, known.getField("v")).otherwise(value)
                missing.append(F.when(is_absent & known.isNull(), F.lit(field.name)))
            columns.append(value.cast(field.dataType).alias(field.name))
        incomplete = F.array_compact(F.array(*missing)) if missing else no_names()
        names = [name for name in events.columns if name not in ("row", "deletions")]
        return events.select(*names, F.struct(*columns).alias("row"), incomplete.alias("incomplete"))

    def _version(self) -> Column:
        """Returns a column with the row of a version. A version covers one or several events with equal tracked
        columns.

        The key, the coordinates and the tracked columns come from the first event of the version. All other columns
        come from its last event. The row also contains the time at which the version ends, which is null for the
        current version.
        """
        columns = []
        for field in self.schema.fields:
            if field.name == self.start:
                value = F.col("first.timestamp")
            elif field.name == self.end:
                value = F.col("until.timestamp")
            elif field.name == self.current:
                value = F.col("until").isNull()
            elif field.name == self.closed_by:
                value = F.col("until.offset")
            elif field.name in self.own or field.name in self.tracked:
                value = F.col("first.row").getField(field.name)
            else:
                value = F.col("newest").getField(field.name)
            columns.append(value.cast(field.dataType).alias(field.name))
        return F.struct(*columns)

    def _beside(self, versions: DataFrame, there: DataFrame) -> DataFrame:
        """Compares ``versions`` with ``there``, and returns the changes that turn ``there`` into ``versions``.

        Args:
            versions: The versions that the events create.
            there: The versions in the table.
        """
        now = there.select(
            F.col("key").alias("now_key"),
            F.col("row").alias("now_row"),
            F.col("topic").alias("now_topic"),
            F.col("offset").alias("now_offset"),
        )
        is_same = (F.col("key") == F.col("now_key")) & (F.col("offset") == F.col("now_offset"))
        # a version is identified by its key and by the record that began it
        joined = versions.join(now, is_same, "full_outer")
        differs = ~reduce(and_, [self._same(name) for name in self.schema.names])
        action = F.when(F.col("now_row").isNull(), INSERT).when(F.col("row").isNull(), REMOVE).when(differs, UPDATE)
        return (
            joined.withColumn("action", action)
            .where(F.col("action").isNotNull())
            .select(
                F.coalesce("key", "now_key").alias("key"),
                F.coalesce("row", "now_row").alias("row"),
                F.coalesce("topic", "now_topic").alias("topic"),
                F.coalesce("incomplete", no_names()).alias("incomplete"),
                "action",
                "now_topic",
            )
        )

    def _same(self, name: str) -> Column:
        kind = self.schema[name].dataType
        left, right = (F.col(row).getField(name) for row in ("row", "now_row"))
        return _comparable(left, kind).eqNullSafe(_comparable(right, kind))


def _comparable(column: Column, kind: DataType) -> Column:
    """Returns ``column`` in a form that Spark can compare. Spark cannot compare maps, so a column whose type contains a
    map becomes a JSON string.
    """
    if _has_map(kind):
        return F.to_json(F.struct(column.alias("v")))
    return column


def _has_map(kind: DataType) -> bool:
    if isinstance(kind, MapType):
        return True
    if isinstance(kind, ArrayType):
        return _has_map(kind.elementType)
    if isinstance(kind, StructType):
        return reduce(or_, (_has_map(field.dataType) for field in kind.fields), False)
    return False
