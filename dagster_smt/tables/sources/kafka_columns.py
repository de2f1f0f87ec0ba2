"""The columns of a Kafka record in Spark, which every source returns."""

from dagster_smt.spark.outcome_columns import LEADER_EPOCH
from dagster_smt.spark.outcome_columns import UNREADABLE_TIMESTAMP as UNREADABLE_TIMESTAMP

KAFKA_SCHEMA = (
    "`key` BINARY, `value` BINARY, `topic` STRING, `partition` INT, `offset` BIGINT, `timestamp` TIMESTAMP_LTZ, "
    "`timestampType` INT, `headers` ARRAY<STRUCT<`key`: STRING, `value`: BINARY>>"
)
"""Kafka's columns as DDL that every session reads in the same way. The DDL is explicit, because a session may reserve
``offset``, or interpret TIMESTAMP as a timestamp without a time zone.
"""
EPOCH_SCHEMA = f"{KAFKA_SCHEMA}, {LEADER_EPOCH} INT"
KAFKA_COLUMNS = ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers")

MOST_MILLIS = (2**63 - 1) // 1000
"""The largest distance of a timestamp from 1970 in milliseconds. Spark counts microseconds in 64 bits."""
