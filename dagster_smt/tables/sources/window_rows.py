"""Selects the rows of a data frame whose offsets are in a window, such as ``orders-0 [10, 20)``."""

import functools
import operator
from collections.abc import Sequence
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from dagster_smt.model.windows.window import Range, Window

_MANY = 50  # ranges; for so many ranges, a broadcast join is faster than a comparison with one range after the other


def within(frame: DataFrame, window: Window) -> DataFrame:
    """Returns the rows of ``frame`` whose topic, partition and offset are in ``window``, such as ``orders-0
    [10, 20)``.
    """
    topics, ranges = window.topics, window.ranges
    if not ranges:
        return frame.where(F.lit(False))
    groups = _grouped(ranges)
    if len(groups) <= _MANY:
        return frame.where(_any([_condition(*group) for group in groups]))
    low, high = min(r.start for r in ranges), max(r.end for r in ranges)
    # this condition lets Spark skip files by their statistics, which a join alone does not permit
    near = frame.where(F.col("topic").isin(*topics) & (F.col("offset") >= low) & (F.col("offset") < high))
    rows = [(r.topic, r.partition, r.start, r.end) for r in ranges]
    schema = "__topic STRING, __partition INT, __start BIGINT, __end BIGINT"
    held = F.broadcast(frame.sparkSession.createDataFrame(rows, schema))
    same = (F.col("topic") == F.col("__topic")) & (F.col("partition") == F.col("__partition"))
    inside = (F.col("offset") >= F.col("__start")) & (F.col("offset") < F.col("__end"))
    return near.join(held, same & inside, "left_semi")


Group = tuple[tuple[str, ...], tuple[int, ...], int, int]


def _grouped(ranges: Sequence[Range]) -> list[Group]:
    """Groups the ranges that have the same start and end. This gives Spark a shorter condition.

    For example, ``orders-0 [10, 20)`` and ``orders-1 [10, 20)`` become ``(("orders",), (0, 1), 10, 20)``.
    """
    partitions: dict[tuple[str, int, int], list[int]] = {}
    for r in sorted(ranges):
        partitions.setdefault((r.topic, r.start, r.end), []).append(r.partition)
    topics: dict[tuple[tuple[int, ...], int, int], list[str]] = {}
    for (topic, start, end), numbers in partitions.items():
        topics.setdefault((tuple(numbers), start, end), []).append(topic)
    groups = []
    for key, names in topics.items():
        groups.append((tuple(names), *key))
    return groups


def _condition(topics: tuple[str, ...], partitions: tuple[int, ...], start: int, end: int) -> Column:
    offset = F.col("offset")
    return _one_of("topic", topics) & _one_of("partition", partitions) & (offset >= start) & (offset < end)


def _one_of(name: str, values: Sequence[Any]) -> Column:
    if len(values) == 1:
        return F.col(name) == values[0]
    return F.col(name).isin(*values)


def _any(conditions: list[Column]) -> Column:
    # combines the conditions into a balanced tree, because a chain of hundreds of ORs overflows the stack of Spark's
    # analyzer
    while len(conditions) > 1:
        conditions = [functools.reduce(operator.or_, conditions[i : i + 2]) for i in range(0, len(conditions), 2)]
    return conditions[0]
