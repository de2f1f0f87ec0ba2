"""Evaluates a window: computes the rows once, lets Spark cache them, and counts them by topic before they are written.

A run counts the rows before it commits, for two reasons. The commit contains the counts, such as the numbers of dropped
and of failed records. And if records of a topic have failed, a run that tolerates no errors writes none of the topic's
records. Spark caches the rows on its executors, on disk if memory is short. The driver receives only counts.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace

from pyspark import StorageLevel
from pyspark.sql import DataFrame, Row, Window
from pyspark.sql import functions as F

from dagster_smt.chain import Plan
from dagster_smt.formats.sides import self_described
from dagster_smt.jvm.availability import has_lane
from dagster_smt.model.guarded import SIDES
from dagster_smt.model.reports.run_report import SchemaUse, TopicCounts, add_up
from dagster_smt.model.windows.division import WHOLE, Division
from dagster_smt.model.windows.offsets import OffsetSet, offsets_of
from dagster_smt.model.windows.window import Range
from dagster_smt.run.counts import FAILED, count_columns, read_counts
from dagster_smt.run.foreign_changes import changes_of
from dagster_smt.run.time_parts import PART, with_part
from dagster_smt.spark.outcome_columns import CHANGES, LEFT, LEFT_RECORD, schema_column
from dagster_smt.spark.reading.arrays import ELEMENT
from dagster_smt.spark.reading.window_forms import GUESSED, WindowForms, guess_columns
from dagster_smt.spark.records.jvm_records import with_left
from dagster_smt.tables.topic_table import TopicTable

RunLeft = Callable[[DataFrame], DataFrame]
"""A function that evaluates in Python the rows that the JVM lane, the faster path in Java, could not handle."""
LEFT_ROWS = "left_rows"
_FEW_GROUPS = 100
"""The largest number of groups for which the JVM lane, the faster path in Java, counts the rows. Each topic and part of
the window is a group. With more than 128 groups in a task, Spark would sort the rows, which is slow.
"""


@dataclass(frozen=True)
class EvaluatedWindow:
    """A window whose records have been evaluated and counted.

    Attributes:
        frame: The evaluator's columns.
        topics: Counts of each topic that has records in the window.
        parts: The same counts for each part of a divided window. A window that is not divided is one part.
        as_guessed: A dict from topic to the number of records that name the guessed schemas. (A run may read the schema
            of one record, and guess that all records have this schema.)
        other: The number of records that name a schema other than the guessed ones. If it is not 0, the guess was
            wrong, and so are all counts.
    """

    frame: DataFrame
    topics: dict[str, TopicCounts]
    as_guessed: dict[str, int] = field(default_factory=dict)
    other: int = 0
    parts: tuple[dict[str, TopicCounts], ...] = ()

    def rows_out(self, left_out: frozenset[str] = frozenset()) -> DataFrame:
        """Returns the rows of the records that passed through the chain, except for the topics in ``left_out``."""
        rows = self.frame.where("__status = 0")
        if left_out:
            return rows.where(~F.col("__topic").isin(*left_out))
        return rows

    def schemas_as_guessed(self, guess: WindowForms) -> tuple[SchemaUse, ...]:
        """Returns, for each topic and each schema in ``guess``, the number of records that name the schema. The run has
        read the schemas of one record, and guessed that all records name the same schemas.
        """
        records_by_topic = {}
        for topic, records in self.as_guessed.items():
            if records:
                records_by_topic[topic] = records
        uses = []
        for t, records in records_by_topic.items():
            for use in guess.uses:
                uses.append(replace(use, topic=t, records=records))
        return tuple(uses)

    def schemas(self, table: TopicTable) -> tuple[SchemaUse, ...]:
        """Returns, for each topic and each schema of a schema registry, the number of the window's records that name
        the schema. The result is empty unless the sink is a table of records.
        """
        uses_of_schemas = []
        for side in SIDES:
            name = schema_column(side)
            if name not in self.frame.columns:
                continue
            codec = self_described(table.key if side == "key" else table.value)
            rows = self.frame.where(F.col(name).isNotNull()).groupBy("__topic", name).count().collect()
            uses = Counter[tuple[str, str]]()
            for topic, text, count in rows:
                uses[topic, codec.schema_id(bytes(text))] += count
            for (topic, schema), count in sorted(uses.items()):
                uses_of_schemas.append(SchemaUse(topic, side, schema, count))
        return tuple(uses_of_schemas)

    def failed(self) -> OffsetSet:
        """Returns the offsets of the failed records."""
        return ranges_of_records(self.frame.where(F.col("__status") == FAILED))

    def partly_failed(self) -> bool:
        """Returns True if a failed record may also have rows that did not fail. If each element of an array becomes a
        row, one element of ``[1, "x"]`` may fail, and the other may not.
        """
        if ELEMENT not in self.frame.columns:
            return False
        return not self.frame.where((F.col("__status") == FAILED) & F.col(ELEMENT).isNotNull()).isEmpty()


def ranges_of_records(rows: DataFrame) -> OffsetSet:
    """Returns the offsets of the records in ``rows``. Executors combine the offsets into ranges."""
    place = ("__topic", "__partition")
    # ranks offsets, not rows, because several rows may come from one record
    number = F.dense_rank().over(Window.partitionBy(*place).orderBy("__offset"))
    numbered = rows.select(*place, "__offset", number.alias("number"))
    ranges = numbered.groupBy(*place, F.col("__offset") - F.col("number")).agg(
        F.min("__offset").alias("start"), (F.max("__offset") + 1).alias("end")
    )
    bounds = ranges.select(*place, "start", "end").collect()
    return offsets_of(Range(topic, partition, start, end) for topic, partition, start, end in bounds)


@contextmanager
def staged(evaluated: DataFrame, plan: Plan, left: RunLeft, division: Division = WHOLE) -> Iterator[EvaluatedWindow]:
    """Evaluates, caches and counts a window, and yields the result. The cache is released at the end of the block.

    Args:
        evaluated: The evaluator's columns.
        plan: The plan of the chain.
        left: A function that evaluates the cached rows that the JVM lane, the faster path in Java, could not handle.
        division: The division of the window into parts, which are counted separately.
    """
    chain, entries = plan.chain, plan.entries
    frames = [evaluated.persist(StorageLevel.MEMORY_AND_DISK)]
    try:
        (frame,) = frames
        rows = _counts(frame, plan, division)
        if any(row[LEFT_ROWS] for row in rows):
            frames.append(left(frame).persist(StorageLevel.MEMORY_AND_DISK))
            frame = with_left(*frames)
            rows = _counts(frame, plan, division)
        changed = changes_of(frame, division)
        frame = frame.drop(LEFT_RECORD, CHANGES)
        guessed = GUESSED in frame.columns
        parts: tuple[dict[str, TopicCounts], ...] = tuple({} for _ in range(division.parts))
        as_guessed, other = Counter[str](), 0
        for row in rows:
            counted = read_counts(row, len(chain.stages), len(entries))
            changes = changed.get((row["__topic"], row[PART]), ())
            parts[row[PART]][row["__topic"]] = replace(counted, changes=tuple(changes))
            if guessed:
                as_guessed[row["__topic"]] += row["as_guessed"]
                other += row["other"]
        topics = dict.fromkeys(row["__topic"] for row in rows)
        counts = {}
        for topic in topics:
            counts[topic] = add_up(of[topic] for of in parts if topic in of)
        yield EvaluatedWindow(frame, counts, dict(as_guessed), other, parts)
    finally:
        # the window may have been committed, so failing to release the cache is not a failure of the window
        with suppress(Exception):
            for rows_of_spark in frames:
                rows_of_spark.unpersist()


def _counts(frame: DataFrame, plan: Plan, division: Division) -> list[Row]:
    """Returns a row of counts for each topic and part of the window in ``frame``, ordered by topic."""
    lane = 0 < len(plan.topics) * division.parts <= _FEW_GROUPS and has_lane(frame.sparkSession)
    counted = count_columns(plan.chain, plan.entries, arrays=ELEMENT in frame.columns, lane=lane)
    guessed = guess_columns() if GUESSED in frame.columns else []
    left = F.count_if(F.col("__status") == LEFT).alias(LEFT_ROWS)
    divided, part = with_part(frame, division)
    rows = divided.groupBy("__topic", part.alias(PART)).agg(*counted, *guessed, left).collect()
    return sorted(rows, key=lambda row: str(row["__topic"]))
