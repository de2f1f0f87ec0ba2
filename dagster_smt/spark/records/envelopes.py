"""Converts records that contain or name their schemas into the rows of a table. ``window_forms`` has collected the
schemas, and Python creates the rows.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as T

from dagster_smt.chain.forms import FormsPlan
from dagster_smt.chain.plan import Plan
from dagster_smt.errors import DataError, data_error
from dagster_smt.formats.cache import BySchema
from dagster_smt.formats.sides import SideCodec
from dagster_smt.interpret.interpreter import Batch
from dagster_smt.model.record import KEY_DIRTY, VALUE_DIRTY, Record
from dagster_smt.model.schema import Schema
from dagster_smt.model.topics.format import SideFormats
from dagster_smt.spark import sql
from dagster_smt.spark.column_values import Convert, arrow_type, column_writer, unplanned
from dagster_smt.spark.flat_columns import Layout, Leaf
from dagster_smt.spark.outcome_columns import DESTINATION, GONE, KEY, TIMESTAMP
from dagster_smt.spark.plain import from_plain, plain_type
from dagster_smt.spark.records.arrow_map import (
    COMMON,
    ArrowMap,
    BatchRunner,
    changes_column,
    closed_at_end,
    with_bitmap,
)
from dagster_smt.spark.stages.output import NO_COLUMNS, is_struct, with_output
from dagster_smt.spark.stages.typed import State
from dagster_smt.spark.workers import map_in_arrow


def evaluate_envelopes(
    frame: DataFrame, plan: Plan, table: SideFormats, target: T.StructType, *, ledger: bool
) -> DataFrame:
    """Runs a chain on records that contain or name their schemas, and returns the results as columns of a table.

    Args:
        frame: Kafka's columns.
        plan: The plan of ``chain.forms.plan_forms``, for the schemas that ``window_forms`` read from the records.
        table: The topic table of the records, or the formats of key and value.
        target: The columns of the table: the ``output_schema`` of the plan.
        ledger: True to fill ``__touched``, a bitmap of the ledger entries (stage and field) that a record touches.

    Returns:
        The columns of ``spark.outcome_columns``.
    """
    after = plan.rows
    assert after is not None
    key = plan.row_keys if plan.chain.keeps_key else None
    apart: tuple[tuple[Schema, ...], tuple[Schema, ...]] | None = None
    if isinstance(plan, FormsPlan):
        apart = (plan.keys_after, plan.values_after)
    runs = ArrowMap(plan.chain, table.key, table.value, len(plan.entries), ledger)
    job = ColumnsMap(runs, after, key, apart)
    fields = [*job.job.outcome_fields(), T.StructField("__out", plain_type(after))]
    if key is not None:
        fields += [T.StructField(KEY, plain_type(key)), T.StructField(TIMESTAMP, frame.schema["timestamp"].dataType)]
    if plan.chain.keeps_topic:
        fields.append(T.StructField(DESTINATION, T.StringType()))
    done = map_in_arrow(frame, job, T.StructType(fields))
    common = [sql.col(name) for name in (*COMMON, *changes_column(job.job))]
    if plan.chain.keeps_topic:
        common.append(sql.col(DESTINATION))
    sides: dict[str, Layout] = {"value": Leaf("__value", after)}
    values = [from_plain(sql.col("__out"), after).alias("__value")]
    if key is not None:
        common.append(sql.col(TIMESTAMP))
        sides["key"] = Leaf("__key_value", key)
        values.append(from_plain(sql.col(KEY), key).alias("__key_value"))
    done = sql.select(with_bitmap(done, job.job), *common, *values)
    if key is not None:
        common.append(sql.col("__value").isNull().alias(GONE))
    return with_output(done, common, plan, target, {0: State(sides, {})})


@dataclass(frozen=True)
class ColumnsMap:
    """A picklable function for ``DataFrame.mapInArrow`` that runs a chain and returns rows of a table. In the rows,
    dates and timestamps are numbers (the plain form).

    Attributes:
        job: The chain and the formats.
        after: The schema of the table's rows.
        key: The schema of the keys; None if the chain does not keep keys.
        apart: Normally None. For rows with a separate field for each output schema, this is a pair of lists: the output
            schemas of the keys, and those of the values.
    """

    job: ArrowMap
    after: Schema
    key: Schema | None = None
    apart: tuple[tuple[Schema, ...], tuple[Schema, ...]] | None = None

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return closed_at_end(_ColumnsRunner(self.job, self.after, self.key, self.apart), batches)


class _ColumnsRunner(BatchRunner):
    """A runner that runs a chain on batches and builds table rows. For each output schema, it creates one function that
    converts a value into a row.
    """

    def __init__(
        self,
        job: ArrowMap,
        after: Schema,
        key: Schema | None,
        apart: tuple[tuple[Schema, ...], tuple[Schema, ...]] | None,
    ):
        super().__init__(job)
        self.segment = None  # Python creates the rows from values, so no batch stays in the host
        self.after, self.key, self.type = after, key, arrow_type(after)
        keys, values = apart or (None, None)
        self.writers: BySchema[Convert] = BySchema(lambda schema: _writer(schema, after, values))
        # The interpreter "writes" a value by calling ``_row``. So a value without a row fails like one that cannot be
        # encoded.
        self.interpreter.value = SideCodec(self.interpreter.value.read, self._row)
        self.dirty = VALUE_DIRTY  # every value is written
        if key is not None:
            self.key_writers: BySchema[Convert] = BySchema(lambda schema: _writer(schema, key, keys))
            self.interpreter.key = SideCodec(self.interpreter.key.read, self._key)
            self.dirty |= KEY_DIRTY

    def _key(self, schema: Schema | None, value: Any, topic: str = "") -> Any:
        if value is None or schema is None:  # a key without a schema has no columns, so the table treats it as missing
            return None
        return self.key_writers[schema](value)

    def _row(self, schema: Schema | None, value: Any, topic: str = "") -> Any:
        # in a table with keys, a null value deletes the row of its key
        if value is None and is_struct(self.after) and self.key is None:
            raise DataError(NO_COLUMNS)
        if value is None:
            return None
        if schema is None:
            hint = "send it with its schema, drop it with Filter, or write records instead of columns"
            raise data_error("SMT425", "a value without a schema has no columns", hint, "")
        return self.writers[schema](value)

    def outputs(self, batch: pa.RecordBatch, records: list[Record], done: Batch) -> dict[str, pa.Array]:
        """Returns the columns of the table's rows, by name: the column ``__out``, and if necessary the columns for key,
        timestamp and topic.
        """
        columns = {"__out": pa.array(done.values, self.type)}
        if self.key is not None:
            assert done.keys is not None
            # a stage may have changed the key before the record was dropped or failed
            for number in done.lost:
                done.keys[number] = None
            columns[KEY] = pa.array(done.keys, arrow_type(self.key))
            columns[TIMESTAMP] = batch.column("timestamp")
        if self.job.chain.keeps_topic:
            columns[DESTINATION] = pa.array([record.topic for record in records], pa.string())
        return columns

    def nothing(self, batch: pa.RecordBatch) -> dict[str, pa.Array]:
        """Returns the columns for a ``batch`` whose records have all been dropped or have failed. They are the same
        columns as those of the method ``outputs``. All columns except the timestamps of the records are filled with
        nulls.
        """
        columns = {"__out": pa.nulls(batch.num_rows, self.type)}
        if self.key is not None:
            columns[KEY] = pa.nulls(batch.num_rows, arrow_type(self.key))
            columns[TIMESTAMP] = batch.column("timestamp")
        if self.job.chain.keeps_topic:
            columns[DESTINATION] = pa.nulls(batch.num_rows, pa.string())
        return columns


def _writer(schema: Schema, column: Schema, apart: Sequence[Schema] | None) -> Convert:
    """Returns a function that converts a value of ``schema`` into a row of the schema ``column``.

    If ``apart`` is a list of schemas, a row has one field for each of them. The function then fills the field for
    ``schema``, and sets all other fields to null.

    Raises:
        DataError: SMT428 if ``apart`` does not contain ``schema``.
    """
    if apart is None:
        return column_writer(schema, column)
    number = next((number for number, other in enumerate(apart) if other == schema), None)
    if number is None:
        raise unplanned("")
    write = column_writer(schema, schema)
    before, after = (None,) * number, (None,) * (len(apart) - number - 1)

    def write_form(value: Any) -> Any:
        return None if value is None else (*before, write(value), *after)

    return write_form
