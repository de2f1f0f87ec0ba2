"""Lets Spark's workers search records for values that should be masked. The workers return field names and counts, but
no values.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from dagster_smt.authoring.stage import Chain
from dagster_smt.interpret.preview import Sample
from dagster_smt.interpret.residue import residue
from dagster_smt.model.topics.format import Format
from dagster_smt.privacy.patterns import is_personal
from dagster_smt.spark.outcome_columns import timestamp_micros
from dagster_smt.spark.workers import map_in_arrow

_SCHEMA = pa.schema([("masked", pa.string()), ("place", pa.string()), ("records", pa.int64())])


@dataclass(frozen=True)
class _Search:
    """A picklable function for ``DataFrame.mapInArrow`` that checks the masks of a chain. In each record, it searches
    all other fields for the original value of a masked field.
    """

    chain: Chain
    key: Format
    value: Format

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            counts = residue(self.chain, _samples(batch), self.key, self.value, is_personal)
            rows = []
            for (m, p), n in counts.items():
                rows.append({"masked": m, "place": p, "records": n})
            yield pa.RecordBatch.from_pylist(rows, schema=_SCHEMA)


def _samples(batch: pa.RecordBatch) -> Iterator[Sample]:
    stamps = timestamp_micros(batch).to_pylist()  # Python's ``datetime`` cannot hold all timestamps of Spark
    for row, micros in zip(batch.drop_columns(["timestamp"]).to_pylist(), stamps, strict=True):
        pairs = []
        for h in row["headers"] or ():
            pairs.append((h["key"], h["value"]))
        headers = tuple(pairs)
        millis = micros // 1000 if micros is not None else None
        yield Sample(row["topic"], row["partition"], row["offset"], millis, row["key"], row["value"], headers)


def residue_of(frame: DataFrame, chain: Chain, key: Format, value: Format) -> dict[tuple[str, str], int]:
    """Counts the records of ``frame`` in which another field still contains the original value of a masked field.

    A result such as ``{("value.email", "value.note"): 12}`` means: in 12 records, the field ``note`` contains the value
    of ``email``, which the chain masks.
    """
    names = ("topic", "partition", "offset", "timestamp", "headers", "key", "value")
    counts = map_in_arrow(
        frame.select(*names), _Search(chain, key, value), "`masked` STRING, `place` STRING, `records` BIGINT"
    )
    sums = counts.groupBy("masked", "place").agg(F.sum("records").alias("records")).collect()
    records = {}
    for row in sums:
        records[(row["masked"], row["place"])] = row["records"]
    return records
