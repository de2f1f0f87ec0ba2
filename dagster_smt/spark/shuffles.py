"""Partitions frames by a key."""

from pyspark.sql import DataFrame

_PARTITIONS = "spark.sql.shuffle.partitions"
_ROWS = 25_000
"""The number of rows in one partition. A task with so many rows takes longer than its start."""


def by_key(frame: DataFrame, rows: int, key: str) -> DataFrame:
    """Returns ``frame`` with all rows of a key in the same partition, and with as many partitions as the rows need.

    Spark shuffles into 200 partitions unless the session sets a different number. In a plain query Spark merges small
    partitions, but not in a frame that it caches. Each later job on the frame would then have 200 tasks for a few
    thousand rows.

    Args:
        frame: The frame.
        rows: The number of its rows.
        key: The column of the key.
    """
    number = max(1, -(-rows // _ROWS))
    usual = str(frame.sparkSession.conf.get(_PARTITIONS))
    if not usual.isdigit() or number >= int(usual):  # Databricks knows "auto"
        return frame
    return frame.repartition(number, key)
