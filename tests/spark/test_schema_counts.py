"""The most frequent schemas of a window."""

from pyspark.sql import SparkSession

from dagster_smt.spark.schema_counts import most_frequent

COLUMNS = "topic string, partition int, offset bigint, schema string, records bigint"


def test_a_schema_in_many_partitions_counts_once(spark: SparkSession) -> None:
    """Four schemas occur in each of 30 partitions, and a fifth only once: a limit of 20 schemas leaves out none."""
    rows = []
    for partition in range(30):
        for number in range(4):
            rows.append(("orders", partition, number, f"frequent-{number}", 100))
    rows.append(("orders", 7, 900, "rare", 1))
    chosen = most_frequent(spark.createDataFrame(rows, COLUMNS), ["schema"], 20)
    assert [row.schema for row in chosen] == ["frequent-0", "frequent-1", "frequent-2", "frequent-3", "rare"]
    assert [row.records for row in chosen] == [3000, 3000, 3000, 3000, 1]


def test_the_least_frequent_schemas_are_left_out(spark: SparkSession) -> None:
    rows = [("orders", 0, 5, "a", 1), ("orders", 1, 0, "b", 2), ("orders", 1, 9, "c", 3)]
    chosen = most_frequent(spark.createDataFrame(rows, COLUMNS), ["schema"], 2)
    assert [row.schema for row in chosen] == ["b", "c"]


def test_the_first_record_is_the_one_of_the_lowest_partition(spark: SparkSession) -> None:
    """Offsets of different partitions have no order: partition 1 comes before partition 2 in spite of its offset."""
    rows = [("orders", 2, 0, "a", 1), ("orders", 1, 50, "a", 1), ("orders", 1, 40, "a", 1), ("orders", 1, 45, "b", 1)]
    chosen = most_frequent(spark.createDataFrame(rows, COLUMNS), ["schema"], 10)
    assert [(row.schema, row.partition, row.offset) for row in chosen] == [("a", 1, 40), ("b", 1, 45)]


def test_the_same_schema_in_two_topics_counts_for_each(spark: SparkSession) -> None:
    rows = [("orders", 0, 0, "a", 1), ("refunds", 0, 0, "a", 1)]
    chosen = most_frequent(spark.createDataFrame(rows, COLUMNS), ["schema"], 10)
    assert [row.topic for row in chosen] == ["orders", "refunds"]


def test_null_is_a_schema_too(spark: SparkSession) -> None:
    """Tombstones name no schema, and the caller must know of them."""
    rows = [("orders", 0, 0, None, 3), ("orders", 0, 1, "a", 1)]
    chosen = most_frequent(spark.createDataFrame(rows, COLUMNS), ["schema"], 10)
    assert [(row.schema, row.records) for row in chosen] == [(None, 3), ("a", 1)]
