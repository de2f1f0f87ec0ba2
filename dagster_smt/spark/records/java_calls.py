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
    """Returns three columns of integers: partition, offset and timestamp (in microseconds) of a record. A null is
    replaced by the smallest integer, Java's ``Row.NONE``.
    """
    numbers = (F.col("partition").cast("bigint"), F.col("offset"), F.call_function("unix_micros", F.col("timestamp")))
    return [F.coalesce(number, Column(_NONE)) for number in numbers]


def call_java(frame: DataFrame, function: str, arguments: Sequence[Column]) -> DataFrame:
    """Calls the Java function ``function`` once for each row of ``frame``. Returns Kafka's columns, and the function's
    result as a struct (see ``of_call``).
    """
    call = Column(f"{CATALOG}.{function}({', '.join(argument.text for argument in arguments)})")
    return select(frame, *map(F.col, READ_COLUMNS), call.alias("__call"))


def of_call(name: str) -> Column:
    """Returns the field ``name`` of the struct that the Java function in ``call_java`` has returned."""
    return F.col("__call").getField(name)


def outcome_columns(
    called: DataFrame, touched: Column, out: Column, *more: Column, problem: Column = _NO_PROBLEM
) -> DataFrame:
    """Returns the columns of ``spark.outcome_columns``, built from the result of a Java function.

    Args:
        called: The result of ``call_java``.
        touched: The column ``__touched``, a bitmap of the ledger entries (stage and field) that the record touched.
        out: The column with the output record.
        more: Further columns, which come before ``out``.
        problem: The problem of a failed record.
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
