"""A table as a source: its columns, duplicates, lost coordinates, catalogs, and windows of many ranges."""

import pytest

from dagster_smt.errors import TableError
from dagster_smt.model.windows.window import Range, Window
from dagster_smt.tables.sources import open_source
from dagster_smt.tables.sources.window_rows import within
from dagster_smt.tables.topic_table import TableSource

SECRET = "secret-4711"
BRONZE = "key STRING, payload STRING, topic STRING, partition INT, offset BIGINT, timestamp TIMESTAMP"


@pytest.fixture
def bronze(spark, tmp_path):
    """A Delta table without headers and timestamp types, whose value has another name."""

    def write(rows, schema=BRONZE):
        path = (tmp_path / "bronze").as_uri()
        spark.createDataFrame(rows, schema).write.format("delta").mode("append").save(path)
        return TableSource(path=path, columns={"value": "payload"})

    return write


def row(offset, partition=0, topic="orders"):
    return (None, SECRET, topic, partition, offset, None)


def window(start, end):
    return Window((Range("orders", 0, start, end),))


def test_a_table_with_fewer_and_other_columns(spark, bronze):
    source = open_source(bronze([row(5), row(7)]), spark)
    assert source.ranges(["orders"]) == [Range("orders", 0, 5, 8)]
    rows = source.read(window(5, 8)).orderBy("offset").collect()
    assert [(r.key, bytes(r.value), r.offset, r.timestampType, r.headers) for r in rows] == [
        (None, SECRET.encode(), 5, 0, []),
        (None, SECRET.encode(), 7, 0, []),
    ]


def test_a_window_that_holds_an_offset_twice(spark, bronze):
    source = open_source(bronze([row(0), row(1), row(1), row(1), row(2), row(0, 1)]), spark)
    with pytest.raises(TableError) as caught:
        source.read(window(0, 3))
    assert str(caught.value).startswith("SMT548 orders-0: 2 rows repeat an offset of the window")
    assert source.read(window(2, 3)).count() == 1


def test_rows_without_coordinates(spark, bronze):
    source = open_source(bronze([row(0), row(None), row(1, None)]), spark)
    with pytest.raises(TableError, match="SMT549 orders: 2 records have no partition or no offset"):
        source.ranges(["orders"])


def test_all_wrong_columns_together(spark, tmp_path):
    path = (tmp_path / "t").as_uri()
    spark.range(1).selectExpr("id AS key", "'' AS topic", "'0' AS partition", "id AS offset", "array(1) AS headers") \
        .write.parquet(path)  # fmt: skip
    source = TableSource(path=path, format="parquet", columns={"value": "body", "size": "id"})
    with pytest.raises(TableError) as caught:
        open_source(source, spark).topics()
    assert [(p.code, p.place.removeprefix(path).strip(), p.statement) for p in caught.value.problems] == [
        ("SMT547", "key", "bigint cannot be a key"),
        ("SMT547", "body", "the table has no such column for value"),
        ("SMT547", "partition", "string cannot be a partition"),
        ("SMT547", "timestamp", "the table has no such column for timestamp"),
        ("SMT547", "headers", "array<int> cannot be a headers"),
        ("SMT547", "size", "not a column of Kafka's"),
    ]


@pytest.mark.parametrize(
    "source",
    [
        TableSource(name="nowhere.bronze.events"),
        TableSource(name="events"),
        TableSource(name="not a name"),
        TableSource(path="/nowhere/at/all"),
        TableSource(path="/nowhere/at/all", format="parquet"),
        TableSource(path="/nowhere/at/all", format="iceberg"),
    ],
    ids=str,
)
def test_a_table_that_is_not_there(spark, source):
    with pytest.raises(TableError, match=f"SMT546 {source.place}: Spark cannot open it: "):
        open_source(source, spark).topics()


def test_tables_by_name(spark, tmp_path):
    rows = spark.createDataFrame([row(0), row(1)], BRONZE).withColumnRenamed("payload", "value")
    spark.sql("CREATE DATABASE IF NOT EXISTS ice.named")
    rows.writeTo("ice.named.events").create()
    rows.write.format("delta").saveAsTable("events_by_name", path=str(tmp_path / "named"))
    try:
        sources = [open_source(TableSource(name=n), spark) for n in ("ice.named.events", "events_by_name")]
        for source in sources:
            assert source.ranges(["orders"]) == [Range("orders", 0, 0, 2)]
            assert len(source.identities(["orders"])["orders"]) == 36
    finally:
        spark.sql("DROP TABLE ice.named.events PURGE")
        spark.sql("DROP TABLE events_by_name")


WINDOWS = {
    "many topics of equal bounds": [Range(f"t{n}", 0, 5, 10) for n in range(300)],
    "many partitions of equal bounds": [Range("t", n, 5, 10) for n in range(300)],
    "all bounds differ": [Range(f"t{n % 7}", n, n, n + 5) for n in range(300)],
    "some bounds differ": [Range("t", n, n, n + 5) for n in range(40)],
}


@pytest.mark.parametrize("ranges", WINDOWS.values(), ids=WINDOWS)
def test_windows_of_many_ranges(spark, ranges):
    expected = Window(tuple(ranges))
    there = spark.createDataFrame([(r.topic, r.partition) for r in ranges], "topic STRING, partition INT")
    every = there.crossJoin(spark.range(400).withColumnRenamed("id", "offset"))
    assert within(every, expected).count() == expected.records
    plan = str(within(every, expected)._jdf.queryExecution().optimizedPlan())
    assert plan.count(">=") <= 100  # each is looked at again and again while Spark plans
