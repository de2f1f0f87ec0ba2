"""The Python evaluator on Spark: what no stage looks at comes out as it went in."""

from datetime import datetime, timezone
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import types as T

from dagster_smt.chain import parse_chain, plan_chain
from dagster_smt.model.schema import STRING, Schema, Type
from dagster_smt.model.topics.format import Format
from dagster_smt.spark.evaluate import evaluate
from dagster_smt.spark.versions import frame_of_arrow
from dagster_smt.tables.topic_table import FileTopics, TopicTable

HEADERS = [
    None,
    [],
    [("a", b"x"), ("b", None), ("a", b"")],
    [("é \"'\\", b"\xff\x00"), ("", b'{"a":1}')],
    [("many", bytes(range(256)) * 20)],
]
CHAINS = [
    {"transforms": ""},
    {"transforms": "m", "transforms.m.type": "MaskField$Value", "transforms.m.fields": "a"},
    {"transforms": "d", "transforms.d.type": "DropHeaders", "transforms.d.headers": "none of them"},
]


@pytest.mark.parametrize("chain", CHAINS, ids=["no stage", "a stage that sees no headers", "a stage that sees headers"])
def test_headers_come_out_as_they_went_in(spark, chain):
    at = datetime(2026, 1, 1, tzinfo=timezone.utc)
    rows = [
        {"key": b"\xff", "value": b'{"a":"x"}', "topic": "t", "partition": 3, "offset": n, "timestamp": at}
        | {"timestampType": 1, "headers": headers and [{"key": k, "value": v} for k, v in headers]}
        for n, headers in enumerate(HEADERS)
    ]
    header = pa.struct([("key", pa.string()), ("value", pa.binary())])
    kinds = [pa.binary(), pa.binary(), pa.string(), pa.int32(), pa.int64(), pa.timestamp("us", "UTC"), pa.int32()]
    schema = pa.schema(list(zip(rows[0], [*kinds, pa.list_(header)], strict=True)))
    frame = frame_of_arrow(spark, pa.Table.from_pylist(rows, schema=schema))
    plan = plan_chain(parse_chain(chain), None, None, typed=False)
    table = TopicTable(FileTopics(Path("t")), ("t",), key=Format("bytes"))
    results = {row["offset"]: row for row in evaluate(frame, plan, table, "records").select("__out.*").collect()}
    for n, headers in enumerate(HEADERS):
        row = results[n]
        out = None if row["headers"] is None else [(h["key"], h["value"] and bytes(h["value"])) for h in row["headers"]]
        assert (out or None) == ([(k, v) for k, v in headers] if headers else None)
        assert (bytes(row["key"]), row["topic"], row["partition"], row["timestampType"]) == (b"\xff", "t", 3, 1)
        assert row["timestamp"] == at.replace(tzinfo=None)


FAILS = {"transforms": "m", "transforms.m.type": "MaskField$Value", "transforms.m.fields": "a"}
NULL_HEADER = {
    "transforms": "m,h",
    "transforms.m.type": "MaskField$Value",
    "transforms.m.fields": "a",
    "transforms.h.type": "HeaderFrom$Value",
    "transforms.h.fields": "a",
    "transforms.h.headers": "new",
    "transforms.h.operation": "copy",
}


@pytest.mark.parametrize("chain", [FAILS, NULL_HEADER], ids=["no headers", "with headers"])
@pytest.mark.parametrize("sink", ["records", "columns"])
def test_records_of_a_source_without_nulls_may_fail(spark, chain, sink):
    header = T.StructType([T.StructField("key", T.StringType(), False), T.StructField("value", T.BinaryType(), False)])
    types = {"key": T.BinaryType(), "value": T.BinaryType(), "topic": T.StringType(), "partition": T.IntegerType()}
    types |= {"offset": T.LongType(), "timestamp": T.TimestampType(), "timestampType": T.IntegerType()}
    schema = T.StructType([T.StructField(n, kind, False) for n, kind in types.items()])
    schema.add("headers", T.ArrayType(header, False), False)
    at = datetime(2026, 1, 1, tzinfo=timezone.utc)
    values = (b'{"a":"x"}', b"[]", b"{", b'{"a":null}')
    rows = [(b"k", value, "t", 0, n, at, 0, [("h", b"x")]) for n, value in enumerate(values)]
    frame = spark.createDataFrame(rows, schema)
    value = Schema(Type.STRUCT, fields=(("a", STRING.with_(optional=True)),)) if sink == "columns" else None
    plan = plan_chain(parse_chain(chain), None, value, topics=("t",), typed=value is not None)
    form = Format("json") if value is None else Format("json_schema", value)
    table = TopicTable(FileTopics(Path("t")), ("t",), key=Format("bytes"), value=form)
    done = {row["__offset"]: row["__status"] for row in evaluate(frame, plan, table, sink).collect()}
    assert done == {0: 0, 1: 2, 2: 2, 3: 0}
