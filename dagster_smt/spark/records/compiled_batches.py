"""Batches through the compiled lane, and what it leaves over through the interpreter."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dagster_smt.authoring.stage import Chain
from dagster_smt.errors import problem_of_record
from dagster_smt.interpret.compiled.arrays import Bytes
from dagster_smt.interpret.compiled.batch import Done, Given
from dagster_smt.interpret.compiled.loading import Waiting
from dagster_smt.interpret.interpreter import KEPT, NO_STAGE
from dagster_smt.spark.columns import problem_column, timestamp_micros, unreadable_timestamps

if TYPE_CHECKING:  # numba is loaded when there is enough to do
    from dagster_smt.interpret.compiled.lane import Lane

Run = Callable[[pa.RecordBatch], pa.RecordBatch]
_TRIAL, _MOST_ODD = 10_000, 0.25
_MOST_BYTES = 1 << 29
"""Of a batch: positions are 32-bit numbers, and records may grow."""


@dataclass(frozen=True)
class _Part:
    """Some rows of a batch, and what became of them."""

    rows: Any
    done: pa.RecordBatch


class CompiledBatches:
    """Runs batches of Kafka's columns: JSON objects without schema by compiled code, the rest by the interpreter.

    Args:
        chain: The chain.
        words: How many columns the bitmap of ledger entries takes: 1, or 0 without ledger.
        interpreted: Runs a batch through the interpreter.
        key_kind: The format of the keys, if the interpreter reads them; None: their bytes are handed on.
        takes: Whether records can be written to a topic.
    """

    def __init__(
        self,
        chain: Chain,
        words: int,
        interpreted: Run,
        key_kind: str | None = None,
        takes: Callable[[str | None], bool] = lambda topic: True,
    ):
        self.words, self.interpreted, self.reads_metadata = words, interpreted, chain.reads_metadata
        self.waiting: Waiting | None = Waiting(chain, key_kind or "")
        self.key_kind, self.takes = key_kind, takes
        self.records, self.odd = 0, 0

    def run(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Evaluate one batch."""
        lane = self.waiting.lane(batch.num_rows) if self.waiting is not None else None
        if lane is None or not batch.num_rows or not self._can_be_read(batch):
            return self.interpreted(batch)
        topics, parts = batch.column("topic"), []
        for topic in pc.unique(topics).to_pylist():
            rows = np.nonzero(pc.is_in(topics, pa.array([topic], topics.type)).to_numpy(zero_copy_only=False))[0]
            parts += self._of_topic(lane, _taken(batch, rows), topic, rows)
        if self.records > _TRIAL and self.odd > _MOST_ODD * self.records:
            self.waiting = None  # these records are not of the kind: looking at them twice does not pay
        return _joined(parts)

    def _can_be_read(self, batch: pa.RecordBatch) -> bool:
        values = batch.column("value")
        if values.nbytes > _MOST_BYTES or not _is_utf8(values):
            return False
        return self.key_kind is None or _is_utf8(batch.column("key"))

    def _of_topic(self, lane: "Lane", batch: pa.RecordBatch, topic: str | None, rows: Any) -> list[_Part]:
        odd = _odd(batch, self.reads_metadata)
        keys = _bytes(pc.fill_null(batch.column("key"), b"null")) if self.key_kind == "json" else None
        given = Given(_bytes(batch.column("value")), odd, lambda name: _numbers(batch, name), keys)
        done = _done(lane, given, topic)
        if done is not None and not self.takes(done.topic):  # the interpreter says what is wrong
            done = None
        rest = np.arange(len(rows)) if done is None else np.nonzero(done.odd)[0]
        self.records, self.odd = self.records + len(rows), self.odd + len(rest)
        parts = []
        if done is not None and len(rest) < len(rows):
            plain = np.nonzero(done.odd == 0)[0]
            parts.append(_Part(rows[plain], _taken(_kept(batch, done, self.words), plain)))
        if len(rest):
            parts.append(_Part(rows[rest], self.interpreted(_taken(batch, rest))))
        return parts


def _done(lane: "Lane", given: Given, topic: str | None) -> Done | None:
    try:
        return lane.run(given, topic)
    except Exception as error:  # noqa: BLE001 the interpreter comes upon it again, and says which record has it
        problem_of_record(error)
        return None


def _taken(batch: pa.RecordBatch, rows: Any) -> pa.RecordBatch:
    return batch if len(rows) == batch.num_rows else batch.take(pa.array(rows))


def _joined(parts: list[_Part]) -> pa.RecordBatch:
    """The parts of a batch, in its order."""
    if len(parts) == 1:
        return parts[0].done
    order = np.argsort(np.concatenate([part.rows for part in parts]))
    return pa.Table.from_batches([part.done for part in parts]).take(pa.array(order)).combine_chunks().to_batches()[0]


def _is_utf8(values: pa.Array) -> bool:
    try:
        values.cast(pa.string())
    except pa.ArrowInvalid:
        return False
    return True


def _bytes(values: pa.Array) -> Bytes:
    if values.type not in (pa.binary(), pa.string()):
        raise TypeError(f"offsets of 32 bits are read here, not {values.type}")
    _, bounds, data = values.buffers()
    ends = np.frombuffer(bounds, np.int32)[values.offset : values.offset + len(values) + 1]
    if data is None or ends[0] == ends[-1]:  # all values are empty or null
        return Bytes(np.zeros(1, np.uint8), np.zeros_like(ends))
    return Bytes(np.frombuffer(data, np.uint8)[ends[0] : ends[-1]], ends - ends[0])


def _odd(batch: pa.RecordBatch, reads_metadata: bool) -> Any:
    """1 where only the interpreter can say what becomes of a record."""
    odd = pc.or_(pc.is_null(batch.column("value")), unreadable_timestamps(batch))
    if reads_metadata:
        for name in ("partition", "offset", "timestamp"):
            odd = pc.or_(odd, pc.is_null(batch.column(name)))
    return odd.to_numpy(zero_copy_only=False).astype(np.uint8)


def _numbers(batch: pa.RecordBatch, name: str) -> Any:
    column = timestamp_micros(batch) if name == "timestamp" else batch.column(name)
    numbers = pc.fill_null(column, 0).to_numpy(zero_copy_only=False).astype(np.int64)
    return numbers // 1000 if name == "timestamp" else numbers


def _kept(batch: pa.RecordBatch, done: Done, words: int) -> pa.RecordBatch:
    """The columns of records that are kept, as ``BatchRunner`` gives them."""
    size = batch.num_rows
    columns = {f"__{name}": batch.column(name) for name in ("topic", "partition", "offset")}
    columns["__status"], columns["__stage"] = _repeated(KEPT, pa.int8(), size), _repeated(NO_STAGE, pa.int32(), size)
    columns["__problem"] = problem_column({}, size)
    if words:
        columns["__t0"] = pa.array(done.touched)
    columns |= {name: batch.column(name) for name in ("timestamp", "timestampType", "headers", "key", "value")}
    if done.values is not None:
        columns["value"] = _binary(done.values)
    if done.keys is not None:
        made = _binary(done.keys)
        nothing = pa.scalar(None, pa.binary())
        columns["key"] = made if done.key_there is None else pc.if_else(pa.array(done.key_there), made, nothing)
    columns["topic"] = _repeated(done.topic, pa.string(), size)
    return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))


def _binary(texts: Bytes) -> pa.Array:
    buffers = [None, pa.py_buffer(texts.ends), pa.py_buffer(texts.data)]
    return pa.Array.from_buffers(pa.binary(), len(texts.ends) - 1, buffers)


def _repeated(value: Any, kind: pa.DataType, size: int) -> pa.Array:
    return pa.repeat(pa.scalar(value, kind), size)
