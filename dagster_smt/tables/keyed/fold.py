"""Combines the events of a window into one change for each key. The change contains the row of the key after all events
in the window.

| column | type | meaning |
|---|---|---|
| ``key``, ``row``, ``op``, ``topic``, ``partition``, ``offset``, ``timestamp``, ``order`` | | as of the last event |
| ``unchanged`` | array<string> | columns that no event of the window has, so the table's values stay |
| ``incomplete`` | array<string> | columns without a known value: the row is new, and no event has them |
| ``crosses`` | boolean | true if the events are from several partitions |
| ``events`` | bigint | the number of events |
| ``deletions`` | array<struct> | with ``sequence_by``: the ``order`` of every deletion in the window |

The row of a soft deletion keeps the values from before the deletion.
"""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from dagster_smt.tables.keyed.key_events import DELETE, UPSERT, Keyed, no_names
from dagster_smt.tables.keyed.unavailable import can_be_unchanged

_RECORD = ("topic", "partition", "offset", "timestamp", "order")


def last_events(events: DataFrame) -> DataFrame:
    """Returns the last event of each key as the change to the row of the key.

    The last event is sufficient in tables without soft deletions if it contains all columns. The column ``unchanged``
    names the columns that the last event lacks. If there are any, ``folded_events`` has to search the earlier events
    for the values of these columns.
    """
    last = F.max_by(F.struct("order", *_fields(events)), F.col("order")).alias("last")
    record = []
    for name in _RECORD:
        record.append(F.col("last").getField(name).alias(name))
    by_key = events.groupBy("key").agg(last, *_facts(events))
    return by_key.select(
        "key",
        "last.row",
        "last.op",
        *record,
        "last.unchanged",
        no_names().alias("incomplete"),
        *_names_of_facts(events),
    )


def folded_events(events: DataFrame, keyed: Keyed) -> DataFrame:
    """Returns the row of each key after all of its events have been applied in order.

    Args:
        events: See ``tables.keyed.key_events``.
        keyed: The table.
    """
    row = events.schema["row"].dataType
    assert isinstance(row, StructType)
    fold = _EventFold(row, soft=keyed.rows.deletes == "soft")
    in_order = F.array_sort(F.collect_list(F.struct("order", *_fields(events))), _by_order).alias("in_order")
    by_key = events.groupBy("key").agg(in_order, *_facts(events))
    last, state = F.element_at("in_order", -1).alias("last"), fold.result().alias("state")
    facts = _names_of_facts(events)
    by_key = by_key.select("key", *facts, last, state)
    record = []
    for name in _RECORD:
        record.append(F.col("last").getField(name).alias(name))
    if fold.soft:
        shown = _soft_row(row, keyed)
    else:
        shown = F.coalesce(F.col("state.row"), F.col("last.row"))
    return by_key.select("key", shown.alias("row"), "last.op", *record, "state.unchanged", "state.incomplete", *facts)


def _fields(events: DataFrame) -> Sequence[str]:
    return [name for name in events.columns if name not in ("key", "order")]


def _facts(events: DataFrame) -> Sequence[Column]:
    """Returns aggregates over all events of a key."""
    facts = [_crosses(), _number()]
    if _has_sequence(events):
        facts.append(_deletions())
    return facts


def _names_of_facts(events: DataFrame) -> Sequence[str]:
    if _has_sequence(events):
        return ["crosses", "events", "deletions"]
    return ["crosses", "events"]


def _has_sequence(events: DataFrame) -> bool:
    return "sequence" in events.columns


def _deletions() -> Column:
    order = F.when((F.col("op") == DELETE) & F.col("order.sequence").isNotNull(), F.col("order"))
    return F.collect_list(order).alias("deletions")  # without nulls


def _crosses() -> Column:
    partitions = F.struct("topic", "partition")
    return (F.min(partitions) != F.max(partitions)).alias("crosses")


def _number() -> Column:
    return F.count(F.lit(1)).alias("events")


def _by_order(left: Column, right: Column) -> Column:
    is_before = left.getField("order") < right.getField("order")
    is_same = left.getField("order") == right.getField("order")
    return F.when(is_before, -1).when(is_same, 0).otherwise(1)


def _soft_row(row: StructType, keyed: Keyed) -> Column:
    """Returns a column with the row of a key after its last event, for a table with soft deletions. ``row`` is the type
    of this row.

    After a deletion, the row has the values from before the deletion, the flag, and the coordinates of the deletion's
    record.
    """
    deleted, at = keyed.rows.soft.names
    of_event = {*keyed.columns.names, *keyed.coordinates.names}
    columns = []
    for field in row.fields:
        if field.name == deleted:
            value = F.lit(True)
        elif field.name == at:
            value = F.col("last.timestamp")
        elif field.name in of_event:
            value = F.col("last.row").getField(field.name)
        elif field.name == keyed.rows.sequence_by:
            value = F.col("last.sequence")
        else:
            value = F.col("state.row").getField(field.name)
        columns.append(value.cast(field.dataType).alias(field.name))
    return F.when(F.col("last.op") == DELETE, F.struct(*columns)).otherwise(F.col("state.row"))


class _EventFold:
    """The row of a key while the events of the key are applied in order. The state is a struct of ``row``,
    ``unchanged`` and ``incomplete``.

    ``unchanged`` names the columns that still have the table's values: before the first event, all columns.
    ``incomplete`` names the columns with unknown values: after a deletion, all columns. A soft deletion does not change
    these names.
    """

    def __init__(self, row: StructType, *, soft: bool):
        self.row, self.soft = row, soft
        self.all_names = F.array(*(F.lit(field.name) for field in row.fields))
        self.no_names = no_names()

    def result(self) -> Column:
        """Returns the state of the row after all events in the column ``in_order``."""
        start = self._state(F.lit(None).cast(self.row), self.all_names, self.no_names)
        return F.aggregate("in_order", start, self._after)

    def _after(self, state: Column, event: Column) -> Column:
        if self.soft:
            deleted = state
        else:
            deleted = self._state(F.lit(None).cast(self.row), self.no_names, self.all_names)
        return F.when(event.getField("op") == UPSERT, self._upserted(state, event)).otherwise(deleted)

    def _upserted(self, state: Column, event: Column) -> Column:
        absent = event.getField("unchanged")
        return self._state(
            self._merged(state, event),
            F.array_intersect(absent, state.getField("unchanged")),
            F.array_intersect(absent, state.getField("incomplete")),
        )

    def _merged(self, state: Column, event: Column) -> Column:
        columns = []
        for field in self.row.fields:
            value = event.getField("row").getField(field.name)
            if can_be_unchanged(field.dataType):
                before = state.getField("row").getField(field.name)
                is_absent = F.array_contains(event.getField("unchanged"), field.name)
                value = F.when(is_absent, before).otherwise(value)
            columns.append(value.alias(field.name))
        return F.struct(*columns).cast(self.row)

    def _state(self, row: Column, unchanged: Column, incomplete: Column) -> Column:
        return F.struct(row.alias("row"), unchanged.alias("unchanged"), incomplete.alias("incomplete"))
