"""Envelopes into columns: the schemas are in the records, so they are looked for first; then Python makes the rows."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from dagster_smt.chain.forms import Form
from dagster_smt.chain.plan import Plan
from dagster_smt.errors import DataError, data_error
from dagster_smt.interpret.cache import BySchema
from dagster_smt.interpret.garbage import no_collection
from dagster_smt.interpret.interpreter import Batch
from dagster_smt.interpret.sides import SideCodec, self_described
from dagster_smt.model.format import SELF_DESCRIBED, Format
from dagster_smt.model.record import VALUE_DIRTY, Record
from dagster_smt.model.report import SchemaUse
from dagster_smt.model.schema import Schema
from dagster_smt.spark import sql
from dagster_smt.spark.arrow_map import COMMON, ArrowMap, BatchRunner, with_bitmap
from dagster_smt.spark.column_values import Convert, arrow_type, column_writer
from dagster_smt.spark.layout import Leaf
from dagster_smt.spark.output import NO_COLUMNS, is_struct, with_output
from dagster_smt.spark.plain import from_plain, plain_type
from dagster_smt.spark.typed import State
from dagster_smt.spark.workers import map_in_arrow
from dagster_smt.tables.spec import TopicTable

_SEEN = {
    "topic": pa.string(),
    "partition": pa.int32(),
    "offset": pa.int64(),
    "key": pa.binary(),
    "value": pa.binary(),
}
_TEXTS = {**_SEEN, "records": pa.int64()}
_TEXTS_DDL = "topic string, partition int, offset bigint, key binary, value binary, records bigint"


@dataclass(frozen=True)
class FoundForms:
    """What the records of a window bring along: their forms, and how many name each schema."""

    forms: tuple[Form, ...]
    uses: tuple[SchemaUse, ...]


def found_forms(frame: DataFrame, table: TopicTable) -> FoundForms:
    """The forms of a window's records, by topic and then in the order in which they appear. Payloads are not decoded.

    Records without a schema, and those whose schema cannot be read, have none.

    Args:
        frame: Kafka's columns.
        table: Where the records come from; the format of the values is one of ``SELF_DESCRIBED``.
    """
    key_describes = table.key.kind in SELF_DESCRIBED
    seen = map_in_arrow(frame.select(*_SEEN), SchemaTexts(table.key, table.value), _TEXTS_DDL)
    wanted = F.min(F.struct("partition", "offset")).alias("first"), F.sum("records").alias("records")
    rows = sorted(seen.groupBy("topic", "key", "value").agg(*wanted).collect(), key=lambda r: (r.topic, r.first))
    keys, values = self_described(table.key), self_described(table.value)
    found: dict[Form, None] = {}
    uses: Counter[tuple[str, str, str]] = Counter()
    for row in rows:
        uses[row.topic, "value", values.schema_id(bytes(row.value))] += row.records
        if key_describes and row.key is not None:
            uses[row.topic, "key", keys.schema_id(bytes(row.key))] += row.records
        try:
            value = values.schema(bytes(row.value))
            key = keys.schema(bytes(row.key)) if key_describes and row.key is not None else table.key.known_schema
        except DataError:
            continue
        free_key = key is None and (row.key is not None or table.key.kind == "json")
        if value is not None:
            found[Form(row.topic, key, value, free_key)] = None
    return FoundForms(tuple(found), tuple(SchemaUse(*use, records) for use, records in uses.items()))


@dataclass(frozen=True)
class SchemaTexts:
    """A picklable function for ``DataFrame.mapInArrow``: what describes records, each once per task.

    ``key``, ``value``: their formats.
    """

    key: Format
    value: Format

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        key_text = self_described(self.key).schema_text if self.key.kind in SELF_DESCRIBED else None
        value_text = self_described(self.value).schema_text
        first: dict[tuple[str, bytes | None, bytes], tuple[int, int]] = {}
        records: Counter[tuple[str, bytes | None, bytes]] = Counter()
        for batch in batches:
            for topic, partition, offset, key, value in zip(*(batch.column(n).to_pylist() for n in _SEEN), strict=True):
                try:
                    text = value_text(value)
                    form = None if text is None else (topic, key_text(key) if key_text else None, text)
                except DataError:
                    continue
                if form is not None:
                    first[form] = min(first.get(form, (partition, offset)), (partition, offset))
                    records[form] += 1
        rows = [(form[0], *place, *form[1:], records[form]) for form, place in first.items()]
        columns = zip(*rows, strict=True) if rows else [[]] * len(_TEXTS)
        arrays = [pa.array(column, kind) for column, kind in zip(columns, _TEXTS.values(), strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, names=list(_TEXTS))


def evaluate_envelopes(
    frame: DataFrame, plan: Plan, table: TopicTable, wanted: T.StructType, *, ledger: bool
) -> DataFrame:
    """Run a chain over envelopes, into columns.

    Args:
        frame: Kafka's columns.
        plan: Made by ``chain.forms.plan_forms`` from what ``found_forms`` found.
        table: Where the records come from.
        wanted: The ``output_schema`` of the plan.
        ledger: Whether to fill ``__touched``.

    Returns:
        The columns of ``spark.columns``.
    """
    after = plan.after
    assert after is not None
    job = ColumnsMap(ArrowMap(plan.chain, table.key, table.value, len(plan.entries), ledger), after)
    done = map_in_arrow(
        frame, job, T.StructType([*job.job.outcome_fields(), T.StructField("__out", plain_type(after))])
    )
    common = [sql.col(name) for name in COMMON]
    value = from_plain(sql.col("__out"), after).alias("__value")
    done = sql.select(with_bitmap(done, job.job), *common, value)
    return with_output(done, common, after, wanted, {0: State({"value": Leaf("__value", after)}, {})})


@dataclass(frozen=True)
class ColumnsMap:
    """A picklable function for ``DataFrame.mapInArrow``: as ``job``, but ``__out`` is a value in its plain form.

    ``after``: the schema of the table's rows.
    """

    job: ArrowMap
    after: Schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        runner = _ColumnsRunner(self.job, self.after)
        for batch in batches:
            with no_collection():
                done = runner.run(batch)
            yield done


class _ColumnsRunner(BatchRunner):
    """Keeps one writer per schema that records have after the chain."""

    def __init__(self, job: ArrowMap, after: Schema):
        super().__init__(job)
        self.after, self.type = after, arrow_type(after)
        self.writers: BySchema[Convert] = BySchema(lambda schema: column_writer(schema, after))
        self.interpreter.value = SideCodec(self.interpreter.value.read, self._row)
        self.dirty = VALUE_DIRTY  # every value is written

    def _row(self, schema: Schema | None, value: Any, topic: str = "") -> Any:
        if value is None and is_struct(self.after):
            raise DataError(NO_COLUMNS)
        if value is None:
            return None
        if schema is None:
            hint = "send it with its schema, drop it with Filter, or write records instead of columns"
            raise data_error("SMT425", "a value without a schema has no columns", hint, "")
        return self.writers[schema](value)

    def outputs(self, batch: pa.RecordBatch, records: list[Record], done: Batch) -> dict[str, pa.Array]:
        """The column of the row's values."""
        return {"__out": pa.array(done.values, self.type)}
