"""Rows that are appended to a table that a user has created, with types of their own."""

from unittest.mock import MagicMock

import pytest
from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType

from dagster_smt.errors import TableError
from dagster_smt.tables.sink_options import DeltaSink, IcebergSink
from dagster_smt.tables.sinks import open_table
from dagster_smt.tables.sinks.delta import DeltaTable

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


def test_a_key_column_that_the_table_lacks_is_null_in_its_rows(table, spark):
    table.append(letters(spark, "topic STRING, n INT", ("a", 1)))
    table.append_new(letters(spark, "topic STRING, n INT, id STRING", ("a", 1, None), ("a", 1, "x")), ["n", "id"])
    assert sorted((row.n, row.id or "") for row in table.read().collect()) == [(1, ""), (1, "x")]


class Frames:
    """A session that notes the columns of the frames that it creates."""

    def __init__(self):
        self.columns = []

    def createDataFrame(self, rows, schema):  # noqa: N802
        self.columns.append(schema.names)
        return MagicMock()


@pytest.mark.parametrize(
    ("columns", "written"),
    [
        ([StructField("n", IntegerType(), True, {"connect": "int32"})], []),  # the table has no such metadata
        ([StructField("n", IntegerType()), StructField("more", StringType())], [["n", "more"]]),
    ],
)
def test_only_new_columns_need_a_commit_which_names_no_other_column_of_the_table(columns, written):
    """Such as an identity column, to which nobody may write."""
    table = object.__new__(DeltaTable)
    table.spec, table.session, table._save = DeltaSink("letters"), Frames(), lambda writer: None
    table.schema = lambda: StructType([StructField("number", LongType()), StructField("n", LongType())])
    table._add_columns(StructType(columns))
    assert table.session.columns == written


def test_null_is_equal_to_null_in_the_key(table, spark):
    """A letter without a topic id, which an earlier attempt has written, is not written again."""
    columns, row = "topic STRING, topic_id STRING, n INT", ("a", None, 1)
    for _ in range(2):
        table.append_new(letters(spark, columns, row), ["topic", "topic_id"])
    assert [tuple(row) for row in table.read().collect()] == [row]
