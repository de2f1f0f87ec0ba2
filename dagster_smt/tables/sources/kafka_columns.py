"""Kafka's columns, which every source returns."""

from dagster_smt.spark.outcome_columns import LEADER_EPOCH
from dagster_smt.spark.outcome_columns import UNREADABLE_TIMESTAMP as UNREADABLE_TIMESTAMP

KAFKA_SCHEMA = (
    "`key` BINARY, `value` BINARY, `topic` STRING, `partition` INT, `offset` BIGINT, `timestamp` TIMESTAMP_LTZ, "
    "`timestampType` INT, `headers` ARRAY<STRUCT<`key`: STRING, `value`: BINARY>>"
)
"""As any session reads it: one may reserve ``offset``, or mean timestamps without a zone by TIMESTAMP."""
EPOCH_SCHEMA = f"{KAFKA_SCHEMA}, {LEADER_EPOCH} INT"
KAFKA_COLUMNS = ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers")

MOST_MILLIS = (2**63 - 1) // 1000
"""Spark counts microseconds in 64 bits: no timestamp of more milliseconds than this, before or after 1970."""
