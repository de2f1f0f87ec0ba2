"""Sends whole Arrow batches through a chain that consists only of foreign stages (Java classes from jars). These stages
run in the host, a separate Java process. Python reads no record.

The formats must be JSON without a schema, envelopes, strings or bytes, and the records of the batch must have no
headers. The interpreter runs all other batches record by record, with the same stages in the same host.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dagster_smt.errors import Problem, problem_of_record
from dagster_smt.foreign.host import HostDiedError
from dagster_smt.foreign.segment import ForeignSegment, thrown
from dagster_smt.interpret.interpreter import KEY_CONVERTER, VALUE_CONVERTER, Interpreter
from dagster_smt.model.schema import JavaDate
from dagster_smt.model.topics.format import Format
from dagster_smt.spark.outcome_columns import timestamp_micros
from dagster_smt.spark.records.change_texts import of_numbers

_PLACES = {KEY_CONVERTER: "key.converter", VALUE_CONVERTER: "value.converter"}
_NONE = -(2**63)
"""The number that represents a missing timestamp."""
_FORMATS = ("json", "envelope", "string", "bytes")


@dataclass(frozen=True)
class ForeignBatch:
    """The answer of the host, a Java process that runs foreign stages, for one batch.

    Attributes:
        status, stage: The columns ``__status`` and ``__stage`` of ``spark.outcome_columns``.
        sets: For each record, a position in the list ``ForeignSegment.sets``. The item there contains the changes that
            the stages made to the record.
        key, value, topic: The columns of the new records.
        timestamp: The timestamps in milliseconds; null if a record has none.
        others: Maps the position of a record to a pair. The first item is the partition that a stage has chosen, or
            None. The second item contains the headers that stages have added.
        problems: Maps the position of a failed record to its problem.
    """

    status: pa.Array
    stage: pa.Array
    sets: Any
    key: pa.Array
    value: pa.Array
    topic: pa.Array
    timestamp: pa.Array
    others: dict[int, tuple[int | None, list[tuple[str, bytes | None]]]]
    problems: dict[int, Problem]


def segment_of(interpreter: Interpreter, key: Format, value: Format, rewritten: int) -> ForeignSegment | None:
    """Returns all stages of the chain as one segment. This needs two things: all stages are foreign (Java classes from
    jars), and their Java process can run whole batches. Otherwise returns None.
    """
    chain = interpreter.chain
    run = interpreter.foreign.get(0)
    if run is None or len(run.indexes) < len(chain.stages) or run.test is not None or run.apply is not None:
        return None
    if rewritten or any(form.kind not in _FORMATS or form.options for form in (key, value)):
        return None
    return run.segment


def takes(batch: pa.RecordBatch) -> bool:
    """Returns True if no record in ``batch`` has headers."""
    headers = batch.column("headers")
    if headers.null_count == len(headers):
        return True
    return not pc.any(pc.greater(pc.list_value_length(headers), 0)).as_py()


def run_batch(
    segment: ForeignSegment, interpreter: Interpreter, batch: pa.RecordBatch, key: str, value: str
) -> ForeignBatch | None:
    """Runs ``batch`` in the host, the Java process of the foreign stages, and returns the host's answer. Returns None
    if a stage has ended the host. The interpreter then runs the batch again, to find the record at which the host ends.

    Args:
        segment: The stages.
        interpreter: The interpreter. If the host cannot read the bytes of a record, the interpreter's codec reports the
            problem.
        batch: Kafka's columns.
        key, value: The names of the formats, such as ``json``.
    """
    try:
        changes, *columns = segment.call_plain([key, value, batch.num_rows, *_sent(batch)])
    except HostDiedError:
        return None
    segment.note(changes)
    status, stages, sets, key_lengths, keys, lengths, values, topics, times, names, (others, failures) = columns
    size = batch.num_rows
    status_array, stage = np.frombuffer(status, np.int8), np.frombuffer(stages, "<i4")
    timestamps = np.frombuffer(times, "<i8")
    topic = pa.DictionaryArray.from_arrays(pa.array(np.frombuffer(topics, "<i4")), pa.array(names, pa.string()))
    chosen = {}
    for number, partition, headers in others:
        chosen[number] = (partition, [(name, raw) for name, raw in headers])
    problems = {}
    for number, *exception in failures:
        problems[number] = _problem(interpreter, batch, number, int(stage[number]), *exception)
    return ForeignBatch(
        pa.array(status_array),
        pa.array(stage),
        np.frombuffer(sets, "<i4"),
        _binary(key_lengths, keys, size),
        _binary(lengths, values, size),
        topic.dictionary_decode(),
        pa.array(timestamps, mask=timestamps == _NONE),
        chosen,
        problems,
    )


def _problem(
    interpreter: Interpreter, batch: pa.RecordBatch, number: int, stage: int, exception: str, message: str | None
) -> Problem:
    if stage >= 0:
        return thrown(exception, message).at(interpreter.chain.stages[stage].place)
    codec = interpreter.key if stage == KEY_CONVERTER else interpreter.value
    data = batch.column("key" if stage == KEY_CONVERTER else "value")[number].as_py()
    try:
        codec.read(data, batch.column("topic")[number].as_py())
        codec.write(
            None, JavaDate(0)
        )  # the bytes can be read, so the reason is a new value of an unsupported type, such as a date
    except Exception as error:  # noqa: BLE001 - the record's own problem, as reported by our reader
        return problem_of_record(error).at(_PLACES[stage])
    return thrown(exception, message).at(_PLACES[stage])


def _sent(batch: pa.RecordBatch) -> list[Any]:
    topics = batch.column("topic")
    names = pc.unique(topics).to_pylist()
    micros = timestamp_micros(batch)
    # rounds down also before 1970, as the interpreter's ``//`` does
    millis = np.floor_divide(pc.fill_null(micros, 0).to_numpy(zero_copy_only=False), 1000)
    millis[np.asarray(micros.is_null())] = _NONE
    kinds = pc.fill_null(batch.column("timestampType"), -1).to_numpy(zero_copy_only=False)
    return [
        # one topic for all records is sent only once
        names if len(names) == 1 else topics.to_pylist(),
        _numbers(batch.column("partition"), "<i4"),
        _numbers(batch.column("offset"), "<i8"),
        millis.astype("<i8").tobytes(),
        # the ordinals of TimestampType: none, CreateTime, LogAppendTime
        (np.clip(kinds, -1, 1) + 1).astype(np.int8).tobytes(),
        _bytes(batch.column("key")),
        _bytes(batch.column("value")),
    ]


def _numbers(column: pa.Array, kind: str) -> bytes:
    return pc.fill_null(column, 0).to_numpy(zero_copy_only=False).astype(kind).tobytes()


def _bytes(column: pa.Array) -> list[bytes] | None:
    """Returns a column of bytes as two byte strings: the lengths of all values, and the values themselves without
    separators. For ``[b"ab", None, b"c"]``, these are the encoded lengths 2, -1 and 1, and ``b"abc"``. Returns None if
    all values are null.
    """
    if column.null_count == len(column):
        return None
    column = column.cast(pa.binary())
    _, offsets, data = column.buffers()
    # a slice of a batch shares the buffers of the batch, so its own part begins at ``column.offset``
    starts = np.frombuffer(offsets, np.int32)[column.offset : column.offset + len(column) + 1]
    lengths = np.diff(starts)
    if column.null_count:
        nulls = np.asarray(column.is_null())
        if lengths[nulls].any():  # the host would read the bytes of a null as bytes of the next record
            return _bytes(pa.array(column.to_pylist(), pa.binary()))
        lengths = np.where(nulls, np.int32(-1), lengths)
    content = b"" if data is None else memoryview(data)[int(starts[0]) : int(starts[-1])]
    return [lengths.astype("<i4").tobytes(), bytes(content)]


def _binary(lengths: bytes, data: bytes, size: int) -> pa.Array:
    sizes = np.frombuffer(lengths, "<i4")
    offsets = np.zeros(size + 1, np.int32)
    np.cumsum(np.maximum(sizes, 0), out=offsets[1:])
    validity = None
    nulls = sizes < 0
    if nulls.any():
        # Arrow's bitmap of valid values is laid out like a column of booleans
        validity = pa.array(~nulls).buffers()[1]
    return pa.Array.from_buffers(pa.binary(), size, [validity, pa.py_buffer(offsets), pa.py_buffer(data)])


def touched_bits(segment: ForeignSegment, sets: Any, shift: int, mask: int) -> pa.Array:
    """Returns one column of the bitmap of ledger entries that the records touched. ``sets[n]`` is the position of
    record ``n``'s changes in ``segment.sets``. ``shift`` and ``mask`` select the bits of the column.
    """
    bits = np.array([one.bits >> shift & mask for one in segment.sets], np.int64)
    return pa.array(bits[sets])


def changes_text(segment: ForeignSegment, sets: Any) -> pa.Array:
    """Returns the column ``__changes``: what the foreign stages (Java classes from jars) in ``segment`` changed in each
    record. ``sets[n]`` is the position of record ``n``'s changes in ``segment.sets``.
    """
    return of_numbers(sets, [one.text for one in segment.sets])
