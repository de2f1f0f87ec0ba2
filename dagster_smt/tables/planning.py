"""Plans a chain on a topic table before a run, without Spark."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

from dagster_smt.chain import Chain, Plan, plan_chain
from dagster_smt.chain.dead_paths import refuse_dead_paths
from dagster_smt.errors import PlanError, Problem
from dagster_smt.model.schema import Schema, Type
from dagster_smt.model.topics.format import SELF_DESCRIBED
from dagster_smt.tables.keyed.keys import key_columns
from dagster_smt.tables.rows.row_stages import RowStage, with_row
from dagster_smt.tables.sink_options import KafkaSink, Sink, SinkKind, TableSink
from dagster_smt.tables.topic_table import TopicTable
from dagster_smt.tables.written_formats import check_names, written_formats


def plan_table(chain: Chain, table: TopicTable, topics: tuple[str, ...] = (), *, kind: SinkKind = "columns") -> Plan:
    """Returns the plan of ``chain`` on the topic table ``table``: the schema before and after each stage.

    The plan contains no schemas in two cases: the schema of the values is not known before a run, or the chain reads
    keys and the schema of the keys is not known.

    Args:
        chain: The chain.
        table: The topic table, which declares the formats.
        topics: The topics to read; by default the topics that the table names.
        kind: The kind of the sink: ``columns`` (one column per field) or ``records`` (Kafka's columns).

    Raises:
        PlanError: No record of the table can pass through the chain.
    """
    return _planned(with_row(chain, table, kind), table, topics)


def plan_sink(chain: Chain, table: TopicTable, sink: Sink, topics: tuple[str, ...] = ()) -> Plan:
    """Plans ``chain`` as ``plan_table`` does, and checks that ``sink`` can store the result.

    Args:
        chain, table, topics: See ``plan_table``.
        sink: The table or the topics to which the run writes.

    Raises:
        PlanError: No record of the table can pass through the chain or be written. If ``topics`` is empty, the error is
            also raised for a mask, drop or rename that cannot touch any record.
        UnsupportedError: SMT905, the records cannot be written in their format.
    """
    written = written_formats(table, sink)
    chain = keeping_key(with_row(chain, table, sink.kind, written.value), table, sink)
    plan = _planned(chain, table, topics)
    if sink.keyed is not None and plan.typed:
        # called only for its errors
        key_columns(plan, sink.keyed)
    # a run passes the topics of its window, and has already checked the plan without them (``RunSpec.plan``)
    if not topics:
        plan = refuse_dead_paths(plan, table.value.known_schema)
    check_names(plan, written, sink)
    if isinstance(sink, TableSink) and sink.layout.places_rows:
        _check_layout(plan, sink)
    return replace(plan, warnings=(*plan.warnings, *_not_written(plan.chain, table, sink)))


def _check_layout(plan: Plan, sink: TableSink) -> None:
    """Raises an error if the sink's partitioning or clustering does not fit the table format or the planned columns.

    Raises:
        PlanError: SMT559, a column is missing; SMT569, the format or a column's type does not permit an option.
    """
    from dagster_smt.tables.layout_problems import layout_problems, planned_columns  # loads pyspark

    columns = planned_columns(plan, sink)
    if columns is not None and (problems := layout_problems(sink, columns)):
        raise PlanError(problems)


def declared_values(table: TopicTable) -> Schema | None:
    """Returns the schema that the topic table declares for the values of its records, before any stage of a chain.

    Returns None if the topic table declares no schema. Each record then brings a schema of its own.
    """
    if table.row and table.row.physical:
        return Schema(Type.STRUCT, fields=tuple((column.name, column.schema) for column in table.row.physical))
    return table.value.known_schema


def keeping_key(chain: Chain, table: TopicTable, sink: Sink) -> Chain:
    """Returns ``chain`` with the settings ``keeps_key`` and ``keeps_topic`` that ``sink`` requires. By default, the
    result of a chain contains only the value of a record.

    ``keeps_key`` is set if two conditions are met: each row of the sink belongs to a key (``mode: upsert`` or
    ``scd2``), and the format of the record keys has a schema. ``keeps_topic`` is set if the sink writes each output
    topic to a table of its own.

    Raises:
        PlanError: SMT701, the sink names no key columns, and the format of the record keys has no schema; SMT706, the
            elements of arrays become rows, and such rows have no keys of their own.
    """
    if isinstance(sink, TableSink) and sink.per_topic:
        chain = replace(chain, keeps_topic=True)
    if sink.keyed is None:
        return chain
    if table.value.arrays_as_rows:
        hint = "leave arrays-as-rows out, or use mode='append'"
        raise PlanError(Problem("SMT706", "mode", "rows of arrays have no key of their own", hint))
    has_schema = table.key.known_schema is not None or table.key.kind in SELF_DESCRIBED
    if not has_schema and not sink.keyed.keys:
        hint = "declare the format of the keys with a schema, or name the key columns: keys=['id']"
        raise PlanError(Problem("SMT701", "keys", "the format of the record's key has no fields", hint))
    return replace(chain, keeps_key=has_schema)


def _not_written(chain: Chain, table: TopicTable, sink: Sink) -> Iterator[Problem]:
    """Yields a warning for each stage or column that sets the timestamp of a record, if ``sink`` cannot store this
    timestamp. Does the same for the partition of a record.
    """
    if sink.kind != "records":
        return
    if isinstance(sink, KafkaSink) and chain.writes_timestamp:
        statement = "is not written: Spark's sink leaves timestamps to the brokers"
        for place, hint in _said_by(chain, table, "timestamp"):
            yield Problem("SMT276", place, statement, hint)
    if isinstance(sink, TableSink) and chain.writes_partition:
        statement = "is not written: a table of records holds the partition that a record comes from"
        for place, hint in _said_by(chain, table, "partition"):
            yield Problem("SMT277", place, statement, hint)


def _said_by(chain: Chain, table: TopicTable, what: Literal["timestamp", "partition"]) -> Iterator[tuple[str, str]]:
    """Yields a pair ``(location, remedy)`` for each column or stage that sets the timestamp or the partition of a
    record.

    Args:
        chain, table: The stages and the columns.
        what: ``timestamp`` or ``partition``.
    """
    for column in table.row.others:
        if column.origin == what and not column.virtual:
            yield f"column {column.name}", "declare it VIRTUAL, or insert it into the value"
    for stage in chain.stages:
        # the stage that writes the columns also sets it, but the loop above names the column itself
        if what in stage.transform.writes and not isinstance(stage, RowStage):
            yield f"{stage.place}: the {what}", "insert it into the value as well, if readers need it"


def _planned(chain: Chain, table: TopicTable, topics: tuple[str, ...]) -> Plan:
    key, value = table.key.known_schema, table.value.known_schema
    typed = value is not None and (key is not None or not chain.reads_key)
    return plan_chain(chain, key, value, topics=topics or table.topics, typed=typed)
