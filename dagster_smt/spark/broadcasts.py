"""Measures persisted frames, because Spark can send a small frame to every executor for a broadcast join."""

from typing import Any

from pyspark.sql import DataFrame

from dagster_smt.spark.environment import is_connect
from dagster_smt.spark.java_classes import java_class

_LIMIT = "spark.sql.autoBroadcastJoinThreshold"
_PART = 16
"""The largest share of the driver's memory that a small frame may take up: one sixteenth. To broadcast a frame, the
driver collects the frame and sends it to the executors.
"""
_MOST_BYTES = 256 * 1024 * 1024
"""The largest size in bytes of a frame that is broadcast: 256 MB. This is a quarter of Spark's default for
``spark.driver.maxResultSize``.

Spark's own limit for broadcasts is only 10 MB, because Spark estimates the size of a frame. This module measures the
size.
"""


def is_small(frame: DataFrame) -> bool:
    """Returns True if the persisted frame ``frame`` is known to be small enough for a broadcast join.

    A broadcast join neither shuffles nor sorts the other input, such as a large table.

    Args:
        frame: A persisted frame that a job has computed. Spark adds up the sizes of its blocks. Spark Connect does not
            return this sum, so with Spark Connect no frame is known to be small.
    """
    session = frame.sparkSession
    if is_connect(session) or str(session.conf.get(_LIMIT)).startswith("-"):  # the user has switched broadcasts off
        return False
    memory = int(java_class(session, "java.lang.Runtime").getRuntime().maxMemory())
    # a new frame is needed, because the plan of the old frame may have been created before its blocks
    java: Any = frame.select("*")._jdf
    size = java.queryExecution().optimizedPlan().stats().sizeInBytes()
    # ``size`` is a Scala ``BigInt``, which py4j does not convert
    return int(str(size)) <= min(_MOST_BYTES, memory // _PART)
