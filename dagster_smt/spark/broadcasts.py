"""Sizes of frames that Spark keeps: a small frame can go to every executor."""

from typing import Any

from pyspark.sql import DataFrame

from dagster_smt.spark.environment import is_connect

_LIMIT = "spark.sql.autoBroadcastJoinThreshold"
_MOST_BYTES = 64 * 1024 * 1024
"""The driver collects a small frame and sends it. Spark's own limit, 10 MB, is for guesses; this size is measured."""


def is_small(frame: DataFrame) -> bool:
    """Returns True if a frame that Spark keeps is known to be small enough for a broadcast join.

    A join with it leaves the other side, such as a large table, where it is: no shuffle, no sort.

    Args:
        frame: A persisted frame that a job has computed. Spark adds up the sizes of its blocks; a client of Spark
            Connect does not get the sum, so no frame of it is known to be small.
    """
    session = frame.sparkSession
    if is_connect(session) or str(session.conf.get(_LIMIT)).startswith("-"):  # somebody has switched broadcasts off
        return False
    java: Any = frame.select("*")._jdf  # a new frame: the plan of the old one may be older than its blocks
    size = java.queryExecution().optimizedPlan().stats().sizeInBytes()
    return int(str(size)) <= _MOST_BYTES
