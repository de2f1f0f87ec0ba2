"""Large columns that an update left as they were: every form in which Debezium writes the placeholder."""

import base64
import datetime

import pytest
from pyspark.sql import types as T

from dagster_smt.tables.keyed.unavailable import can_be_unchanged, unchanged_columns

PLACEHOLDER = "__debezium_unavailable_value"
BYTES = PLACEHOLDER.encode()
BASE64 = base64.b64encode(BYTES).decode()
FORMS = {
    "a text": (T.StringType(), PLACEHOLDER, "a text"),
    "bytes as a text, as JSON writes them": (T.StringType(), BASE64, BASE64 + "="),
    "bytes": (T.BinaryType(), bytearray(BYTES), bytearray(BYTES + b"x")),
    "a list of texts": (T.ArrayType(T.StringType()), [PLACEHOLDER], [PLACEHOLDER, "a"]),
    "a list of bytes": (T.ArrayType(T.BinaryType()), [bytearray(BYTES)], [bytearray(b"x")]),
    "a list of bytes as texts": (T.ArrayType(T.StringType()), [BASE64], []),
    "a list of numbers": (T.ArrayType(T.IntegerType()), list(BYTES), list(BYTES)[:-1]),
    "a list of long numbers": (T.ArrayType(T.LongType()), list(BYTES), [1]),
    "a map": (T.MapType(T.StringType(), T.StringType()), {PLACEHOLDER: PLACEHOLDER}, {"a": PLACEHOLDER}),
}


def unchanged(spark, kind, values, placeholder=PLACEHOLDER):
    rows = T.StructType([T.StructField("id", T.IntegerType()), T.StructField("note", kind)])
    frame = spark.createDataFrame(
        [(n, (n, value)) for n, value in enumerate(values)],
        T.StructType([T.StructField("n", T.IntegerType()), T.StructField("__out", rows)]),
    )
    result = frame.select("n", unchanged_columns(rows, placeholder).alias("names")).orderBy("n").collect()
    return [row.names for row in result]


@pytest.mark.spark
@pytest.mark.parametrize("form", FORMS)
def test_the_placeholder_names_its_column(form, spark):
    kind, placeholder, other = FORMS[form]
    assert can_be_unchanged(kind)
    assert unchanged(spark, kind, [placeholder, other, None]) == [["note"], [], []]
    assert unchanged(spark, kind, [placeholder], "") == [[]]


@pytest.mark.spark
def test_another_placeholder_of_the_connector(spark):
    assert unchanged(spark, T.StringType(), ["(toast)", PLACEHOLDER], "(toast)") == [["note"], []]


@pytest.mark.spark
def test_types_that_are_never_large(spark):
    moment = datetime.date(2026, 1, 1)
    for kind, value in ((T.IntegerType(), 1), (T.DateType(), moment), (T.ArrayType(T.DateType()), [moment])):
        assert not can_be_unchanged(kind)
        assert unchanged(spark, kind, [value, None]) == [[], []]
