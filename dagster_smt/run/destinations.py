"""Distributes the records of a window among tables, if each output topic has its own table."""

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from dagster_smt.chain import Plan
from dagster_smt.chain.forms import FORM, FormsPlan
from dagster_smt.errors import Problem
from dagster_smt.model.reports.run_report import TopicCounts, add_up
from dagster_smt.model.schema import Schema
from dagster_smt.model.topics.table_names import unfit_topics
from dagster_smt.run.counts import count_columns, read_counts
from dagster_smt.run.staging import EvaluatedWindow
from dagster_smt.spark.outcome_columns import DESTINATION, KEY
from dagster_smt.spark.reading.arrays import ELEMENT
from dagster_smt.spark.stages.output import WHOLE, columns_of
from dagster_smt.tables.schemas import conformed_value
from dagster_smt.tables.sink_options import TableSink

_VALUE_FORM, _KEY_FORM = "__value_form", "__key_form"


@dataclass(frozen=True)
class Bound:
    """The records of a window that go to one table.

    Attributes:
        topic: The output topic, which names the table.
        counts: Counts of these records, by the topic that they were read from.
        value_forms, key_forms: The numbers of the output schemas that these records' values and keys have. A number is
            an index into ``FormsPlan.values_after`` or ``FormsPlan.keys_after``.
    """

    topic: str
    counts: Mapping[str, TopicCounts] = field(default_factory=dict)
    value_forms: frozenset[int] = frozenset()
    key_forms: frozenset[int] = frozenset()

    @property
    def records(self) -> int:
        """The number of records that go to the table."""
        return sum(counts.records for counts in self.counts.values())


@dataclass(frozen=True)
class Bounds:
    """The tables to which the records of a window go.

    Attributes:
        bound: The records of each table, by output topic. If there are too many output topics, only the topics that
            have a table are included.
        new: The number of output topics that do not have a table yet.
    """

    bound: Mapping[str, Bound]
    new: int


def destination_column(kind: str) -> Column:
    """Returns the column with the output topic of an evaluated record. ``kind`` is the kind of the sink."""
    if kind == "records":
        return F.col("__out.topic")
    return F.col(DESTINATION)


def bounds_of(
    result: EvaluatedWindow, left_out: frozenset[str], plan: Plan, sink: TableSink, known: Collection[str]
) -> Bounds:
    """Returns, for each table, the records of a window that go to this table: their counts and their output schemas.
    The result also contains the number of output topics that do not have a table yet.

    Args:
        result: The evaluated window.
        left_out: Topics that are not committed.
        plan: The plan of the chain, with all output schemas.
        sink: The sink.
        known: The topics that have a table already.
    """
    passed = result.rows_out(left_out)
    topic = destination_column(sink.kind)
    # one name more than permitted is enough to know that there are too many
    most = sink.max_tables + 1
    names = []
    for row in passed.select(F.coalesce(topic, F.lit(""))).distinct().limit(most + len(known)).collect():
        names.append(row[0])
    new = set(names) - {*known}
    if len(names) >= most + len(known):  # the driver must not collect so many names
        passed, new = passed.where(topic.isin(*known)), {*map(str, range(most))}
    # a null topic becomes the empty topic, which gets no table (SMT731)
    marked = passed.select(
        *(name for name in passed.columns if name not in ("__out", KEY)),
        F.coalesce(topic, F.lit("")).alias("__bound_for"),
        _form("__out", len(plan.values_after) if isinstance(plan, FormsPlan) else 0).alias(_VALUE_FORM),
        _form(KEY, len(plan.keys_after) if isinstance(plan, FormsPlan) and plan.chain.keeps_key else 0).alias(
            _KEY_FORM
        ),
    )
    # not with the aggregate of the JVM lane: each table is a group, and Spark sorts the rows for it if a task has many
    # groups
    counted = count_columns(plan.chain, plan.entries, arrays=ELEMENT in passed.columns)
    rows = marked.groupBy("__topic", "__bound_for", _VALUE_FORM, _KEY_FORM).agg(*counted).collect()
    by_topic: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_topic[row["__bound_for"]].append(row)
    bound = {topic: _bound(topic, by_topic[topic], plan) for topic in sorted(by_topic)}
    return Bounds(bound, len(new))


def _bound(topic: str, rows: list[Row], plan: Plan) -> Bound:
    counts: dict[str, list[TopicCounts]] = defaultdict(list)
    for row in rows:
        counts[row["__topic"]].append(read_counts(row, len(plan.chain.stages), len(plan.entries)))
    value_forms = []
    for row in rows:
        if row[_VALUE_FORM] >= 0:
            value_forms.append(row[_VALUE_FORM])
    key_forms = []
    for row in rows:
        if row[_KEY_FORM] >= 0:
            key_forms.append(row[_KEY_FORM])
    records = {}
    for source, parts in sorted(counts.items()):
        records[source] = add_up(parts)
    return Bound(
        topic,
        records,
        frozenset(value_forms),
        frozenset(key_forms),
    )


def _form(column: str, forms: int) -> Column:
    """Returns a column with the number of each row's output schema.

    The struct ``column`` has a field for each of the ``forms`` output schemas: ``f0``, ``f1`` and so on. In a row with
    the schema number 1, only ``f1`` is not null, so the result is 1. If all fields are null, the result is -1.
    """
    number = F.lit(-1)
    for form in reversed(range(forms)):
        number = F.when(F.col(f"{column}.{FORM}{form}").isNotNull(), F.lit(form)).otherwise(number)
    return number


def refusals(bounds: Bounds, sink: TableSink, known: Collection[str]) -> dict[str, Problem]:
    """Returns a problem for each output topic that gets no table. If there are too many topics, all topics without a
    table share one problem, under the key ``""``.

    Args:
        bounds: The tables to which the records go.
        sink: The sink.
        known: The topics that have a table.
    """
    keyed = sink.keyed
    keeps_deletions = keyed is not None and bool(keyed.sequence_by)
    hint = "look at the field that the router takes the topic from; or raise the limit of the sink"
    if bounds.new + len(known) > sink.max_tables:
        statement = f"the chain chooses more than {sink.max_tables} topics (max_tables), so no table was made"
        return {"": Problem("SMT733", sink.place, statement, hint)}
    if bounds.new > sink.max_new_tables:
        statement = (
            f"{bounds.new} topics have no table, more than max_new_tables ({sink.max_new_tables}): none was made"
        )
        return {"": Problem("SMT733", sink.place, statement, hint)}
    return unfit_topics(bounds.bound, known, keeps_deletions=keeps_deletions)


def refused_condition(refused: Collection[str], kind: str, known: Collection[str]) -> Column:
    """Returns a condition that is true for records that get no table, because the chain sends them to a topic in
    ``refused``. If ``refused`` contains ``""``, the condition is also true for all topics without a table. ``known``
    contains the topics that have a table.
    """
    topic = F.coalesce(destination_column(kind), F.lit(""))
    is_refused = topic.isin(*refused)
    if "" not in refused:
        return is_refused
    if known:
        return is_refused | ~topic.isin(*known)
    return F.lit(True)


def narrowed(rows: DataFrame, bound: Bound, plan: Plan, of_table: Plan) -> DataFrame:
    """Returns the rows for one table, with only this table's fields in the structs ``__out`` and ``__key``.

    In the argument ``rows``, these structs have a field for each output schema of the whole window.

    Args:
        rows: The rows for the table.
        bound: The records of the table, with the numbers of their output schemas.
        plan: The plan of the whole window.
        of_table: The plan of the table, with the table's own fields.
    """
    if not isinstance(plan, FormsPlan):
        return rows
    rows = _with_fields(rows, "__out", bound.value_forms, of_table.rows)
    if plan.chain.keeps_key and KEY in rows.columns:
        rows = _with_fields(rows, KEY, bound.key_forms, of_table.row_keys)
    return rows


def _with_fields(rows: DataFrame, column: str, forms: frozenset[int], schema: Schema | None) -> DataFrame:
    """Returns ``rows`` with a new struct in ``column``, which has the fields of ``schema``.

    The old struct has a field for each output schema: ``f0``, ``f1`` and so on. With ``forms`` = {0, 2}, the values of
    the new struct come from ``f0`` and ``f2``. If ``schema`` is None, the column is dropped.
    """
    if schema is None:
        return rows.drop(column)
    target = columns_of(schema)
    kinds = rows.schema[column].dataType
    assert isinstance(kinds, StructType)
    filled = F.lit(None).cast(target)
    for form in sorted(forms):
        value, kind = F.col(f"{column}.{FORM}{form}"), kinds[f"{FORM}{form}"].dataType
        if isinstance(kind, StructType):
            struct = conformed_value(value, kind, target)
        else:
            struct = F.struct(value.alias(WHOLE))
        filled = F.when(value.isNotNull(), struct.cast(target)).otherwise(filled)
    return rows.withColumn(column, filled.cast(target))
