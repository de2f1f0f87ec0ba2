"""Finds records that their target topics would reject, or whose target topics do not exist. These records fail before
the run writes anything. Other records are not affected.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeGuard

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from dagster_smt.chain import Chain
from dagster_smt.errors import Problem
from dagster_smt.run.rejects import last_stage, with_failed
from dagster_smt.spark.lookup import lookup
from dagster_smt.spark.outcome_columns import TARGET
from dagster_smt.tables.sink_options import KafkaSink
from dagster_smt.tables.sinks.protocol import Table
from dagster_smt.tables.sinks.records import TargetRecords

if TYPE_CHECKING:  # runs without topics of a cluster need no Kafka client
    from dagster_smt.tables.sinks.kafka import KafkaTable

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
_NO_TOPIC = Problem(
    "SMT498",
    "",
    "the record was routed to a topic that does not exist",
    "make the topic, or give the sink's KafkaTopics create=NewTopics(…); then run the failed records again",
)
_NO_PARTITION = Problem(
    "SMT499",
    "",
    "the record was routed to a partition that its topic does not have",
    "add partitions to the topic, or correct the column or field for the partition; then run the failed records again",
)
"""The problem of a record whose partition does not exist. The text of the problem does not name the topic, because the
topic's name may be the value of a field.
"""


@dataclass(frozen=True)
class Unmet:
    """The requirements of target topics that some records of a window do not meet. For example, the target topic
    accepts records up to 1 MB, and a record is larger.

    Attributes:
        limits: The limit in bytes by topic, for topics that would receive a larger record.
        with_keys: The compacted topics that would receive a record without a key.
        absent: The target topics that do not exist and that the run does not create.
        partitions: The last partition by topic, for topics that would receive a record in a higher partition.
    """

    limits: Mapping[str, int] = field(default_factory=dict)
    with_keys: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    partitions: Mapping[str, int] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.limits or self.with_keys or self.absent or self.partitions)


def unmet(targets: Sequence[TargetRecords], table: Table, *, tolerant: bool) -> Unmet:
    """Returns the requirements that records of a window do not meet.

    Args:
        targets: The targets of the window's records.
        table: The sink.
        tolerant: True if a record whose target does not exist becomes a dead letter. If False, or if no target exists
            at all, the sink raises an error for the whole window.
    """
    if not _writes_to_kafka(table):
        return Unmet()
    topics = {target.topic for target in targets}
    demands = table.place.demands(topics)
    absent: set[str] = set()
    if tolerant and table.spec.topics.create is None:
        absent = topics - {*table.place.client.names()}
    if len(absent) == len(topics):
        absent = set()
    too_long: dict[str, int] = {}
    without_keys = set()
    for target in targets:
        of = demands.get(target.topic)
        if of is None:
            continue
        if of.longest is not None and target.longest > of.longest:
            too_long[target.topic] = of.longest
        if of.keys and target.keyless:
            without_keys.add(target.topic)
    return Unmet(
        too_long,
        tuple(sorted(without_keys)),
        tuple(sorted(absent)),
        _last_partitions(targets, table) if tolerant else {},
    )


def _writes_to_kafka(table: Table) -> "TypeGuard[KafkaTable]":
    return isinstance(getattr(table, "spec", None), KafkaSink)


def _last_partitions(targets: Sequence[TargetRecords], table: "KafkaTable") -> dict[str, int]:
    """Returns the last partition of each topic that has too few partitions: the chain has chosen a higher partition for
    a record.
    """
    chosen: dict[str, int] = {}
    for target in targets:
        if target.last is not None:
            chosen[target.topic] = max(target.last, chosen.get(target.topic, 0))
    if not chosen:
        return {}
    there = {*table.place.client.names()}
    described = table.place.client.described(sorted(topic for topic in chosen if topic in there))
    lasts = {topic: partitions[-1] for topic, (_, partitions) in described.items()}
    return {topic: last for topic, last in lasts.items() if chosen[topic] > last}


def without_unmet(frame: DataFrame, unmet: Unmet, table: Table, chain: Chain) -> DataFrame:
    """Marks the records that do not meet the requirements in ``unmet`` as failed at the last stage. Returns ``frame``,
    the evaluated window.
    """
    assert _writes_to_kafka(table)
    stage = last_stage(chain)
    if unmet.limits:
        size = F.expr(table.sizes("__out.").text)
        limit = lookup(unmet.limits, F.col("__out.topic"))
        sizes = F.concat(F.lit(f"{_TOO_LARGE.statement}: "), size, F.lit(" bytes, it takes "), limit)
        # the limit is null for all topics that have none
        frame = with_failed(frame, F.coalesce(size > limit, F.lit(False)), stage, _TOO_LARGE, sizes)
    if unmet.with_keys:
        keyless = F.col("__out.topic").isin(*unmet.with_keys) & F.col("__out.key").isNull()
        frame = with_failed(frame, keyless, stage, _NO_KEY, F.lit(_NO_KEY.statement))
    if unmet.absent:
        nowhere = F.col("__out.topic").isin(*unmet.absent)
        frame = with_failed(frame, nowhere, stage, _NO_TOPIC, F.lit(_NO_TOPIC.statement))
    if unmet.partitions:
        beyond = F.col(f"__out.{TARGET}") > lookup(unmet.partitions, F.col("__out.topic"))
        frame = with_failed(
            frame, F.coalesce(beyond, F.lit(False)), stage, _NO_PARTITION, F.lit(_NO_PARTITION.statement)
        )
    return frame
