"""Adds the key columns and the partitioning from a ``CREATE TABLE`` statement to a sink."""

from dataclasses import replace

from dagster_smt.errors import ConfigError, Problem
from dagster_smt.model.topics.keyed import RECORD_KEY
from dagster_smt.tables.sink_options import Sink, TableSink
from dagster_smt.tables.topic_table import TopicTable


def sink_of_statement(sink: Sink, table: TopicTable) -> Sink:
    """Returns ``sink`` with the key columns and the partitioning that the statement of ``table`` contains.

    They come from ``PRIMARY KEY (…)`` and ``PARTITIONED BY (…)``, and become the options ``keys`` and ``partition_by``.

    Raises:
        ConfigError: SMT267, the sink cannot have keys or partitions, or its own options contradict the statement.
    """
    problems = []
    if table.primary_key:
        sink, problem = _with_keys(sink, table.primary_key)
        problems += problem
    if table.partitioned_by:
        sink, problem = _with_partitions(sink, table.partitioned_by)
        problems += problem
    if problems:
        raise ConfigError(problems)
    return sink


def _with_keys(sink: Sink, keys: tuple[str, ...]) -> tuple[Sink, list[Problem]]:
    clause = f"PRIMARY KEY ({', '.join(keys)})"
    if not isinstance(sink, TableSink) or sink.keyed is None:
        hint = "set mode 'upsert' or 'scd2' of the sink, or leave it out"
        return sink, [Problem("SMT267", clause, "the sink has no keys", hint)]
    if sink.keys == RECORD_KEY:
        return replace(sink, keys=keys), []
    if sink.keys != keys:
        hint = "name the key once: in the statement, or in keys of the sink"
        return sink, [Problem("SMT267", clause, "the sink names other keys", hint)]
    return sink, []


def _with_partitions(sink: Sink, partitions: tuple[str, ...]) -> tuple[Sink, list[Problem]]:
    clause = f"PARTITIONED BY ({', '.join(partitions)})"
    if not isinstance(sink, TableSink):
        hint = "write a Delta or Iceberg table, or leave it out"
        return sink, [Problem("SMT267", clause, "the sink has no partitions", hint)]
    if not sink.partition_by:
        return replace(sink, partition_by=partitions), []
    if sink.partition_by != partitions:
        hint = "name the partitions once: in the statement, or in partition_by of the sink"
        return sink, [Problem("SMT267", clause, "the sink names other partitions", hint)]
    return sink, []
