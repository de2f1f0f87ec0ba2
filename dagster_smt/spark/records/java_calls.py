"""Calls the Java functions that process a record. All of these functions take the same first arguments, and return the
same columns.
"""

from collections.abc import Sequence

from pyspark.sql import DataFrame

from dagster_smt.jvm.availability import CATALOG
from dagster_smt.spark import sql as F
from dagster_smt.spark.outcome_columns import PROBLEM_TYPE
from dagster_smt.spark.records.arrow_map import READ_COLUMNS
from dagster_smt.spark.sql import Column, select

_NONE = "-9223372036854775807L - 1L"
"""The value of ``Row.NONE`` in Java, which represents a missing number."""

_NO_PROBLEM = F.lit(None).cast(PROBLEM_TYPE)


def record_numbers() -> list[Column]:
    """Returns columns with the partition, offset and timestamp (in microseconds) of a record. ``Row.NONE`` represents
    null.
    """
    numbers = (F.col("partition").cast("bigint"), F.col("offset"), F.call_function("unix_micros", F.col("timestamp")))
    return [F.coalesce(number, Column(_NONE)) for number in numbers]


def call_java(frame: DataFrame, function: str, arguments: Sequence[Column]) -> DataFrame:
    """Calls the catalog function ``function`` for each row of ``frame``. Returns the columns of the record and the
    function's result (see ``of_call``).
    """
    call = Column(f"{CATALOG}.{function}({', '.join(argument.text for argument in arguments)})")
    return select(frame, *map(F.col, READ_COLUMNS), call.alias("__call"))


def of_call(name: str) -> Column:
    """Returns the field ``name`` of the result that ``call_java`` adds."""
    return F.col("__call").getField(name)


def outcome_columns(
    called: DataFrame, touched: Column, out: Column, *more: Column, problem: Column = _NO_PROBLEM
) -> DataFrame:
    """Returns the columns of ``spark.outcome_columns`` from the result of a call.

    Args:
        called: The result of ``call_java``.
        touched: The column ``__touched``, with the bits of the ledger.
        out: The column with the output record.
        more: Further columns, which are placed before ``out``.
        problem: The problem of a record that failed.
    """
    return select(
        called,
        *(F.col(name).alias(f"__{name}") for name in ("topic", "partition", "offset")),
        of_call("status").alias("__status"),
        of_call("stage").alias("__stage"),
        problem.alias("__problem"),
        touched.alias("__touched"),
        *more,
        out.alias("__out"),
    )
