"""The Python evaluator on Spark: ``mapInArrow`` over Kafka's columns, records in and records out."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from dagster_smt.errors import Problem
from dagster_smt.interpret.interpreter import KEPT, KEPT_OUTCOME, NO_STAGE, Interpreter, Outcome
from dagster_smt.model.format import Format
from dagster_smt.model.record import Header, Record
from dagster_smt.spark.columns import BITS, PROBLEM_FIELDS, words
from dagster_smt.spec.stage import Chain
from dagster_smt.values.header_literals import parse_simple_header, simple_header_bytes

_TIMESTAMP_TYPES = {0: "CreateTime", 1: "LogAppendTime"}
_MASK = (1 << BITS) - 1
_PROBLEM = pa.struct([(name, pa.string()) for name in PROBLEM_FIELDS])
_HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
_TIMESTAMP = pa.timestamp("us", tz="UTC")
OUT_FIELDS: dict[str, pa.DataType] = {
    "key": pa.binary(),
    "value": pa.binary(),
    "topic": pa.string(),
    "partition": pa.int32(),
    "offset": pa.int64(),
    "timestamp": _TIMESTAMP,
    "timestampType": pa.int32(),
    "headers": _HEADERS,
    "source_topic": pa.string(),
}


@dataclass(frozen=True)
class ArrowMap:
    """A picklable function for ``DataFrame.mapInArrow``.

    ``ledger`` False leaves ``__touched`` empty.
    """

    chain: Chain
    key: Format
    value: Format
    entries: int
    ledger: bool = True

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        runner = BatchRunner(self)
        for batch in batches:
            yield runner.run(batch)


class BatchRunner:
    """Runs batches through one interpreter. Columns that no stage can change are handed on as they are."""

    def __init__(self, job: ArrowMap):
        self.job = job
        self.interpreter = Interpreter(job.chain, job.key, job.value)
        transforms = [s.transform for s in job.chain.stages]
        predicates = [s.predicate for s in job.chain.stages if s.predicate is not None]
        self.uses_metadata = any(t.reads_metadata for t in transforms)
        self.uses_headers = any(t.reads_headers for t in transforms) or any(p.reads_headers for p in predicates)
        self.passes_key = job.key.kind in ("string", "bytes") and not any(
            s.side == "key" or s.transform.reads_value for s in job.chain.stages
        )
        self.process = self.interpreter.processor(passes_key=self.passes_key)

    def run(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Evaluate one batch."""
        values = _column(batch, "value").to_pylist()
        rows = _Rows(len(values))
        keys = rows.keys if self.passes_key else _column(batch, "key").to_pylist()
        topics = _column(batch, "topic").to_pylist()
        metadata = _Metadata(batch) if self.uses_metadata else None
        headers = _column(batch, "headers").to_pylist() if self.uses_headers else None
        process, record = self.process, Record(None)  # one record for all: nothing keeps it
        for number, value in enumerate(values):
            record.topic, record.touched, record.dirty = topics[number], 0, 0
            if metadata is not None:
                metadata.put(number, record)
            if headers is not None:
                record.headers = [_header(h) for h in headers[number] or ()]
            outcome, rows.keys[number], rows.values[number] = process(record, keys[number], value)
            rows.topics[number], rows.touched[number] = record.topic, record.touched
            if headers is not None and record.headers:
                rows.headers[number] = [{"key": h.key, "value": _header_bytes(h)} for h in record.headers]
            if outcome is not KEPT_OUTCOME:
                rows.lost(number, outcome)
        return self._result(batch, rows, topics)

    def _result(self, batch: pa.RecordBatch, rows: "_Rows", topics: list[str]) -> pa.RecordBatch:
        source = _column(batch, "topic")
        out = {name: _column(batch, name) for name in OUT_FIELDS if name not in ("key", "value", "source_topic")}
        out["key"] = _column(batch, "key") if self.passes_key else pa.array(rows.keys, pa.binary())
        out["value"] = pa.array(rows.values, pa.binary())
        out["source_topic"] = source
        if rows.topics != topics:
            out["topic"] = pa.array(rows.topics, pa.string())
        if self.uses_headers:
            out["headers"] = pa.array(rows.headers, _HEADERS)
        columns = {
            "__topic": source,
            "__partition": _column(batch, "partition"),
            "__offset": _column(batch, "offset"),
            "__status": pa.array(rows.status, pa.int8()),
            "__stage": pa.array(rows.stage, pa.int32()),
            "__problem": _problems(rows.problems, batch.num_rows),
            "__touched": self._touched(rows),
            "__out": _struct(out, rows),
        }
        return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))

    def _touched(self, rows: "_Rows") -> pa.Array:
        count = words(self.job.entries) if self.job.ledger else 0
        size = len(rows.touched)
        offsets = pa.array(range(0, size * count + 1, count) if count else [0] * (size + 1), pa.int32())
        flat = [bits >> BITS * word & _MASK for bits in rows.touched for word in range(count)]
        return pa.ListArray.from_arrays(offsets, pa.array(rows.touched if count == 1 else flat, pa.int64()))


class _Metadata:
    """Partition, offset and timestamp of a batch's records."""

    def __init__(self, batch: pa.RecordBatch):
        self.partitions = _column(batch, "partition").to_pylist()
        self.offsets = _column(batch, "offset").to_pylist()
        self.micros = _column(batch, "timestamp").cast(_TIMESTAMP).cast(pa.int64()).to_pylist()
        self.types = _column(batch, "timestampType").to_pylist()

    def put(self, number: int, record: Record) -> None:
        """Fill in one record."""
        record.partition, record.offset = self.partitions[number], self.offsets[number]
        micros = self.micros[number]
        record.timestamp = None if micros is None else micros // 1000
        record.timestamp_type = _TIMESTAMP_TYPES.get(self.types[number])


class _Rows:
    """What a batch's records became, column by column."""

    def __init__(self, size: int):
        self.keys: list[bytes | None] = [None] * size
        self.values: list[bytes | None] = [None] * size
        self.topics: list[str | None] = [None] * size
        self.headers: list[Any] = [None] * size
        self.touched = [0] * size
        self.status = [0] * size
        self.stage = [NO_STAGE] * size
        self.problems: dict[int, Problem] = {}

    def lost(self, number: int, outcome: Outcome) -> None:
        """Take in that a record was dropped or failed."""
        self.status[number], self.stage[number] = outcome.status, outcome.stage
        if outcome.problem is not None:
            self.problems[number] = outcome.problem


def _column(batch: pa.RecordBatch, name: str) -> Any:
    return batch.column(name)


def _header(row: dict[str, Any]) -> Header:
    raw = row["value"]
    schema, value = parse_simple_header(raw)
    return Header(row["key"], schema, value, raw, made=False)


def _header_bytes(header: Header) -> bytes | None:
    return simple_header_bytes(header.schema, header.value) if header.made else header.raw


def _problems(problems: dict[int, Problem], size: int) -> pa.Array:
    if not problems:
        return pa.nulls(size, _PROBLEM)
    rows: list[dict[str, str] | None] = [None] * size
    for number, problem in problems.items():
        rows[number] = {name: getattr(problem, name) for name in PROBLEM_FIELDS}
    return pa.array(rows, _PROBLEM)


def _struct(out: dict[str, Any], rows: _Rows) -> pa.Array:
    arrays = [out[name] if out[name].type == type_ else out[name].cast(type_) for name, type_ in OUT_FIELDS.items()]
    fields = [pa.field(name, type_) for name, type_ in OUT_FIELDS.items()]
    gone = pa.array([status != KEPT for status in rows.status], pa.bool_()) if any(rows.status) else None
    return pa.StructArray.from_arrays(arrays, fields=fields, mask=gone)
