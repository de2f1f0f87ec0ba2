"""The JVM lane without Spark: one Java process for all tests, records in and records out."""

import struct
from datetime import datetime, timezone

import pyarrow as pa

from dagster_smt.model.topics.format import Format, Formats
from dagster_smt.spark.outcome_columns import timestamp_micros
from dagster_smt.spark.records.arrow_map import ArrowMap, BatchRunner
from dagster_smt.spark.records.jvm_records import program_of_job
from tests.jvm.java_process import ask, packed

LEFT = 3
NONE = -(2**63)
MOMENT = datetime(2026, 1, 1, 12, 0, 0, 123456, tzinfo=timezone.utc)
SCHEMA = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("us", tz="UTC")),
        ("timestampType", pa.int32()),
        ("headers", pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))),
        ("key", pa.binary()),
        ("value", pa.binary()),
    ]
)


def run(program, rows):
    """What the lane makes of rows: status, stage, words of touched entries, key, value, … of each, by column."""
    out = [packed(program.encode()), struct.pack(">i", len(rows))]
    for row in rows:
        topic = row["topic"]
        out += [packed(row["key"]), packed(row["value"]), packed(None if topic is None else topic.encode())]
        headers = row.get("headers")
        out.append(struct.pack(">i", -1 if headers is None else len(headers)))
        out += [packed(part) for each in headers or () for part in (each["key"].encode(), each["value"])]
        numbers = (row["partition"], row["offset"], row["micros"])
        out.append(struct.pack(">qqq", *(NONE if n is None else n for n in numbers)))
    return ask("Harness.java", out, _row, len(rows))


def _row(stream):
    status, stage, words = struct.unpack(">bii", stream.read(9))
    touched = struct.unpack(f">{words}q", stream.read(8 * words))
    key, value, topic = (_unpacked(stream) for _ in range(3))
    row = {"__status": status, "__stage": stage} | {f"__t{n}": word for n, word in enumerate(touched)}
    row |= {"key": key, "value": value, "topic": None if topic is None else topic.decode()}
    (micros,) = struct.unpack(">q", stream.read(8))
    return row | {"timestamp": None if micros == NONE else micros, "headers": _headers(stream)}


def _headers(stream):
    (count,) = struct.unpack(">i", stream.read(4))
    if count < 0:
        return None
    return [{"key": _unpacked(stream).decode(), "value": _unpacked(stream)} for _ in range(count)]


def _unpacked(stream):
    (size,) = struct.unpack(">i", stream.read(4))
    return None if size < 0 else stream.read(size)


HEADERS = [
    None,
    [],
    [{"key": "a", "value": b"1"}, {"key": "b", "value": None}, {"key": "a", "value": b"orders-x"}],
    [{"key": "trace", "value": b"\xff"}, {"key": "\u00e9", "value": b""}],
]


def batch_of(values, topics=("raw.eu",), partition=3, kind=0, keys=(b"7",), headers=HEADERS):
    rows = [
        {"topic": topics[n % len(topics)], "partition": partition, "offset": n - 2, "timestamp": MOMENT}
        | {"timestampType": kind, "key": keys[n % len(keys)], "value": value, "headers": headers[n % len(headers)]}
        for n, value in enumerate(values)
    ]
    return pa.RecordBatch.from_pylist(rows, SCHEMA)


def job_of(chain, key="string", place=""):
    entries = sum(len(stage.transform.ledger()) for stage in chain.stages)
    written = Formats(Format(key), Format(), place) if place else None
    return ArrowMap(chain, Format(key), Format(), entries, written=written)


def program(chain, key="string", place=""):
    """The chain's program; None if the lane cannot run it."""
    return program_of_job(job_of(chain, key, place))


def agree(chain, batch, key="string", place=""):
    """Assert that the lane gives what the interpreter gives; returns the offsets that it left to it."""
    text = program(chain, key, place)
    assert text is not None
    rows = batch.to_pylist()
    for row, micros in zip(rows, timestamp_micros(batch).to_pylist(), strict=True):
        row["micros"] = micros
    left = []
    job = job_of(chain, key, place)
    want = BatchRunner(job).run(batch)
    micros = timestamp_micros(want).to_pylist()
    outcome = ("__status", "__stage", *(f"__t{n}" for n in range(job.words)))
    record = ["key", "value", "topic"] + ["headers"] * chain.reads_headers
    for row, got, expected, time in zip(rows, run(text, rows), want.to_pylist(), micros, strict=True):
        if got["__status"] == LEFT:
            left.append(row["offset"])
            continue
        # nobody looks at a record that was dropped
        names = outcome if got["__status"] == 1 else (*outcome, *record)
        assert {name: got[name] for name in names} == {name: expected[name] for name in names}, row["value"]
        if chain.writes_timestamp and got["__status"] == 0:
            assert got["timestamp"] == time, row["value"]
    return left
