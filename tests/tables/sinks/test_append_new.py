"""Rows that are appended to a table that a user has created, with types of their own."""

import pytest

from dagster_smt.errors import TableError
from dagster_smt.tables.sink_options import DeltaSink, IcebergSink
from dagster_smt.tables.sinks import open_table

SINKS = {
    "delta": lambda folder: DeltaSink(folder / "letters"),
    "iceberg": lambda folder: IcebergSink(folder / "letters"),
}


def letters(spark, columns, *rows):
    return spark.createDataFrame([*rows], columns)


@pytest.fixture(params=SINKS)
def table(request, spark, tmp_path):
    return open_table(spark, SINKS[request.param](tmp_path))


def test_a_wider_column_of_the_table_takes_narrower_values(table, spark):
    table.append(letters(spark, "topic STRING, n BIGINT", ("a", 2**40)))
    table.append_new(letters(spark, "topic STRING, n INT", ("a", 1)), ["topic", "n"])
    table.append_new(letters(spark, "topic STRING, n INT, more STRING", ("a", 1, "x"), ("a", 2, "y")), ["topic", "n"])
    assert sorted((row.n, row.more) for row in table.read().collect()) == [(1, None), (2, "y"), (2**40, None)]


def test_a_narrower_column_of_the_table_becomes_wider(table, spark):
    table.append(letters(spark, "topic STRING, n INT", ("a", 1)))
    table.append_new(letters(spark, "topic STRING, n BIGINT, more STRING", ("a", 2**40, "x")), ["topic", "n"])
    assert sorted((row.n, row.more) for row in table.read().collect()) == [(1, None), (2**40, "x")]


def test_a_column_of_another_type_is_a_problem_with_its_name(table, spark):
    table.append(letters(spark, "topic STRING, n BOOLEAN", ("a", True)))
    with pytest.raises(TableError) as refused:
        table.append_new(letters(spark, "topic STRING, n INT", ("a", 1)), ["topic"])
    assert [(problem.code, problem.place) for problem in refused.value.problems] == [("SMT521", "n")]


def test_null_is_equal_to_null_in_the_key(table, spark):
    """A letter without a topic id, which an earlier attempt has written, is not written again."""
    columns, row = "topic STRING, topic_id STRING, n INT", ("a", None, 1)
    for _ in range(2):
        table.append_new(letters(spark, columns, row), ["topic", "topic_id"])
    assert [tuple(row) for row in table.read().collect()] == [row]
