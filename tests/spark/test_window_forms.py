"""What names a record's Avro schema is found by SQL and by Python: both find the same."""

from collections import Counter
from itertools import product
from pathlib import Path

import pytest
from pyspark.sql import functions as F

from dagster_smt.model.reports.run_report import SchemaUse
from dagster_smt.model.topics.format import Format
from dagster_smt.spark.reading.window_forms import (
    _SEEN,
    _TEXTS_DDL,
    AS_GUESSED,
    OTHER,
    SchemaTexts,
    WindowForms,
    as_guessed,
    guessed_forms,
    schema_texts,
)
from dagster_smt.spark.workers import map_in_arrow
from dagster_smt.tables.topic_table import FileTopics, TopicTable

AVRO = Format("avro-confluent", options={"url": "http://127.0.0.1:1"})
SIDES = [
    None,
    b"",
    b"\0",
    b"\0\0\0\0",
    b"\0\0\0\0\1",
    b"\0\0\0\0\1x",
    b"\0\0\0\0\2y",
    b"\1\0\0\0\1x",
    b"{}",
    b"\0\xff\xff\xff\xff",
]
DDL = "topic string, partition int, offset bigint, key binary, value binary"

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("key", [AVRO, Format("string")], ids=["avro", "string"])
def test_both_find_the_same(spark, key):
    rows = [(f"t{n % 2}", n % 3, n, *sides) for n, sides in enumerate(product(SIDES, SIDES))]
    frame = spark.createDataFrame(rows, DDL)
    table = TopicTable(FileTopics(Path()), topics=("t0", "t1"), key=key, value=AVRO)

    def grouped(result):
        results = F.min(F.struct("partition", "offset")), F.sum("records")
        return sorted(map(str, result.groupBy("topic", "key", "value").agg(*results).collect()))

    outcome = schema_texts(frame, table)
    assert outcome.where("value is null").agg(F.sum("records")).first()[0] == len(SIDES)  # a value that is null is told
    by_sql = grouped(outcome.where("value is not null"))
    by_python = grouped(map_in_arrow(frame.select(*_SEEN), SchemaTexts(table.key, table.value), _TEXTS_DDL))
    assert by_sql == by_python
    assert len(by_sql) > 3


@pytest.mark.parametrize("key", [AVRO, Format("string")], ids=["avro", "string"])
def test_what_is_as_guessed(spark, key):
    table = TopicTable(FileTopics(Path()), topics=("t",), key=key, value=AVRO)
    sides = ("value", "key") if key is AVRO else ("value",)
    guess = WindowForms((), tuple(SchemaUse("t", side, "1", 1) for side in sides), guessed=True)
    frame = spark.createDataFrame([("t", 0, n, *pair) for n, pair in enumerate(product(SIDES, SIDES))], DDL)
    rows = frame.select("key", "value", as_guessed(table, guess).alias("found")).collect()
    assert Counter(row.found for row in rows).keys() == {0, AS_GUESSED, OTHER}
    for row in rows:
        results = [named_by(row.value), named_by(row.key) if key is AVRO else 1]
        message = results[0] is not None and (results[1] is not None or row.key is None)
        assert row.found == (0 if not message else AS_GUESSED if results == [1, 1] else OTHER), row


def named_by(side):
    return int.from_bytes(side[1:5], "big") if side is not None and side[:1] == b"\0" and len(side) > 4 else None


def test_other_formats_are_looked_through_by_python(spark):
    frame = spark.createDataFrame([("t", 0, 0, b"k", b'{"schema":null,"payload":1}')], DDL)
    table = TopicTable(FileTopics(Path()), topics=("t",), value=Format("envelope"))
    assert "MapInArrow" in schema_texts(frame, table, lane=False)._jdf.queryExecution().toString()
    assert guessed_forms(frame, table) is None  # Python would have to look
