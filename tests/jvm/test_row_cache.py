"""The cache of rows: a cached frame has the rows of the frame itself, whatever their types, sizes and columns."""

import pytest
from pyspark import StorageLevel

from dagster_smt.jvm.availability import CACHE_CLASS, CACHE_SETTING, lane_settings
from dagster_smt.spark.packages import session_settings

pytestmark = pytest.mark.spark

ODD = "id % 3 = 1"
COLUMNS = {
    "id": "id",
    "truth": f"if({ODD}, null, id % 2 = 0)",
    "i8": "cast(id % 100 as tinyint)",
    "i16": f"if({ODD}, null, cast(id as smallint))",
    "i32": "cast(-id as int)",
    "f32": "cast(id / 7 as float)",
    "f64": f"if({ODD}, double('NaN'), id / 3)",
    "text": f"if({ODD}, '', repeat('é', cast(id % 40 as int)))",
    "bytes": f"if({ODD}, null, encode(string(id), 'UTF-8'))",
    "short_decimal": "cast(id as decimal(10, 2))",
    "long_decimal": f"if({ODD}, null, cast(id as decimal(38, 3)) * -1000000000000)",
    "day": "date_add(date'1500-01-01', cast(id as int))",
    "moment": f"if({ODD}, null, timestamp_micros(id - 3))",
    "local": "cast(timestamp_micros(id) as timestamp_ntz)",
    "months": f"if({ODD}, null, make_ym_interval(cast(id as int), 1))",
    "pause": "make_dt_interval(cast(id as int), 1, 2, 3)",
    "numbers": f"if({ODD}, null, array(id, null, -id))",
    "record": "named_struct('a', string(id), 'b', named_struct('c', cast(id as decimal(38, 1)), 'd', null))",
    "members": "map('k', array(named_struct('x', id)), string(id), null)",
    "nothing": "null",
}


@pytest.fixture(scope="module")
def frames(spark):
    """A frame of 1,000 rows with a column of each type, and the same frame cached. One partition is empty."""
    columns = [f"{sql} AS {name}" for name, sql in COLUMNS.items()]
    frame = spark.range(0, 1000, 1, 3).selectExpr(*columns).where("id < 600")
    cached = frame.persist(StorageLevel.MEMORY_AND_DISK)
    yield spark.range(0, 1000, 1, 3).where("id < 600").selectExpr(*columns, "1 AS more").drop("more"), cached
    cached.unpersist()


def rows(frame):
    """The rows as text: NaN is not equal to itself, and PySpark has no value for an interval of months."""
    texts = frame.selectExpr(*(f"string({name})" for name in frame.columns))
    return sorted(map(repr, texts.collect()))


def test_sessions_of_the_resource_use_the_cache(spark):
    assert spark.conf.get(CACHE_SETTING) == CACHE_CLASS == lane_settings()[CACHE_SETTING]


def test_a_serializer_of_ones_own_stays():
    own = {CACHE_SETTING: "com.example.Columns"}
    assert session_settings([], own, "4.0.5")[CACHE_SETTING] == own[CACHE_SETTING]


def test_a_cached_frame_has_the_same_rows(frames):
    frame, cached = frames
    assert "InMemory" in cached._jdf.queryExecution().toString()
    assert rows(cached) == rows(frame)
    assert cached.count() == 600


@pytest.mark.parametrize("name", COLUMNS)
def test_each_column_alone(name, frames):
    frame, cached = frames
    assert rows(cached.select(name)) == rows(frame.select(name))


@pytest.mark.parametrize("first", range(0, len(COLUMNS), 4))
def test_columns_in_another_order(first, frames):
    frame, cached = frames
    names = list(COLUMNS)
    chosen = [*names[first:], *reversed(names[: first // 2])]
    assert rows(cached.select(*chosen)) == rows(frame.select(*chosen))


@pytest.mark.parametrize(
    "condition", ["text = 'ééé'", "id > 590", "moment IS NULL", "long_decimal < -3e13", "day < '1500-01-03'", "1 = 2"]
)
def test_conditions_on_cached_rows(condition, frames):
    frame, cached = frames
    assert rows(cached.where(condition)) == rows(frame.where(condition))


def test_aggregates_and_joins_of_cached_rows(frames):
    query = {"i32": "sum", "short_decimal": "max", "text": "min"}
    aggregates = [f.groupBy("long_decimal").agg(query).toDF("a", "b", "c", "d") for f in frames]
    assert rows(aggregates[0]) == rows(aggregates[1])
    joined = [f.select("id", "record").join(f.selectExpr("id", "text"), "id") for f in frames]
    assert rows(joined[0]) == rows(joined[1])


MB = 1 << 20
"""The number of bytes of a batch."""
SIZES = [(0, MB, 1), (MB - 40, 1, MB - 41), (3 * MB, 0, 3 * MB), (1, 3 * MB, MB // 2), (MB // 2, MB // 2, MB // 2)]


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_rows_larger_than_a_batch(sizes, spark):
    frame = spark.range(1).selectExpr(f"explode(array({','.join(map(str, sizes))})) AS size", "7 AS id")
    frame = frame.selectExpr("size", "repeat('x', size) AS text", "id").coalesce(1)
    cached = frame.persist(StorageLevel.MEMORY_AND_DISK)
    try:
        assert [tuple(row) for row in cached.selectExpr("size", "length(text)", "id").collect()] == [
            (size, size, 7) for size in sizes
        ]
    finally:
        cached.unpersist()


@pytest.mark.parametrize("level", ["DISK_ONLY", "MEMORY_ONLY", "MEMORY_AND_DISK", "MEMORY_AND_DISK_2"])
def test_every_level_of_storage(level, spark):
    frame = spark.range(0, 25_000, 1, 2).selectExpr("id", "repeat(string(id), 3) AS text")
    cached = frame.persist(getattr(StorageLevel, level))
    try:
        assert (
            cached.selectExpr("count(1)", "sum(id)", "sum(length(text))").first()
            == frame.selectExpr("count(1)", "sum(id)", "sum(length(text))").first()
        )
    finally:
        cached.unpersist()


def test_rows_that_spark_reads_in_columns(spark, tmp_path):
    spark.range(100).selectExpr("id", "string(id) AS text").write.parquet(str(tmp_path / "p"))
    frame = spark.read.parquet(str(tmp_path / "p"))
    cached = frame.persist(StorageLevel.MEMORY_AND_DISK)
    try:
        assert rows(cached.select("text", "id")) == rows(spark.range(100).selectExpr("string(id) AS text", "id"))
    finally:
        cached.unpersist()
