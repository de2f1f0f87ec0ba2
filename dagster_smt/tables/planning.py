"""What a chain does to a topic table, as far as it is known before a run. Needs no Spark."""

from dataclasses import replace

from dagster_smt.chain import Chain, Plan, plan_chain
from dagster_smt.errors import Problem
from dagster_smt.tables.rows.stages import with_row
from dagster_smt.tables.spec import KafkaSink, Sink, SinkKind, TopicTable
from dagster_smt.tables.written import check_names, written_formats


def plan_table(chain: Chain, table: TopicTable, topics: tuple[str, ...] = (), *, kind: SinkKind = "columns") -> Plan:
    """Plan a chain on a topic table: with a schema if the table declares one for the values.

    Args:
        chain: The chain.
        table: Declares the formats.
        topics: The topics to be read; by default those the table names.
        kind: What the sink holds.

    Raises:
        PlanError: No record of the table can pass the chain.
    """
    return _planned(with_row(chain, table, kind), table, topics)


def plan_sink(chain: Chain, table: TopicTable, sink: Sink, topics: tuple[str, ...] = ()) -> Plan:
    """As ``plan_table``, with what the sink takes.

    Raises:
        PlanError: No record of the table can pass the chain, or be written.
        UnsupportedError: SMT905, records in a format that they cannot be written in.
    """
    written = written_formats(table, sink)
    plan = _planned(with_row(chain, table, sink.kind, written.value), table, topics)
    check_names(plan, written, sink)
    if not isinstance(sink, KafkaSink) or not plan.chain.writes_timestamp:
        return plan
    column = next(c.name for c in table.row.others if c.origin == "timestamp" and not c.virtual)
    statement = "is not written: Spark's sink leaves timestamps to the brokers"
    warning = Problem("SMT276", f"column {column}", statement, "declare it VIRTUAL, or insert it into the value")
    return replace(plan, warnings=(*plan.warnings, warning))


def _planned(chain: Chain, table: TopicTable, topics: tuple[str, ...]) -> Plan:
    key, value = table.key.known_schema, table.value.known_schema
    typed = value is not None and (key is not None or not chain.reads_key)
    return plan_chain(chain, key, value, topics=topics or table.topics, typed=typed)
