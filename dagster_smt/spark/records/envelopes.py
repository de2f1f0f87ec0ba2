"""Records that bring their schemas along (``found_forms`` has looked for them) into columns: Python makes the rows."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as T

from dagster_smt.chain.plan import Plan
from dagster_smt.errors import DataError, data_error
from dagster_smt.formats.cache import BySchema
from dagster_smt.formats.sides import SideCodec
from dagster_smt.interpret.interpreter import Batch
from dagster_smt.model.record import VALUE_DIRTY, Record
from dagster_smt.model.schema import Schema
from dagster_smt.spark import sql
from dagster_smt.spark.column_values import Convert, arrow_type, column_writer
from dagster_smt.spark.layout import Leaf
from dagster_smt.spark.plain import from_plain, plain_type
from dagster_smt.spark.records.arrow_map import COMMON, ArrowMap, BatchRunner, in_parts, with_bitmap
from dagster_smt.spark.stages.output import NO_COLUMNS, is_struct, with_output
from dagster_smt.spark.stages.typed import State
from dagster_smt.spark.workers import map_in_arrow
from dagster_smt.tables.spec import TopicTable


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
        return in_parts(batches, _ColumnsRunner(self.job, self.after).run)


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

    def nothing(self, batch: pa.RecordBatch) -> dict[str, pa.Array]:
        """The column of rows of records that are lost."""
        return {"__out": pa.nulls(batch.num_rows, self.type)}
