"""Frames that are shuffled by a key."""

import pytest
from pyspark.sql import functions as F

from dagster_smt.spark.shuffles import by_key

pytestmark = pytest.mark.spark
PARTITIONS = "spark.sql.shuffle.partitions"


@pytest.fixture
def usual(spark):
    before = spark.conf.get(PARTITIONS)
    spark.conf.set(PARTITIONS, "7")
    yield
    spark.conf.set(PARTITIONS, before)


def test_a_frame_has_as_many_partitions_as_its_rows_need(spark, usual):
    frame = spark.range(1000).select((F.col("id") % 50).alias("key"))
    assert by_key(frame, 0, "key").rdd.getNumPartitions() == 1
    assert by_key(frame, 25_000, "key").rdd.getNumPartitions() == 1
    few = by_key(frame, 50_001, "key")
    assert few.rdd.getNumPartitions() == 3
    places = few.select("key", F.spark_partition_id().alias("place")).distinct()
    assert places.count() == 50


def test_a_large_frame_is_left_to_the_session(spark, usual):
    frame = spark.range(10)
    assert by_key(frame, 10**9, "id") is frame
