"""What holds of a table after a run, read from the table and its topics: never assumed from what the run did itself."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

from dagster_smt.chain import Plan
from dagster_smt.model.offsets import offsets_of
from dagster_smt.model.report import RunReport
from dagster_smt.model.schema import Type
from dagster_smt.model.table_state import TableState
from dagster_smt.run.failures import coded_failures
from dagster_smt.run.report_json import report_of
from dagster_smt.run.spec import RunSpec
from dagster_smt.spark.types import spark_type
from dagster_smt.tables.schemas import WIDER
from dagster_smt.tables.sinks import open_table
from dagster_smt.tables.sinks.protocol import Table
from dagster_smt.tables.sources import open_source
from dagster_smt.tables.spec import TableSink, WindowRequest
from dagster_smt.tables.windows import choose_topics


@dataclass(frozen=True)
class TableFacts:
    """A table after a run.

    Attributes:
        rows: Rows committed, as the commits say.
        by_topic: The same per topic.
        ends: Where the progress ends, per topic and partition.
        gaps: Offsets that were left out for good, as ``{topic: {partition: [[start, end], …]}}``.
        last: Report of the last commit; it says ``already committed``.
        lag: Offsets of each topic that the table has not covered, among those that the source has now.
        counted: Rows that the table format counts; None for topics, and where nobody asked.
        schema_problems: Columns that the plan has and the table has not, or not with that type, as
            ``{column: what is wrong}``.
    """

    rows: int = 0
    by_topic: Mapping[str, int] = field(default_factory=dict)
    ends: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    gaps: Mapping[str, Mapping[str, list[list[int]]]] = field(default_factory=dict)
    last: RunReport | None = None
    lag: Mapping[str, int] = field(default_factory=dict)
    counted: int | None = None
    schema_problems: Mapping[str, str] = field(default_factory=dict)


def table_facts(spec: RunSpec, plan: Plan, session: SparkSession, *, look: bool = True) -> TableFacts:
    """Read the state of a table, and compare it with its topics and, if asked to look, with its rows and columns.

    Raises:
        TableError: SMT522, the state cannot be read; or what is wrong with the topics.
        EngineError: Spark, the JVM or the file system failed.
    """
    with coded_failures(spec.sink.place):
        table = open_table(session, spec.sink, spec.table.source)
        state = table.state()
        lag = _lag(spec, session, state)
        counted, problems = _looked(spec, plan, table) if look else (None, {})
    if state is None:
        return TableFacts(lag=lag, counted=counted, schema_problems=problems)
    rows, gaps = dict(state.rows), state.gaps.to_json()
    return TableFacts(sum(rows.values()), rows, state.ends(), gaps, report_of(state), lag, counted, problems)


def _lag(spec: RunSpec, session: SparkSession, state: TableState | None) -> dict[str, int]:
    source = open_source(spec.table.source, session)
    topics = choose_topics(spec.table, WindowRequest(), source.topics())
    lag = dict.fromkeys(topics, 0)
    there = offsets_of(source.ranges(topics))
    for r in (there - state.covered if state is not None else there).ranges():
        lag[r.topic] += r.records
    return lag


def _looked(spec: RunSpec, plan: Plan, table: Table) -> tuple[int | None, dict[str, str]]:
    """The rows that the table format counts, and how the columns differ from the plan's."""
    schema = table.schema() if isinstance(spec.sink, TableSink) else None
    if schema is None:
        return None, {}
    columns = {f.name: f.dataType.simpleString() for f in schema.fields}
    return table.read().count(), _differences(_planned(plan), columns) if spec.sink.kind == "columns" else {}


def _planned(plan: Plan) -> dict[str, str]:
    """The columns that a plan makes, with Spark's types; none if only the records can tell."""
    after = plan.after if plan.typed else None
    if after is None or after.type is not Type.STRUCT:
        return {}
    return {name: spark_type(schema, name).simpleString() for name, schema in after.fields}


def _differences(planned: Mapping[str, str], columns: Mapping[str, str]) -> dict[str, str]:
    found = {}
    for name, kind in planned.items():
        have = columns.get(name)
        if have is None:
            found[name] = f"planned as {kind}, but the table has no such column"
        elif have != kind and "struct<" not in kind and have not in WIDER.get(kind, ()):  # structs grow as tables do
            found[name] = f"planned as {kind}, but the table has {have}"
    return found
