"""The columns that the JVM lane reads, without Spark, beside those that Python reads."""

import atexit
import base64
import json
import struct
import subprocess
import threading
from decimal import Decimal
from functools import cache
from pathlib import Path

import pyarrow as pa

from dagster_smt.jvm.build import build, class_path
from dagster_smt.model.schema import Type
from dagster_smt.spark.reading.json_columns import ReadColumns
from dagster_smt.spark.reading.jvm_columns import lane_programs

READ, NULL, LEFT = 0, 1, 3


@cache
def _java():
    command = ["java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx1g", "-cp", f"{build()}:{class_path()}"]
    process = subprocess.Popen(
        [*command, str(Path(__file__).parent / "ColumnsHarness.java")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    atexit.register(process.stdin.close)
    return process


def in_java(side, texts):
    """What the lane reads of texts: (status, row) of each."""
    programs = lane_programs([side])
    assert programs is not None
    java = _java()
    out = [_packed(programs[0].encode()), struct.pack(">i", len(texts)), *map(_packed, texts)]
    # beside reading: Java waits where nobody reads what it writes
    writing = threading.Thread(target=_send, args=(java.stdin, b"".join(out)))
    writing.start()
    rows = [tuple(json.loads(java.stdout.readline())) for _ in texts]
    writing.join()
    return rows


def in_python(side, texts):
    """What Python reads of texts, likewise; what it refuses is LEFT."""
    batch = pa.RecordBatch.from_arrays([pa.array(texts, pa.binary())], names=["value"])
    fields = list(side.columns().values())
    found = []
    for row in next(ReadColumns((side,), ())([batch])).to_pylist():
        if row[side.bad] is not None:
            found.append((LEFT, None))
        elif row[side.there] is None:
            found.append((NULL, None))
        else:
            values = row[side.column].values()
            found.append((READ, [_plain(value, schema) for value, schema in zip(values, fields, strict=True)]))
    return found


def agree(side, texts):
    """Assert that the lane reads what Python reads; returns the texts that it left although Python reads them."""
    left = []
    for text, java, python in zip(texts, in_java(side, texts), in_python(side, texts), strict=True):
        if java[0] == LEFT:
            left += [] if python[0] == LEFT else [text]
        else:
            assert java == python, text
    return left


def _send(stream, data):
    stream.write(data)
    stream.flush()


def _packed(data):
    return struct.pack(">i", -1) if data is None else struct.pack(">i", len(data)) + data


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
