"""Computes the changes that a window makes to a table with keys, and the effects of these changes. Records whose order
is unknown are marked as failed.

A replay reads an old window again: ``orders-0 [10, 20)``, for example, in a table that has read up to 50. Without
``sequence_by``, the run also reads the records 20 to 49 again, because they may contain later events of the same keys.
With ``sequence_by``, this is not necessary: each row stores the sequence of its event, and a second table remembers
deletions.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from dagster_smt.chain import Chain, Plan
from dagster_smt.chain.plan import columns
from dagster_smt.errors import Problem, TableError
from dagster_smt.model.topics.keyed import CROSSING
from dagster_smt.model.topics.state import TableState
from dagster_smt.model.windows.offsets import OffsetSet, offsets_of
from dagster_smt.model.windows.window import Range, Window
from dagster_smt.run.counts import FAILED
from dagster_smt.run.rejects import last_stage, with_failed
from dagster_smt.run.run_spec import RunSpec
from dagster_smt.run.staging import EvaluatedWindow, ranges_of_records
from dagster_smt.spark.broadcasts import is_small
from dagster_smt.spark.shuffles import by_key
from dagster_smt.tables.keyed.fold import folded_events, last_events
from dagster_smt.tables.keyed.history import version_changes
from dagster_smt.tables.keyed.key_events import Keyed, events, key_failures
from dagster_smt.tables.keyed.keys import key_columns
from dagster_smt.tables.keyed.remembered_deletions import remembered, with_deletions
from dagster_smt.tables.keyed.row_actions import (
    CONFLICT,
    WRITTEN,
    Effects,
    current_rows,
    effects_of,
    vanished_rows,
    with_actions,
)
from dagster_smt.tables.sinks.merge import Merge
from dagster_smt.tables.sinks.protocol import MergingTable, Table

_MARK = "crossing"


def keyed_of(spec: RunSpec, plan: Plan) -> Keyed | None:
    """Returns a description of the table with keys (a table with one row for each key) that the run ``spec`` writes. If
    the run writes a different kind of table, returns None.

    Raises:
        PlanError: The plan lacks a column that the table needs.
    """
    rows, coordinates = spec.sink.keyed, spec.sink.coordinates
    if rows is None:
        return None
    assert coordinates is not None
    return Keyed(rows, key_columns(plan, rows), coordinates)


def with_key_failures(evaluated: DataFrame, keyed: Keyed, chain: Chain) -> DataFrame:
    """Marks as failed each record that has no key or no value of ``sequence_by``. Returns the evaluated records."""
    for condition, problem in key_failures(evaluated, keyed):
        evaluated = with_failed(evaluated, condition, last_stage(chain), problem, F.lit(problem.statement))
    return evaluated


def starts_of(window: Window) -> dict[tuple[str, int], int]:
    """Returns the first offset of each topic-partition in ``window``."""
    starts: dict[tuple[str, int], int] = {}
    for r in window.ranges:
        place = (r.topic, r.partition)
        starts[place] = min(r.start, starts.get(place, r.start))
    return starts


def offsets_to_read_on(spec: RunSpec, window: Window, state: TableState | None, there: OffsetSet) -> OffsetSet:
    """Returns the offsets after ``window`` that the table has already read.

    A replay of ``orders-0 [10, 20)`` returns ``orders-0 [20, 50)`` if the table has read up to 50. These records may
    contain later events of the window's keys, so they determine the current rows.

    Args:
        spec: The run.
        window: The window of the run.
        state: The state of the table; None if it starts over.
        there: The offsets that the source has.

    Raises:
        TableError: SMT723, the source has lost some of these offsets.
    """
    if state is None or spec.sink.keyed is None or spec.sink.keyed.sequence_by:
        return OffsetSet()
    starts = starts_of(window)
    tails = []
    for topic, partition in starts:
        end = max((end for _, end in state.held.parts.get((topic, partition), ())), default=0)
        start = starts[topic, partition]
        if end > start:
            tails.append(Range(topic, partition, start, end))
    later = (state.held & offsets_of(tails)) - offsets_of(window)
    lost = later - there
    if lost:
        first = next(iter(lost.ranges()))
        statement = "records after the window are no longer in the topic, so the current rows of its keys are unknown"
        hint = "leave the window out; or start the table over with window.rebuild: true"
        raise TableError(Problem("SMT723", f"{first.topic}-{first.partition}", statement, hint))
    return later


@dataclass(frozen=True)
class Replay:
    """A window that a table has already read, with the later records that the run also reads again. For example, the
    run replays ``orders-0 [10, 20)``, and also reads the offsets 20 to 49, up to the table's progress.

    Attributes:
        window: The records of the window, before the chain.
        later: The records after the window, before the chain.
        before: The state of the table.
    """

    window: DataFrame
    later: DataFrame
    before: TableState | None

    def check(self, evaluated: DataFrame, keyed: Keyed | None, plan: Plan, place: str) -> None:
        """Raises an error if the chain rejects a later record that the current rows may depend on.

        A replay that skipped such a record, for example a tombstone, could restore a deleted row.

        Args:
            evaluated: The evaluated later records.
            keyed: The table.
            plan: The plan of the chain.
            place: The table, for messages.

        Raises:
            TableError: SMT725.
        """
        failures = evaluated.where(F.col("__status") == FAILED)
        failing = ranges_of_records(failures)
        if self.before is not None:
            failing = failing - self.before.failed  # records that failed before may fail again
        if not failing:
            return
        # a rejected record has no row, so its own key is compared: this is right only if keys of records are keys of
        # rows
        if keyed is not None and not keyed.rows.keys and _keeps_keys(plan):
            failing = failing & ranges_of_records(self._decisive(failures))
        if not failing:
            return
        first = next(iter(failing.ranges()))
        statement = (
            f"the chain rejects {failing.records} records after the window that the table has read before, from "
            f"{first.topic}-{first.partition} @ {first.start} on, so the current rows of its keys are unknown"
        )
        hint = "change the chain so that it accepts these records, or start the table over with window.rebuild: true"
        raise TableError(Problem("SMT725", place, statement, hint))

    def _decisive(self, failures: DataFrame) -> DataFrame:
        """Returns the rejected records in ``failures`` that may have an effect on a row.

        A tombstone has no effect if the window contains no event of its key, or if the window contains a later event of
        its key. A rejected record with a value may always have an effect: the key of its row may depend on this value,
        and is therefore unknown.
        """
        place = ["topic", "partition"]
        last = self.window.groupBy(*place, "key").agg(F.max("offset").alias("last"))
        record = [F.col(name).alias(f"__{name}") for name in (*place, "offset")]
        # a null in "last" means that the window has no event of the key
        without_effect = F.col("value").isNull() & F.coalesce(F.col("last") > F.col("offset"), F.lit(True))
        harmless = self.later.where("key IS NOT NULL").join(last, [*place, "key"], "left").where(without_effect)
        return failures.join(harmless.select(*record), ["__topic", "__partition", "__offset"], "left_anti")


def _keeps_keys(plan: Plan) -> bool:
    """Returns True if the chain of ``plan`` leaves the keys of records unchanged."""
    if plan.key is None or plan.key_after != plan.key:
        return False
    for record in plan.results.values():
        if not all(cell.copied for _, cell in columns(record.key)):
            return False
    return True


@dataclass(frozen=True)
class KeyedWindow:
    """The changes that a window makes to a table with keys, cached by Spark.

    Attributes:
        events: The events of the window's records, and of later records with the same keys that the run reads again.
        changes: The changes, with actions: see ``tables.keyed.row_actions``.
        effects: The counts of the changes.
        keyed: The table.
        schema: The columns of the table.
        seen: The version of the table that the changes were computed from; empty if there is no table.
    """

    events: DataFrame
    changes: DataFrame
    effects: Effects
    keyed: Keyed
    schema: StructType
    seen: str = ""

    def new_rows(self) -> DataFrame:
        """Returns the rows that this window inserts if the run creates the table, or replaces all of its rows."""
        return self.changes.where(F.col("action") == "insert").select("row.*")

    def written(self) -> DataFrame:
        """Returns the changes that have an effect on a row."""
        columns = self.changes.select("row", "unchanged", "action")
        written = columns.where(F.col("action").isin(*WRITTEN))
        if is_small(columns):
            return F.broadcast(written)
        return written

    def merge(self) -> Merge:
        """Returns the rules with which a ``MERGE`` turns the changes into rows."""
        names, actions = self.keyed.columns.names, self.effects.actions
        # a version is identified by its key and by the record that began the version
        if self.keyed.rows.mode == "scd2":
            return Merge(self.schema, (*names, *self.keyed.coordinates.names), actions=actions)
        if not self.effects.keeps_columns:
            return Merge(self.schema, names, actions=actions)
        # each event contains these columns, so an update always writes them
        fixed = {*self.keyed.columns.names, *self.keyed.coordinates.names, *self.keyed.rows.soft.names}
        unchanged = frozenset(name for name in self.schema.names if name not in fixed)
        return Merge(self.schema, names, unchanged, actions)


@contextmanager
def keyed_window(
    result: EvaluatedWindow,
    left_out: frozenset[str],
    later: DataFrame | None,
    keyed: Keyed,
    schema: StructType,
    table: Table | None,
    deletions: Table | None,
    window: Window,
    over: frozenset[str] = frozenset(),
) -> Iterator[KeyedWindow]:
    """Computes the changes that a window makes to a table with keys.

    Args:
        result: The evaluated window.
        left_out: Topics that are not committed.
        later: Evaluated records after the window that the table has already read.
        keyed, schema: The table and its columns.
        table: The table; None if this window creates it.
        deletions: The table of deletions, if there is one.
        window: The window.
        over: Topics that are read again from the beginning. The old rows of these topics are removed, unless the window
            creates the rows again.
    """
    of_window = events(result.rows_out(left_out), schema, keyed)
    records = sum(counts.records for counts in result.topics.values())
    every = of_window
    # before the rows are read: if another writer changes rows after this version, the merge fails (SMT708) instead of
    # losing events
    seen = table.version() if isinstance(table, MergingTable) else ""
    if later is not None:
        after = events(later, schema, keyed).join(of_window.select("key").distinct(), "key", "left_semi")
        every = of_window.unionByName(after)
    else:
        every = by_key(of_window, records, "key")
    with ExitStack() as stack:
        numbers: dict[str, int] | None = None
        if keyed.rows.mode == "scd2":
            # a table of versions supersedes no event: the versions of earlier events stay
            numbers = dict.fromkeys(result.topics.keys() - left_out, 0)
        elif keyed.rows.sequence_by or later is not None:
            # The events of a key may belong to several topics, or to records after the window. In these cases they are
            # counted separately.
            numbers = {}
            for row in of_window.groupBy("topic").count().collect():
                numbers[row.topic] = row["count"]
        vanished = None
        if table is not None and over:
            vanished = vanished_rows(table.read(), every, sorted(over), keyed, schema)
        if keyed.rows.mode == "scd2":
            every = _persisted(every, stack)
            rows = table.read() if table is not None else None
            versions = version_changes(every, rows, starts_of(window), keyed, schema)
            changes, effects = _counted(versions, vanished, numbers, stack)
        else:
            current = _current_rows(table, result, of_window, keyed) if table is not None else None
            actions = _Actions(keyed, current)
            if deletions is not None:
                deleted = remembered(deletions, of_window, offsets_of(window).without(left_out))
                actions = _Actions(keyed, current, remembers=True, deleted=deleted)
            # The last event of a key is enough, unless the event lacks a column or a deletion keeps the columns of its
            # row.
            is_whole = keyed.rows.deletes == "soft"
            folded = folded_events(every, keyed) if is_whole else last_events(every)
            changes, effects = _counted(actions.of(folded), vanished, numbers, stack)
            if effects.keeps_columns and not is_whole:
                changes.unpersist()
                whole = actions.of(folded_events(every, keyed))
                changes, effects = _counted(whole, vanished, numbers, stack)
        yield KeyedWindow(every, changes, effects, keyed, schema, seen)


@dataclass(frozen=True)
class _Actions:
    """The inputs from which the action of each change in a window is determined.

    Attributes:
        keyed: The table.
        current: The current rows; None if the window creates the table.
        remembers: True if the table remembers deletions.
        deleted: The remembered deletions; None if there are none yet.
    """

    keyed: Keyed
    current: DataFrame | None
    remembers: bool = False
    deleted: DataFrame | None = None

    def of(self, folded: DataFrame) -> DataFrame:
        """Returns ``folded``, the combined events of each key, with the column ``action`` added."""
        if self.remembers:
            folded = with_deletions(folded, self.deleted)
        return with_actions(folded, self.current, self.keyed)


def _counted(
    changes: DataFrame, vanished: DataFrame | None, numbers: dict[str, int] | None, stack: ExitStack
) -> tuple[DataFrame, Effects]:
    """Caches ``changes`` and ``vanished`` together, and returns the cached changes and the counts of their effects.
    ``vanished`` contains deletions of rows. A rebuild reads topics again, and deletes the rows of these topics whose
    keys no longer occur in the records.
    """
    if vanished is not None:
        changes = changes.unionByName(vanished, allowMissingColumns=True)
    changes = _persisted(changes, stack)
    return changes, effects_of(changes, numbers)


def _persisted(frame: DataFrame, stack: ExitStack) -> DataFrame:
    persisted = frame.persist(StorageLevel.MEMORY_AND_DISK)
    stack.callback(persisted.unpersist)
    return persisted


def _current_rows(table: Table, result: EvaluatedWindow, of_window: DataFrame, keyed: Keyed) -> DataFrame:
    """Returns the key of each row of ``table``, with the coordinates of the record that produced the row. For a small
    window, the result contains only the rows of the window's keys.

    Spark can look for these few keys while it reads the table. Without this limit, Spark would have to sort all keys of
    the table.
    """
    rows = current_rows(table.read(), keyed)
    if not is_small(result.frame):
        return rows
    return rows.join(F.broadcast(of_window.select("key")), "key", "left_semi")


def without_conflicts(result: EvaluatedWindow, window: KeyedWindow, chain: Chain) -> DataFrame:
    """Marks records as failed if records of the same key come from several partitions, so that the order of the records
    is unknown. Returns the evaluated window.

    If the table already has a row of such a key, the records from the partition of that row are not marked.
    """
    keys = window.changes.where(F.col("action") == CONFLICT).select("key", "now_topic", "now_partition")
    crossing = window.events.join(keys, "key").where(
        F.col("now_topic").isNull()
        | (F.col("topic") != F.col("now_topic"))
        | (F.col("partition") != F.col("now_partition"))
    )
    record = []
    for name in ("topic", "partition", "offset"):
        record.append(F.col(name).alias(f"{_MARK}_{name}"))
    marked = result.frame.join(
        crossing.select(*record).distinct(),
        (F.col("__topic") == F.col(f"{_MARK}_topic"))
        & (F.col("__partition") == F.col(f"{_MARK}_partition"))
        & (F.col("__offset") == F.col(f"{_MARK}_offset")),
        "left",
    )
    is_crossing = F.col(f"{_MARK}_topic").isNotNull()
    failed = with_failed(marked, is_crossing, last_stage(chain), CROSSING, F.lit(CROSSING.statement))
    return failed.select(*result.frame.columns)
