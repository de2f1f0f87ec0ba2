"""Evaluating a plan on Spark: choose the evaluator, read the sides, run the stages, shape the result."""

from typing import Literal

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from dagster_smt.chain.plan import Plan
from dagster_smt.errors import Problem, UnsupportedError
from dagster_smt.interpret.interpreter import VALUE_CONVERTER
from dagster_smt.spark.arrow_map import ArrowMap
from dagster_smt.spark.columns import PROBLEM_FIELDS, RECORD_DDL, result_ddl
from dagster_smt.spark.layout import Leaf
from dagster_smt.spark.output import is_struct, output_columns
from dagster_smt.spark.output import output_schema as output_schema
from dagster_smt.spark.start import typed_evaluator
from dagster_smt.spark.typed import TypedEvaluator
from dagster_smt.tables.spec import TopicTable

SinkKind = Literal["records", "columns"]
_NO_COLUMNS = Problem(
    "SMT418",
    "value.converter",
    "a record without a value has no columns",
    "drop tombstones with Filter and the predicate RecordIsTombstone, or write records",
)


def evaluate(frame: DataFrame, plan: Plan, table: TopicTable, sink_kind: SinkKind, *, ledger: bool = True) -> DataFrame:
    """Run a plan over records.

    Args:
        frame: Kafka's columns (``key, value, topic, partition, offset, timestamp, timestampType, headers``).
        plan: The plan; records sinks need only its chain and ledger.
        table: Where the records come from, for the formats of key and value.
        sink_kind: ``records``: the Python evaluator; ``columns``: the Spark evaluator.
        ledger: Whether to fill ``__touched``.

    Returns:
        The columns of ``spark.columns``; one row per record, also dropped and failed ones.

    Raises:
        PlanError: The values have no schema but columns are asked for, or the chain does not fit the schema.
    """
    if sink_kind == "records":
        job = ArrowMap(plan.chain, table.key, table.value, len(plan.entries), ledger)
        return frame.mapInArrow(job, result_ddl(RECORD_DDL))
    return _columns(frame, plan, table, ledger)


def _columns(frame: DataFrame, plan: Plan, table: TopicTable, ledger: bool) -> DataFrame:
    output_schema(plan, "columns")
    if table.value.kind == "envelope":
        hint = "declare the schema (json_schema), or write records"
        raise UnsupportedError(Problem("SMT902", "value", "envelope JSON into a table of columns", hint))
    evaluator = typed_evaluator(frame, plan, table.key, table.value, ledger=ledger)
    done = evaluator.run()
    words = [F.col(n) for n in evaluator.touched]
    done = _without_tombstones(done, evaluator) if plan.after is not None and is_struct(plan.after) else done
    kept = F.col("__status") == 0
    return done.select(
        "__topic",
        "__partition",
        "__offset",
        F.col("__status").cast("tinyint").alias("__status"),
        "__stage",
        _problem(evaluator.problems).alias("__problem"),
        (F.array(*words) if words else F.array().cast("array<bigint>")).alias("__touched"),
        F.when(kept, output_columns(plan, evaluator.states)).alias("__out"),
    )


def _without_tombstones(frame: DataFrame, evaluator: TypedEvaluator) -> DataFrame:
    gone: Column = F.lit(False)
    for variant, state in evaluator.states.items():
        side = state.sides.get("value")
        if side is None:
            absent: Column = F.lit(True)
        elif isinstance(side, Leaf):
            absent = F.col(side.column).isNull()
        else:
            absent = F.col(side.present).isNull() if side.present else F.lit(False)
        gone = gone | (absent & (F.col("__variant") == variant) if evaluator.variants else absent)
    number = evaluator.why(_NO_COLUMNS)
    failed = (F.col("__status") == 0) & gone
    changed = {
        "__why": F.when(failed, F.lit(number)).otherwise(F.col("__why")),
        "__stage": F.when(failed, F.lit(VALUE_CONVERTER)).otherwise(F.col("__stage")),
        "__status": F.when(failed, F.lit(2)).otherwise(F.col("__status")),
    }
    return frame.select(*(changed[c].alias(c) if c in changed else F.col(c) for c in frame.columns))


def _problem(problems: list[Problem]) -> Column:
    column = F.lit(None).cast("struct<code: string, statement: string, hint: string, connect_class: string>")
    for number, problem in enumerate(problems):
        fields = [F.lit(getattr(problem, name)).alias(name) for name in PROBLEM_FIELDS]
        column = F.when(F.col("__why") == number, F.struct(*fields)).otherwise(column)
    return column
