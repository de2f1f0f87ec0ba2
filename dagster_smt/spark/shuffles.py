"""Partitions frames by a key."""

from pyspark.sql import DataFrame

_PARTITIONS = "spark.sql.shuffle.partitions"
_ROWS = 25_000
"""The number of rows in one partition. Processing this many rows takes longer than starting a task."""


def by_key(frame: DataFrame, rows: int, key: str) -> DataFrame:
    """Returns ``frame`` partitioned by the column ``key``, with about 25,000 rows per partition. If ``frame`` is so
    large that it needs at least as many partitions as Spark's default, returns ``frame`` unchanged.

    By default, Spark shuffles into 200 partitions. Spark merges small partitions in a plain query, but not in a frame
    that it caches. Each later job on such a frame would start 200 tasks for a few thousand rows.

    Args:
        frame: The frame.
        rows: The number of rows in ``frame``.
        key: The name of the column with the key.
    """
    number = max(1, -(-rows // _ROWS))
    usual = str(frame.sparkSession.conf.get(_PARTITIONS))
    if not usual.isdigit() or number >= int(usual):  # the setting may also be "auto", on Databricks
        return frame
    return frame.repartition(number, key)
