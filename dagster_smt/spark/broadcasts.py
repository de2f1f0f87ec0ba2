"""Measures frames that Spark has persisted: a small frame can be broadcast to every executor."""

from typing import Any

from pyspark.sql import DataFrame

from dagster_smt.spark.environment import is_connect

_LIMIT = "spark.sql.autoBroadcastJoinThreshold"
_MOST_BYTES = 64 * 1024 * 1024
"""The largest frame that is broadcast. Spark's own limit is 10 MB, because Spark estimates sizes; here the size is
measured."""


def is_small(frame: DataFrame) -> bool:
    """Returns True if a persisted frame is known to be small enough for a broadcast join.

    A broadcast join neither shuffles nor sorts the other side, such as a large table.

    Args:
        frame: A persisted frame that a job has computed. Spark adds up the sizes of its blocks. Spark Connect does not
            return this sum, so with Spark Connect no frame is known to be small.
    """
    session = frame.sparkSession
    if is_connect(session) or str(session.conf.get(_LIMIT)).startswith("-"):  # the user has switched broadcasts off
        return False
    java: Any = frame.select("*")._jdf  # a new frame: the old frame's plan may be older than its blocks
    size = java.queryExecution().optimizedPlan().stats().sizeInBytes()
    return int(str(size)) <= _MOST_BYTES
