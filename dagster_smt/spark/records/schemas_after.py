"""Finds the output schemas of a chain with foreign stages (Java classes from jars). These schemas are known only after
the chain has run.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import pyarrow as pa
from pyspark.sql import DataFrame

from dagster_smt.chain.forms import Form
from dagster_smt.foreign.wire import schema_bytes, schema_of_bytes
from dagster_smt.formats.sides import SideCodec
from dagster_smt.model.record import KEY_DIRTY, VALUE_DIRTY
from dagster_smt.model.schema import Schema
from dagster_smt.model.schema_size import MAX_SCHEMAS
from dagster_smt.spark.records.arrow_map import READ_COLUMNS, ArrowMap, BatchRunner, in_parts
from dagster_smt.spark.schema_counts import most_frequent
from dagster_smt.spark.workers import map_in_arrow

_DDL = (
    "`topic` string, `partition` int, `offset` bigint, `key` binary, `value` binary, `before` boolean, `records` bigint"
)
_COLUMNS = {
    "topic": pa.string(),
    "partition": pa.int32(),
    "offset": pa.int64(),
    "key": pa.binary(),
    "value": pa.binary(),
    "before": pa.bool_(),
    "records": pa.int64(),
}


@dataclass(frozen=True)
class SchemasAfter:
    """The schemas of records before and after a chain.

    Attributes:
        before: The schemas of the values before the chain.
        forms: The combinations of topic, key schema and value schema after the chain, in the order of their first
            records.
    """

    before: tuple[Schema, ...]
    forms: tuple[Form, ...]


def schemas_after(frame: DataFrame, job: ArrowMap) -> SchemasAfter:
    """Runs the chain of ``job`` on ``frame``, and returns the schemas before and after the chain. Records without a
    schema are ignored.

    If there are more than ``2 * MAX_SCHEMAS`` schemas, the least frequent schemas are left out. A record with such a
    schema becomes a dead letter, unless the record fits the columns of the other schemas.

    Args:
        frame: Kafka's columns.
        job: The chain and the formats.
    """
    rows = map_in_arrow(frame.select(*READ_COLUMNS), _Collect(job), _DDL)
    most = most_frequent(rows, ("key", "value", "before"), 2 * MAX_SCHEMAS)
    before: dict[Schema, None] = {}
    forms: dict[Form, None] = {}
    for row in most:
        value = schema_of_bytes(bytes(row.value))
        if row.before:
            before[value] = None
            continue
        key = None if row.key is None else schema_of_bytes(bytes(row.key))
        forms[Form(row.topic, key, value, free_key=False)] = None
    return SchemasAfter(tuple(before), tuple(forms))


@dataclass(frozen=True)
class _Collect:
    """A picklable function for ``DataFrame.mapInArrow``. It returns the input and output schemas of a chain, each once
    per task.
    """

    job: ArrowMap

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        runner = _Collector(self.job)
        try:
            for _ in in_parts(batches, runner.collect):
                continue
        finally:
            runner.interpreter.close()
        yield runner.result()


@dataclass
class _Uses:
    first: tuple[int, int]
    records: int = 0


@dataclass
class _Known:
    """A cache that maps schema objects, by identity, to bytes. The cache stays small, because a task has few schema
    objects.
    """

    texts: dict[int, tuple[bytes, Schema]] = field(default_factory=dict)

    def text(self, schema: Schema | None) -> bytes | None:
        if schema is None:
            return None
        known = self.texts.get(id(schema))
        if known is None:
            # the schema is stored as well, so that no other schema gets its id
            known = self.texts[id(schema)] = (schema_bytes(schema), schema)
        return known[0]


class _Collector(BatchRunner):
    """A runner that runs a chain only to collect the schemas of the results. The results are not written."""

    def __init__(self, job: ArrowMap):
        super().__init__(job)
        self.segment = None
        self.known, self.uses = _Known(), dict[tuple[str, bytes | None, bytes, bool], _Uses]()
        self.seen: list[tuple[str, bytes]] = []
        read_value = self.interpreter.value.read

        def read(data: bytes | None, topic: str = "") -> tuple[Schema | None, object]:
            schema, value = read_value(data, topic)
            if schema is not None and value is not None:
                self.seen.append((topic, self.known.text(schema) or b""))
            return schema, value

        self.interpreter.value = SideCodec(read, lambda schema, value, topic="": None)
        self.interpreter.key = SideCodec(self.interpreter.key.read, lambda schema, value, topic="": None)
        # all keys and values count as changed, so that the interpreter calls the writers, which discard them
        self.dirty = KEY_DIRTY | VALUE_DIRTY

    def collect(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Runs the chain on ``batch``, and remembers the schemas of its records before and after the chain. The results
        of the chain are discarded: the method returns ``batch`` itself.
        """
        records = self._records(batch)
        keys = None if self.passes_key else batch.column("key").to_pylist()
        done = self.interpreter.run_all(records, keys, batch.column("value").to_pylist())
        topics, partitions = batch.column("topic").to_pylist(), batch.column("partition").to_pylist()
        offsets = batch.column("offset").to_pylist()
        # ``seen`` does not show which record had a schema, so all schemas get the place of the first record.
        for topic, text in self.seen:
            self._note((topic, None, text, True), (partitions[0], offsets[0]))
        self.seen.clear()
        for record in done.left(records):
            if record.value is None or record.value_schema is None:
                continue
            key = None if record.key is None else self.known.text(record.key_schema)
            after = self.known.text(record.value_schema)
            assert after is not None
            n = record.number
            self._note((topics[n], key, after, False), (partitions[n], offsets[n]))
        return batch

    def _note(self, form: tuple[str, bytes | None, bytes, bool], place: tuple[int, int]) -> None:
        uses = self.uses.get(form)
        if uses is None and len(self.uses) >= 2 * MAX_SCHEMAS:
            return
        if uses is None:
            uses = self.uses[form] = _Uses(place)
        uses.first = min(uses.first, place)
        uses.records += 1

    def result(self) -> pa.RecordBatch:
        """Returns one row per schema, with the number of its records and the coordinates of its first record. For a
        schema before the chain, these are the coordinates of the first record of the batch, which may have a different
        schema.
        """
        rows = []
        for (topic, key, value, before), uses in self.uses.items():
            rows.append((topic, *uses.first, key, value, before, uses.records))
        columns = zip(*rows, strict=True) if rows else [[]] * len(_COLUMNS)
        arrays = [pa.array(column, kind) for column, kind in zip(columns, _COLUMNS.values(), strict=True)]
        return pa.RecordBatch.from_arrays(arrays, names=list(_COLUMNS))
