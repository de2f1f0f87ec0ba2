"""Records that are too large for the topics that they are written to: each fails by itself."""

from collections.abc import Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from dagster_smt.chain import Chain
from dagster_smt.errors import Problem
from dagster_smt.run.counts import CONVERTERS
from dagster_smt.run.rejects import with_failed
from dagster_smt.run.staging import Staged
from dagster_smt.tables.sinks.kafka import KafkaTable
from dagster_smt.tables.sinks.protocol import Table

_TOO_LARGE = Problem(
    "SMT466",
    "",
    "the record is too large for its topic",
    "raise max.message.bytes of the topic, or drop fields; a record is judged as it is before compression",
)
_WRITER = min(CONVERTERS)
"""The stage that is named where a chain has none: the converter of the value."""


def oversized(found: Staged, table: Table) -> dict[str, int]:
    """The limits of the topics that records of a window are too large for."""
    if not isinstance(table, KafkaTable):
        return {}
    sizes = table.measure(found.kept(), "__out.")
    limits = table.place.limits(sizes)
    return {topic: limits[topic] for topic, size in sizes.items() if size > limits.get(topic, size)}


def without_oversized(frame: DataFrame, limits: Mapping[str, int], table: Table, chain: Chain) -> DataFrame:
    """The evaluated window with the records that are too large as failed ones, of the last stage."""
    assert isinstance(table, KafkaTable)
    size = table.sizes("__out.")
    limit = F.create_map(*(F.lit(x) for pair in sorted(limits.items()) for x in pair))[F.col("__out.topic")]
    sizes = F.concat(F.lit(f"{_TOO_LARGE.statement}: "), size, F.lit(" bytes, it takes "), limit)
    stage = len(chain.stages) - 1 if chain.stages else _WRITER
    return with_failed(frame, F.coalesce(size > limit, F.lit(False)), stage, _TOO_LARGE, sizes)
