"""Combines all events of a key in a window into one change. The change contains the row of the key after these events.

An event is a record that changes or deletes the row of its key. A window is the range of offsets that a run reads.

| column | type | meaning |
|---|---|---|
| ``key``, ``row``, ``op``, ``topic``, ``partition``, ``offset``, ``timestamp``, ``order`` | | as of the last event |
| ``unchanged`` | array<string> | columns that no event contains; in the table, these columns keep their values |
| ``incomplete`` | array<string> | columns without a known value: no event after a deletion contains them |
| ``crosses`` | boolean | true if the events are from several partitions |
| ``events`` | bigint | the number of events |
| ``deletions`` | array<struct> | with ``sequence_by``: the ``order`` of every deletion with a sequence |

A soft deletion marks a row as deleted. The row keeps the values from before the deletion.
"""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from dagster_smt.tables.keyed.key_events import DELETE, UPSERT, Keyed, no_names
from dagster_smt.tables.keyed.unavailable import can_be_unchanged

_RECORD = ("topic", "partition", "offset", "timestamp", "order")


def last_events(events: DataFrame) -> DataFrame:
    """Returns one row per key, with the last event of the key. Earlier events of the key are left out.

    Use the function for tables without soft deletions (deletions that only mark a row as deleted). The last event may
    lack columns, because an update did not change them. The column ``unchanged`` lists these columns. If the list is
    not empty, the caller needs ``folded_events``, which takes the missing values from earlier events.
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
    """Applies the events of each key in order. Returns one row per key, with the key's row after the last event.

    Args:
        events: The events, with the columns that ``tables.keyed.key_events`` describes.
        keyed: The table.
    """
    row = events.schema["row"].dataType
    assert isinstance(row, StructType)
    fold = _EventFold(row, soft=keyed.rows.deletes == "soft")
    # the comparator reads only ``order``; without a comparator, Spark would compare whole structs, but Spark cannot
    # compare maps, which a row may contain
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
        # a deletion leaves no row in the state, but the change needs the key and the coordinates of the deletion
        shown = F.coalesce(F.col("state.row"), F.col("last.row"))
    return by_key.select("key", shown.alias("row"), "last.op", *record, "state.unchanged", "state.incomplete", *facts)


def _fields(events: DataFrame) -> Sequence[str]:
    return [name for name in events.columns if name not in ("key", "order")]


def _facts(events: DataFrame) -> Sequence[Column]:
    """Returns aggregates over all events of a key: ``crosses`` is true if the events come from several partitions, and
    ``events`` is the number of events. With ``sequence_by``, ``deletions`` lists the ``order`` of each deletion that
    has a sequence.
    """
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
    """Returns a column with the row of a key after its last event, for a table that only marks rows as deleted.

    If the last event is a deletion, the row keeps its earlier values. Only the flag, the time of the deletion, the key,
    the coordinates (topic, partition and offset) and the sequence come from the deletion.

    Args:
        row: The type of the row.
        keyed: The table.
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
    """Computes the row of one key: it applies the key's events one after the other.

    The state after each event is a struct with three fields:

    - ``row``: the row so far;
    - ``unchanged``: the columns that still have the value in the table. Before the first event, these are all columns;
    - ``incomplete``: the columns without a known value. After a deletion, these are all columns.

    A soft deletion (which only marks the row as deleted) changes none of the three fields.
    """

    def __init__(self, row: StructType, *, soft: bool):
        self.row, self.soft = row, soft
        self.all_names = F.array(*(F.lit(field.name) for field in row.fields))
        self.no_names = no_names()

    def result(self) -> Column:
        """Returns the state after the last event. The events are in the array column ``in_order``, sorted."""
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
            # a column keeps its value in the table only if none of the events contains the column
            F.array_intersect(absent, state.getField("unchanged")),
            F.array_intersect(absent, state.getField("incomplete")),
        )

    def _merged(self, state: Column, event: Column) -> Column:
        columns = []
        for field in self.row.fields:
            value = event.getField("row").getField(field.name)
            # columns of other types never contain Debezium's placeholder, so they need no condition
            if can_be_unchanged(field.dataType):
                before = state.getField("row").getField(field.name)
                is_absent = F.array_contains(event.getField("unchanged"), field.name)
                value = F.when(is_absent, before).otherwise(value)
            columns.append(value.alias(field.name))
        return F.struct(*columns).cast(self.row)

    def _state(self, row: Column, unchanged: Column, incomplete: Column) -> Column:
        return F.struct(row.alias("row"), unchanged.alias("unchanged"), incomplete.alias("incomplete"))
