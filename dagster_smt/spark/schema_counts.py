"""Counts the schemas of a window's records, and chooses the most frequent ones."""

from collections.abc import Sequence

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F


def most_frequent(counts: DataFrame, schema: Sequence[str], most: int) -> list[Row]:
    """Returns the most frequent schemas in ``counts``: one row for each topic and schema, in the order of their first
    records (by topic, partition and offset).

    A producer may use a new schema in each record, so the number of schemas that a run plans has a limit.

    Args:
        counts: Rows with ``topic``, the columns of ``schema``, a number ``records``, and the ``partition`` and
            ``offset`` of the first of these records. Several rows may have the same schema.
        schema: The columns that identify a schema.
        most: The largest number of rows to return.
    """
    # Spark would sort all rows for a minimum of structs. A minimum of numbers needs no sorting, so the first offset is
    # computed in each partition. After that, only a few rows are left for the minimum of structs.
    sums = F.min("offset").alias("offset"), F.sum("records").alias("records")
    by_partition = counts.groupBy("topic", "partition", *schema).agg(*sums)
    first = F.min(F.struct("partition", "offset")).alias("first")
    by_topic = by_partition.groupBy("topic", *schema).agg(first, F.sum("records").alias("records"))
    rows = by_topic.select("topic", "first.partition", "first.offset", *schema, "records")
    chosen = rows.orderBy(F.desc("records"), "topic", "partition", "offset").limit(most).collect()
    return sorted(chosen, key=lambda row: (row.topic, row.partition, row.offset))
