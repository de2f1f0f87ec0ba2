"""The columns that the JVM lane reads, without Spark, beside those that Python reads."""

import base64
import json
import struct
from decimal import Decimal

import pyarrow as pa

from dagster_smt.model.schema import Type
from dagster_smt.spark.plain import plain_type
from dagster_smt.spark.reading.json_columns import ReadColumns
from dagster_smt.spark.reading.jvm_columns import lane_programs
from tests.jvm.java_process import ask, packed

READ, NULL, LEFT = 0, 1, 3


def in_java(side, texts):
    """What the lane reads of texts: (status, row) of each."""
    programs = lane_programs([side])
    assert programs is not None
    types = json.dumps([plain_type(child).simpleString() for child in side.columns().values()]).encode()
    out = [packed(programs[0].encode()), packed(types), struct.pack(">i", len(texts)), *map(packed, texts)]
    return ask("ColumnsHarness.java", out, lambda stream: tuple(json.loads(stream.readline())), len(texts))


def in_python(side, texts):
    """What Python reads of texts, likewise; what it refuses is LEFT."""
    batch = pa.RecordBatch.from_arrays([pa.array(texts, pa.binary())], names=["value"])
    fields = list(side.columns().values())
    results = []
    for row in next(ReadColumns((side,), ())([batch])).to_pylist():
        if row[side.bad] is not None:
            results.append((LEFT, None))
        elif row[side.there] is None:
            results.append((NULL, None))
        else:
            values = row[side.column].values()
            results.append((READ, [_plain(value, schema) for value, schema in zip(values, fields, strict=True)]))
    return results


def agree(side, texts):
    """Assert that the lane reads what Python reads; returns the texts that it left although Python reads them."""
    left = []
    for text, java, python in zip(texts, in_java(side, texts), in_python(side, texts), strict=True):
        if java[0] == LEFT:
            left += [] if python[0] == LEFT else [text]
        else:
            assert java == python, text
    return left


def _plain(value, schema):
    if value is None:
        return None
    if schema.logical == "Decimal":
        return str(Decimal(value)) if "E" not in str(value) else f"{value:f}"
    if schema.type is Type.STRUCT:
        return [_plain(v, child) for v, (_, child) in zip(value.values(), schema.fields, strict=True)]
    if schema.type is Type.ARRAY:
        return [_plain(v, schema.values) for v in value]
    if schema.type is Type.MAP:
        return [[k for k, _ in value], [_plain(v, schema.values) for _, v in value]]
    if schema.type is Type.BYTES:
        return base64.b64encode(value).decode()
    if schema.type is Type.FLOAT32:
        return f"float {struct.unpack('>I', struct.pack('>f', value))[0]:x}"
    if schema.type is Type.FLOAT64:
        return f"double {struct.unpack('>Q', struct.pack('>d', value))[0]:x}"
    return value
