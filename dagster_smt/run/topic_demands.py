"""Records that their target topics would refuse: each record fails alone, before the run writes anything."""

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from dagster_smt.chain import Chain
from dagster_smt.errors import Problem
from dagster_smt.run.rejects import last_stage, with_failed
from dagster_smt.run.staging import EvaluatedWindow
from dagster_smt.tables.sinks.kafka import KafkaTable
from dagster_smt.tables.sinks.protocol import Table

_TOO_LARGE = Problem(
    "SMT466",
    "",
    "the record is too large for its topic",
    "raise max.message.bytes of the topic, or drop fields; the size before compression counts",
)
_NO_KEY = Problem(
    "SMT469",
    "",
    "the record has no key, and its topic is compacted",
    "make a key in the chain (ValueToKey), or another topic in a router; or set cleanup.policy=delete for this one",
)


@dataclass(frozen=True)
class Unmet:
    """The requirements of topics that records of a window do not meet.

    Attributes:
        limits: The limit in bytes by topic, for topics with a larger record.
        with_keys: The compacted topics with a record without a key.
    """

    limits: Mapping[str, int]
    with_keys: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.limits or self.with_keys)


def unmet(result: EvaluatedWindow, table: Table) -> Unmet:
    """Returns the requirements that records of a window do not meet."""
    if not isinstance(table, KafkaTable):
        return Unmet({}, ())
    measured = table.measure(result.rows_out(), "__out.")
    demands = table.place.demands(measured)
    limits = {}
    for topic, of in demands.items():
        if of.longest is not None:
            limits[topic] = of.longest
    too_long = {}
    for topic, limit in limits.items():
        if measured[topic].longest > limit:
            too_long[topic] = limit
    without_keys = []
    for topic, of in demands.items():
        if of.keys and measured[topic].keyless:
            without_keys.append(topic)
    return Unmet(
        too_long,
        tuple(sorted(without_keys)),
    )


def without_unmet(frame: DataFrame, unmet: Unmet, table: Table, chain: Chain) -> DataFrame:
    """Returns the evaluated window, with the records that their topics would refuse marked as failed at the last
    stage."""
    assert isinstance(table, KafkaTable)
    stage = last_stage(chain)
    if unmet.limits:
        size = table.sizes("__out.")
        pairs = (F.lit(x) for pair in sorted(unmet.limits.items()) for x in pair)
        limit = F.create_map(*pairs)[F.col("__out.topic")]
        sizes = F.concat(F.lit(f"{_TOO_LARGE.statement}: "), size, F.lit(" bytes, it takes "), limit)
        frame = with_failed(frame, F.coalesce(size > limit, F.lit(False)), stage, _TOO_LARGE, sizes)
    if unmet.with_keys:
        keyless = F.col("__out.topic").isin(*unmet.with_keys) & F.col("__out.key").isNull()
        frame = with_failed(frame, keyless, stage, _NO_KEY, F.lit(_NO_KEY.statement))
    return frame
