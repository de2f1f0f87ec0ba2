"""Runs a chain on records in Python, inside Spark. ``mapInArrow`` converts batches of Kafka's columns into batches of
new records.

Python runs the records that the JVM lane, the Java evaluator in ``jvm_records``, does not run. Tests compare the lane
with this module.

The columns that travel to Python and back are flat, because lists of structs would take most of the time. So Spark
builds the structs of the result. If no stage reads the headers, they travel as JSON text, or as null if a record has no
headers.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from dagster_smt.authoring.stage import Chain
from dagster_smt.errors import problem_of_record
from dagster_smt.foreign.segment import ForeignSegment
from dagster_smt.formats.sides import schema_names
from dagster_smt.interpret.interpreter import (
    FAILED,
    NO_STAGE,
    NO_TOPIC,
    PASSED,
    VALUE_CONVERTER,
    Batch,
    Interpreter,
    Outcome,
    reads_keys,
)
from dagster_smt.model.record import KEY_DIRTY, VALUE_DIRTY, Record, Side
from dagster_smt.model.topics.format import Format, Formats
from dagster_smt.spark.foreign_jars import classes_here
from dagster_smt.spark.garbage import no_collection
from dagster_smt.spark.outcome_columns import (
    BITS,
    CHANGES,
    HEADERS_DDL,
    LEADER_EPOCH,
    PROBLEM_TYPE,
    RECORD_COLUMNS,
    TARGET,
    TIMESTAMP_TYPES,
    UNREADABLE,
    problem_column,
    schema_column,
    timestamp_micros,
    unreadable_timestamps,
    words,
)
from dagster_smt.spark.records.change_texts import of_texts
from dagster_smt.spark.records.foreign_batches import (
    ForeignBatch,
    changes_text,
    run_batch,
    segment_of,
    takes,
    touched_bits,
)
from dagster_smt.spark.workers import map_in_arrow
from dagster_smt.values.headers.fields import header_as_read, header_bytes

_MASK = (1 << BITS) - 1
_PART = 4 << 20
"""The number of bytes of records that go through the chain in one piece. With pieces of 100 MB, each record would take
twice as long.
"""
Run = Callable[[pa.RecordBatch], pa.RecordBatch]
_HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
_TIMESTAMP = pa.timestamp("us", tz="UTC")
READ_COLUMNS = ("topic", "partition", "offset", "timestamp", "timestampType", "headers", "key", "value")
_COORDINATES = {"__topic": T.StringType(), "__partition": T.IntegerType(), "__offset": T.LongType()}
_OUTCOMES = {"__status": T.ByteType(), "__stage": T.IntegerType(), "__problem": PROBLEM_TYPE}


@dataclass(frozen=True)
class ArrowMap:
    """A picklable function for ``DataFrame.mapInArrow`` that runs a chain on records.

    Attributes:
        chain: The chain.
        key, value: The formats of the input.
        entries: The number of ledger entries. An entry counts the records that a stage touches in one field.
        ledger: True to fill ``__touched``, a bitmap of the entries that a record touches.
        written: The formats of the result; None for the formats of the input.
        registered: The sides (``key``, ``value`` or both) whose format uses a schema registry. For each of these sides,
            the result has a column with the bytes that name the record's schema.
    """

    chain: Chain
    key: Format
    value: Format
    entries: int
    ledger: bool = True
    written: Formats | None = None
    registered: tuple[Side, ...] = ()

    @property
    def rewritten(self) -> int:
        """A number with two bits: one is set if keys are written in a new format, the other if values are."""
        if self.written is None:
            return 0
        key, value = self.written.key != self.key, self.written.value != self.value
        return (KEY_DIRTY if key else 0) | (VALUE_DIRTY if value else 0)

    @property
    def place(self) -> str:
        """The kind of topics to which records are written, as in ``Formats``. It is empty if records are not written to
        topics.
        """
        if self.written is None:
            return ""
        return self.written.place

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return closed_at_end(BatchRunner(self), batches)

    @property
    def words(self) -> int:
        """The number of columns for the bitmap that shows which ledger entries a record touches. It is 0 without a
        ledger.
        """
        if self.ledger:
            return words(self.entries)
        return 0

    def outcome_fields(self) -> list[T.StructField]:
        """Returns the columns that are added to the new record: the coordinates (topic, partition and offset) of the
        original record, its status, stage and problem, and the bitmap of ledger entries. If necessary, also the schema
        headers and the changes of foreign stages (Java classes from jars).
        """
        touched = {f"__t{n}": T.LongType() for n in range(self.words)}
        registered = {schema_column(side): T.BinaryType() for side in self.registered}
        changes = {CHANGES: T.StringType()} if self.chain.has_foreign else {}
        columns = {**_COORDINATES, **_OUTCOMES, **touched, **registered, **changes}
        return [T.StructField(name, kind) for name, kind in columns.items()]


def evaluate_records(frame: DataFrame, job: ArrowMap) -> DataFrame:
    """Runs the chain of ``job`` on ``frame``, which has Kafka's columns. Returns the columns of
    ``spark.outcome_columns``. ``__out`` contains the new records.
    """
    headers, restored = F.col("headers"), F.col("headers")
    if not job.chain.reads_headers:
        headers, restored = F.to_json("headers"), F.from_json("headers", HEADERS_DDL)
    seen = (*READ_COLUMNS, LEADER_EPOCH) if job.chain.reads_leader_epoch else READ_COLUMNS
    rows = frame.select(*(headers.alias(n) if n == "headers" else F.col(n) for n in seen))
    fields = [rows.schema[n] for n in ("timestamp", "timestampType", "headers", "key", "value", "topic")]
    chosen = {TARGET: T.IntegerType()} if job.chain.writes_partition else {}
    fields += [T.StructField(name, kind) for name, kind in chosen.items()]
    done = map_in_arrow(rows, job, T.StructType([*job.outcome_fields(), *fields]))
    # No stage changes partition and offset, so they come back only once, as the coordinates of the row.
    read = {"partition": "__partition", "offset": "__offset", "source_topic": "__topic"}
    out = {}
    for n in (*RECORD_COLUMNS, *chosen):
        out[n] = restored if n == "headers" else F.col(read.get(n, n))
    record = F.struct(*(column.alias(n) for n, column in out.items()))
    registered = map(schema_column, job.registered)
    return with_bitmap(done, job).select(*COMMON, *changes_column(job), *registered, record.alias("__out"))


def changes_column(job: ArrowMap) -> tuple[str, ...]:
    """Returns ``("__changes",)`` if the chain of ``job`` has foreign stages, which are Java classes from jars.
    Otherwise returns an empty tuple. The column contains the changes that these stages made.
    """
    return (CHANGES,) if job.chain.has_foreign else ()


COMMON = (*_COORDINATES, *_OUTCOMES, "__touched")
"""The columns of a result besides ``__out``."""


def with_bitmap(frame: DataFrame, job: ArrowMap) -> DataFrame:
    """Joins the columns ``__t0``, ``__t1`` and so on into one array, the column ``__touched``. The bits of the array
    show which ledger entries (stage and field) a record touched.
    """
    bits = [F.col(f"__t{n}") for n in range(job.words)]
    return frame.withColumn("__touched", F.array(*bits) if bits else F.array_repeat(F.lit(0).cast("bigint"), F.lit(0)))


class BatchRunner:
    """A runner that runs a chain on batches of records in Python. If no stage can change a column, the runner returns
    the column as it is.
    """

    def __init__(self, job: ArrowMap):
        self.job = job
        self.interpreter = Interpreter(job.chain, job.key, job.value, job.written, classes_here(job.chain))
        self.passes_key = not reads_keys(job.chain, job.key) and not job.rewritten & KEY_DIRTY
        self.names = {side: schema_names(job.key if side == "key" else job.value) for side in job.registered}
        self.records: list[Record] = []
        self.dirty = job.rewritten
        self.segment = self._segment()

    def _segment(self) -> ForeignSegment | None:
        """Returns all stages of the chain as one segment. This needs two things: all stages are foreign (Java classes
        from jars), and their Java process can run whole batches. Otherwise returns None.
        """
        # the host does not return the bytes that name a schema
        if self.job.registered:
            return None
        return segment_of(self.interpreter, self.job.key, self.job.value, self.job.rewritten)

    def run(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Evaluates ``batch``, and returns the results as a batch. If the evaluation fails, the method evaluates the
        halves of the batch separately, until only the record that fails is left.
        """
        try:
            return self._run(batch)
        except Exception as error:  # noqa: BLE001 whatever the error is, one of the records causes it
            problem = problem_of_record(error)
        size = batch.num_rows
        if size > 1:
            halves = [self.run(batch.slice(0, size // 2)), self.run(batch.slice(size // 2))]
            # the caller expects one batch, with the rows in their old order
            return pa.Table.from_batches(halves).combine_chunks().to_batches()[0]
        lost = Batch(None, [None], {0: Outcome(FAILED, VALUE_CONVERTER, problem)})
        columns = {**self._outcomes(batch, [Record(None)], lost), **self.nothing(batch)}
        return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))

    def _run(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        # any record that the host cannot take sends the whole batch through the interpreter
        if self.segment is not None and takes(batch) and not _unreadable(batch):
            done_there = run_batch(self.segment, self.interpreter, batch, self.job.key.kind, self.job.value.kind)
            if done_there is not None:
                return self._of_host(self.segment, batch, done_there)
        records = self._records(batch)
        keys = None if self.passes_key else batch.column("key").to_pylist()
        done = self.interpreter.run_all(records, keys, batch.column("value").to_pylist())
        for number in _unreadable(batch):
            done.lost[number] = Outcome(FAILED, VALUE_CONVERTER, UNREADABLE)
            records[number].touched = 0  # the record reached no stage
        for number in done.lost:
            done.values[number] = None  # the stages before the drop or failure may have left a value
        columns = {**self._outcomes(batch, records, done), **self.outputs(batch, records, done)}
        return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))

    def _records(self, batch: pa.RecordBatch) -> list[Record]:
        """Returns the records of ``batch``, without keys and values.

        All batches share the same record objects, because nothing refers to a record after its batch.
        """
        size, topics = batch.num_rows, batch.column("topic").to_pylist()
        # the list grows to the largest batch so far
        self.records += [Record(None, number=n) for n in range(len(self.records), size)]
        if len(self.records) == size:
            records = self.records
        else:
            records = self.records[:size]
        for record, topic in zip(records, topics, strict=True):
            record.topic, record.touched, record.dirty, record.target_partition = topic, 0, self.dirty, None
            record.changes = ""
        if self.job.chain.reads_metadata or self.job.chain.reads_timestamp_type:
            metadata = _Metadata(batch)
            for record in records:
                metadata.put(record.number, record)
        if self.job.chain.reads_leader_epoch:
            for record, epoch in zip(records, batch.column(LEADER_EPOCH).to_pylist(), strict=True):
                record.leader_epoch = epoch
        if self.job.chain.reads_headers:
            for record, headers in zip(records, batch.column("headers").to_pylist(), strict=True):
                record.headers = [header_as_read(h["key"], h["value"]) for h in headers or ()]
        return records

    def _outcomes(self, batch: pa.RecordBatch, records: list[Record], done: Batch) -> dict[str, pa.Array]:
        size = len(records)
        status, stage, problems = [PASSED] * size, [NO_STAGE] * size, {}
        for number, outcome in done.lost.items():
            status[number], stage[number] = outcome.status, outcome.stage
            if outcome.problem is not None:
                problems[number] = outcome.problem
        columns = {f"__{name}": batch.column(name) for name in ("topic", "partition", "offset")}
        columns["__status"], columns["__stage"] = pa.array(status, pa.int8()), pa.array(stage, pa.int32())
        columns["__problem"] = problem_column(problems, size)
        touched = [record.touched for record in records]
        for word in range(self.job.words):
            # with one word, no bit must be cut off
            if self.job.words == 1:
                bits = touched
            else:
                bits = [bits >> BITS * word & _MASK for bits in touched]
            columns[f"__t{word}"] = pa.array(bits, pa.int64())
        for side, names in self.names.items():
            columns[schema_column(side)] = pa.array(names(batch.column(side).to_pylist()), pa.binary())
        if self.job.chain.has_foreign:
            columns[CHANGES] = of_texts([record.changes for record in records])
        return columns

    def _of_host(self, segment: ForeignSegment, batch: pa.RecordBatch, done: ForeignBatch) -> pa.RecordBatch:
        """Returns the result columns for ``batch`` from ``done``. ``done`` is the answer of the host, the Java process
        that has run all stages of the chain.
        """
        size = batch.num_rows
        done = self._routed(done)
        columns = {f"__{name}": batch.column(name) for name in ("topic", "partition", "offset")}
        columns |= {"__status": done.status, "__stage": done.stage, "__problem": problem_column(done.problems, size)}
        for word in range(self.job.words):
            columns[f"__t{word}"] = touched_bits(segment, done.sets, BITS * word, _MASK)
        columns[CHANGES] = changes_text(segment, done.sets)
        headers: list[Any] = [None] * size
        targets: list[int | None] = [None] * size
        for number, (partition, added) in done.others.items():
            targets[number] = partition
            headers[number] = [{"key": name, "value": raw} for name, raw in added]
        micros = pc.multiply(done.timestamp, 1000)
        columns |= {
            "timestamp": micros.cast(_TIMESTAMP),
            "timestampType": batch.column("timestampType"),
            "headers": pa.array(headers, _HEADERS) if done.others else batch.column("headers"),
            "key": done.key,
            "value": done.value,
            "topic": done.topic,
            TARGET: pa.array(targets, pa.int32()),
        }
        return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))

    def _routed(self, done: ForeignBatch) -> ForeignBatch:
        """Checks the new topics in ``done``, the answer of the host (the Java process of foreign stages). Returns the
        answer after each record with an invalid topic has been marked as failed.
        """
        wrong = [name for name in pc.unique(done.topic).to_pylist() if not self.interpreter.takes(name)]
        passed = pc.equal(done.status, PASSED)
        bad = pc.and_(pc.is_in(done.topic, pa.array(wrong, pa.string())), passed)
        if not wrong or not pc.any(bad).as_py():
            return done
        problems = dict(done.problems)
        router = self.interpreter.router
        for number in pc.indices_nonzero(bad).to_pylist():
            problems[number] = NO_TOPIC.at(self.job.chain.stages[router].place)
        return replace(
            done,
            status=pc.if_else(bad, pa.scalar(FAILED, pa.int8()), done.status),
            stage=pc.if_else(bad, pa.scalar(router, pa.int32()), done.stage),
            problems=problems,
        )

    def outputs(self, batch: pa.RecordBatch, records: list[Record], done: Batch) -> dict[str, pa.Array]:
        """Returns the columns of the new records, by name: key, value, topic, headers, timestamp and so on.

        Args:
            batch: The batch as read. Its columns are used for everything that no stage changes.
            records: The records after the stages.
            done: The encoded keys and values of these records.
        """
        columns = {name: batch.column(name) for name in ("timestamp", "timestampType", "headers", "key")}
        if self.job.chain.reads_headers:
            columns["headers"] = pa.array([_headers(record) for record in records], _HEADERS)
        if self.job.chain.writes_timestamp:
            micros = []
            for r in records:
                # Connect's timestamps are milliseconds, Spark's are microseconds
                micros.append(None if r.timestamp is None else r.timestamp * 1000)
            columns["timestamp"] = pa.array(micros, pa.int64()).cast(_TIMESTAMP)
        if done.keys is not None:
            columns["key"] = pa.array(done.keys, pa.binary())
        topics = [record.topic for record in records]
        columns |= {"value": pa.array(done.values, pa.binary()), "topic": pa.array(topics, pa.string())}
        if self.job.chain.writes_partition:
            columns[TARGET] = pa.array([record.target_partition for record in records], pa.int32())
        return columns

    def nothing(self, batch: pa.RecordBatch) -> dict[str, pa.Array]:
        """Returns the columns for a ``batch`` whose records have all been dropped or have failed. They are the same
        columns as those of the method ``outputs``, but filled with nulls.
        """
        size = batch.num_rows
        kinds = {name: batch.schema.field(name).type for name in ("timestamp", "timestampType", "headers", "key")}
        if self.job.chain.reads_headers:
            kinds["headers"] = _HEADERS
        if self.job.chain.writes_timestamp:
            kinds["timestamp"] = _TIMESTAMP
        kinds |= {"value": pa.binary(), "topic": pa.string()}
        if self.job.chain.writes_partition:
            kinds[TARGET] = pa.int32()
        return {name: pa.nulls(size, kind) for name, kind in kinds.items()}


class _Metadata:
    """The partition, offset and timestamp of each record in a batch."""

    def __init__(self, batch: pa.RecordBatch):
        self.partitions = batch.column("partition").to_pylist()
        self.offsets = batch.column("offset").to_pylist()
        self.micros = timestamp_micros(batch).to_pylist()
        self.types = batch.column("timestampType").to_pylist()

    def put(self, number: int, record: Record) -> None:
        """Copies the metadata at the position ``number`` into ``record``."""
        record.partition, record.offset = self.partitions[number], self.offsets[number]
        micros = self.micros[number]
        record.timestamp = None if micros is None else micros // 1000
        record.timestamp_type = TIMESTAMP_TYPES.get(self.types[number])


def closed_at_end(runner: BatchRunner, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Runs ``batches`` with ``runner``, and yields the results. At the end of the task, even after an error, the
    foreign stages (Java classes from jars) are closed.
    """
    try:
        yield from in_parts(batches, runner.run)
    finally:
        runner.interpreter.close()


def in_parts(batches: Iterable[pa.RecordBatch], run: Run) -> Iterator[pa.RecordBatch]:
    """Runs ``batches`` in pieces that fit into a processor's cache. Spark's own batches may be larger, because records
    may be long.
    """
    for batch in batches:
        for part in _parts(batch):
            with no_collection():
                done = run(part)
            yield done


def _parts(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    rows = batch.num_rows
    step = max(1, rows * _PART // max(batch.nbytes, 1))
    for first in range(0, max(rows, 1), step):
        yield batch.slice(first, step) if step < rows else batch


def _unreadable(batch: pa.RecordBatch) -> list[int]:
    """Returns the positions of those records in ``batch`` whose timestamps the source could not read."""
    flags = unreadable_timestamps(batch)
    if pc.any(flags).as_py():
        return pc.indices_nonzero(flags).to_pylist()
    return []


def _headers(record: Record) -> list[dict[str, Any]]:
    return [{"key": h.key, "value": header_bytes(h)} for h in record.headers]
