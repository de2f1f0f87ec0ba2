"""Reads JSON with a declared schema in the JVM lane, inside Spark's generated code. No text travels to Python.

The lane reads only texts that it handles exactly as Connect does. Every other record is left to Python: the row keeps
the record as it was read, and Python reads the record again with the reader of ``json_columns``.
"""

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import types as T

from dagster_smt.jvm.availability import CATALOG
from dagster_smt.jvm.columns import ColumnCall, columns_program
from dagster_smt.spark import sql as F
from dagster_smt.spark.outcome_columns import LEFT, PROBLEM_TYPE
from dagster_smt.spark.plain import plain_type
from dagster_smt.spark.reading.json_columns import SideColumns
from dagster_smt.spark.sql import Column, select

IN_RECORD = "in_record"
"""The column with the original record as it was read. The column is null unless the lane leaves the record to
Python.
"""
RECORD = "record_"
"""The prefix of the columns that hold the parts of a record before they are collected in ``IN_RECORD``."""


def lane_programs(sides: Sequence[SideColumns]) -> list[str] | None:
    """Returns a program for each key or value in ``sides``. If the lane cannot read one of them, returns None."""
    programs = []
    for side in sides:
        calls = []
        for call in side.calls:
            calls.append(ColumnCall(_position(call.field), call.rule, call.source))
        program = columns_program(side.schema, side.form, side.masks, calls, side.envelope)
        if program is None or not side.schema.fields:
            return None
        programs.append(program)
    return programs


def _position(field: str) -> int:
    """Returns the position of the field whose name in ``SideColumns.fields`` is ``field``."""
    return int(field.removeprefix("f"))


def read_in_lane(
    frame: DataFrame, sides: Sequence[SideColumns], programs: Sequence[str], columns: Sequence[str]
) -> DataFrame:
    """Returns ``columns`` of a frame, together with the columns that the lane reads from keys and values.

    Args:
        frame: A frame with the texts of keys and values.
        sides: The columns to read, for the key or the value.
        programs: The programs for ``sides``, in the same order.
        columns: The columns to keep.
    """
    others = list(map(F.col, columns))
    calls = []
    for side, program in zip(sides, programs, strict=True):
        calls.append(_call(side, program).alias(_result(side)))
    frame = select(frame, *others, *calls)
    read: list[Column] = []
    for side in sides:
        result = F.col(_result(side))
        value = result.getField("value")
        read += [
            value.alias(side.column),
            F.when(value.isNotNull(), F.lit(True)).alias(side.there),
            F.lit(None).cast(PROBLEM_TYPE).alias(side.bad),
            (result.getField("status") == F.lit(LEFT)).alias(is_left(side)),
        ]
    return select(frame, *others, *read)


def is_left(side: SideColumns) -> str:
    """Returns the name of the column that is true if the lane has left a record to Python because of the key or value
    ``side``.
    """
    return f"left_{side.side}"


def _result(side: SideColumns) -> str:
    return f"lane_{side.side}"


def _call(side: SideColumns, program: str) -> Column:
    fields = []
    for name, child in side.columns().items():
        fields.append(T.StructField(name, plain_type(child)))
    row = T.StructType(fields)
    arguments = F.col(side.side), F.lit(program), F.lit(None).cast(row)
    return Column(f"{CATALOG}.columns({', '.join(argument.text for argument in arguments)})")
