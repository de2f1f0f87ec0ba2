"""Converts arrays into rows, if a topic table requests this. If the value of a record is the JSON array ``[5, 6]``, the
record becomes two rows with the values 5 and 6.

All rows of a record have the same coordinates (topic, partition and offset). Only the column ``in_element`` differs: it
contains the position in the array, here 0 and 1. In the result of an evaluator, this column is called ``__element``.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from dagster_smt.interpret.arrays import elements
from dagster_smt.interpret.interpreter import KEY_CONVERTER
from dagster_smt.spark.outcome_columns import PROBLEM_FIELDS
from dagster_smt.spark.workers import map_in_arrow

IN_ELEMENT = "in_element"
ELEMENT = "__element"
"""The name of the result column with the position of a row's element in the array. The column is null if the record's
value was not an array.
"""
EMPTY = -1
"""The position that marks the single row of an empty array. The row has no element; it exists only so that the run
counts its record.
"""
_PARTS = "smt_parts"


def rows_of_arrays(frame: DataFrame) -> DataFrame:
    """Returns the records of ``frame`` with one row for each element of an array. The column ``in_element`` contains
    the position of the element.

    Spark creates these rows one at a time. If Python created the rows, it would create the rows of all elements at
    once, each with a copy of the key.
    """
    added = [T.StructField(IN_ELEMENT, T.IntegerType()), T.StructField(_PARTS, T.ArrayType(T.BinaryType()))]
    split = map_in_arrow(frame, _Split(), T.StructType([*frame.schema.fields, *added]))
    # ``outer`` keeps the row of a value that is no array, and the row of an empty array
    rows = split.select(*split.columns, F.posexplode_outer(_PARTS).alias("smt_position", "smt_part"))
    # the original value is null where the value was an array, so this is an element or the whole value
    value = F.coalesce("smt_part", "value").alias("value")
    # 0 + position for elements, -1 + 0 for an empty array, and null for a value that was no array
    number = (F.col(IN_ELEMENT) + F.coalesce("smt_position", F.lit(0))).alias(IN_ELEMENT)
    columns = []
    for name in frame.columns:
        columns.append(value if name == "value" else F.col(name))
    return rows.select(*columns, number)


@dataclass(frozen=True)
class _Split:
    """A picklable function for ``DataFrame.mapInArrow``. It splits each value that is an array into its elements.

    The elements are in a new column, as a list. In the value's own column, an array becomes null.
    """

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            values: list[bytes | None] = batch.column("value").to_pylist()
            parts = list(map(elements, values))
            first: list[int | None] = []
            for items in parts:
                if items is None:
                    first.append(None)
                elif items:
                    first.append(0)
                else:
                    first.append(EMPTY)
            columns = dict(zip(batch.schema.names, batch.columns, strict=True))
            whole = []
            for text, items in zip(values, parts, strict=True):
                whole.append(text if items is None else None)
            columns["value"] = pa.array(whole, pa.binary())
            columns[IN_ELEMENT] = pa.array(first, pa.int32())
            columns[_PARTS] = pa.array(parts, pa.list_(pa.binary()))
            yield pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))


def with_element_named(evaluated: DataFrame) -> DataFrame:
    """Adds the position in the array to each problem, such as ``element [3] of the array: …``. ``evaluated`` is the
    result of an evaluator, with one row for each element.
    """
    problem, number = F.col("__problem"), F.col(ELEMENT)
    statement = F.concat(F.lit("element ["), number, F.lit("] of the array: "), problem["statement"])
    parts = []
    for name in PROBLEM_FIELDS:
        parts.append((statement if name == "statement" else problem[name]).alias(name))
    # a key that cannot be read concerns the record, not one element
    about = problem.isNotNull() & (number > EMPTY) & (F.col("__stage") != KEY_CONVERTER)
    return evaluated.withColumn("__problem", F.when(about, F.struct(*parts)).otherwise(problem))
