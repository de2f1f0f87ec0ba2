"""The columns of a Kafka record in Spark, which every source returns."""

from dagster_smt.spark.outcome_columns import LEADER_EPOCH
from dagster_smt.spark.outcome_columns import UNREADABLE_TIMESTAMP as UNREADABLE_TIMESTAMP

KAFKA_SCHEMA = (
    "`key` BINARY, `value` BINARY, `topic` STRING, `partition` INT, `offset` BIGINT, `timestamp` TIMESTAMP_LTZ, "
    "`timestampType` INT, `headers` ARRAY<STRUCT<`key`: STRING, `value`: BINARY>>"
)
"""Kafka's columns as DDL. The names are quoted, because a session may reserve the word ``offset``.

The types are explicit, because a session may interpret ``TIMESTAMP`` as a timestamp without a time zone.
"""
EPOCH_SCHEMA = f"{KAFKA_SCHEMA}, {LEADER_EPOCH} INT"
KAFKA_COLUMNS = ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers")

MOST_MILLIS = (2**63 - 1) // 1000
"""The largest number of milliseconds by which a timestamp may differ from 1970. Spark counts microseconds in
64 bits.
"""
