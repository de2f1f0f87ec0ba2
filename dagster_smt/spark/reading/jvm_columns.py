"""Reads JSON with a declared schema in Java, inside Spark's generated code (the JVM lane). The texts do not travel to
Python.

The lane reads a text only if it can read the text exactly as Connect does. It leaves any other record to Python: the
row keeps the unread record, and Python reads the record with the reader of ``json_columns``.
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
"""The name of a column with the original record, unread. The column is filled only if the JVM lane, the Java reader
inside Spark, leaves the record to Python. Otherwise it is null.
"""
RECORD = "record_"
"""The prefix for the names of columns that temporarily hold the parts of a record. They are then collected in the
column ``IN_RECORD``.
"""


def lane_programs(sides: Sequence[SideColumns]) -> list[str] | None:
    """Returns a JSON program for each item of ``sides``. With this program, the JVM lane (the Java reader inside Spark)
    reads the key or the value. Returns None if there is an item that the lane cannot read.
    """
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
    """Returns the position of a field from the name of its column: 3 for ``f3``."""
    return int(field.removeprefix("f"))


def read_in_lane(
    frame: DataFrame, sides: Sequence[SideColumns], programs: Sequence[str], columns: Sequence[str]
) -> DataFrame:
    """Reads keys and values in the JVM lane, the Java reader inside Spark. Returns the columns in ``columns``, and the
    columns that the lane has read.

    Args:
        frame: A frame with the texts of keys and values.
        sides: The columns to read, for the key or the value.
        programs: The programs of the lane for ``sides``, in the same order.
        columns: The names of the columns of ``frame`` that the result keeps.
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
            # Java returns either a value, or no value with a status. A row without a value is a null in the topic, or
            # is left.
            value.alias(side.column),
            F.when(value.isNotNull(), F.lit(True)).alias(side.there),
            # the lane reports no problem: it leaves a bad text to Python, which does
            F.lit(None).cast(PROBLEM_TYPE).alias(side.bad),
            (result.getField("status") == F.lit(LEFT)).alias(is_left(side)),
        ]
    return select(frame, *others, *read)


def is_left(side: SideColumns) -> str:
    """Returns the name of a boolean column: ``left_key`` or ``left_value``. The column is true if the JVM lane, the
    Java reader inside Spark, could not read this key or value exactly, and left the record to Python.
    """
    return f"left_{side.side}"


def _result(side: SideColumns) -> str:
    return f"lane_{side.side}"


def _call(side: SideColumns, program: str) -> Column:
    fields = []
    for name, child in side.columns().items():
        fields.append(T.StructField(name, plain_type(child)))
    row = T.StructType(fields)
    # Java does not read the third argument. The type of this null is the type of the function's result.
    arguments = F.col(side.side), F.lit(program), F.lit(None).cast(row)
    return Column(f"{CATALOG}.columns({', '.join(argument.text for argument in arguments)})")
