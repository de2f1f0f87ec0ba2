"""What holds of a table after a run, read from the table and its topics: never assumed from what the run did itself."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from pyspark.sql import DataFrame, SparkSession

from dagster_smt.chain import Plan
from dagster_smt.model.extended_path import below
from dagster_smt.model.offsets import offsets_of
from dagster_smt.model.report import RunReport
from dagster_smt.model.schema import Schema, Type
from dagster_smt.model.table_state import TableState
from dagster_smt.model.window import Window
from dagster_smt.run.contract import contract_problems
from dagster_smt.run.failures import coded_failures
from dagster_smt.run.report_json import report_of
from dagster_smt.run.spec import RunSpec
from dagster_smt.run.unread import needed
from dagster_smt.spark.types import spark_type
from dagster_smt.tables.schemas import WIDER
from dagster_smt.tables.sinks import open_table
from dagster_smt.tables.sources import Source, open_source
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
        residue: In how many records of a sample a masked value survives, by (masked field, other field).
        sampled: How many records were looked at for that.
        broken: What of the table's contract does not hold, as ``{path: what is wrong}``.
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
    residue: Mapping[tuple[str, str], int] = field(default_factory=dict)
    sampled: int = 0
    broken: Mapping[str, str] = field(default_factory=dict)


SAMPLE = 200
"""Records that are looked at for masked values."""


def table_facts(
    spec: RunSpec,
    plan: Plan,
    session: SparkSession,
    window: Window,
    *,
    search: bool = False,
    contract: Schema | None = None,
) -> TableFacts:
    """Read the state of a table, and compare it with its topics and, after a window, with its rows and columns.

    Args:
        spec: What ran.
        plan: The plan of its chain.
        session: The Spark session.
        window: What the run read; empty if there was nothing new.
        search: Whether to look for masked values in a sample of the window.
        contract: Columns that the table must have; looked at where it has any.

    Raises:
        TableError: SMT522, the state cannot be read; or what is wrong with the topics.
        EngineError: Spark, the JVM or the file system failed.
    """
    with coded_failures(spec.sink.place):
        table = open_table(session, spec.sink, spec.table.source)
        state = table.state()
        source = open_source(spec.table.source, session)
        lag = _lag(spec, source, state)
        looks = isinstance(spec.sink, TableSink) and (window.ranges or contract is not None)
        schema = table.schema() if looks else None
        planned = plan.after if plan.typed else None
        made = report_of(state).after if state is not None and spec.finds_schemas and window.ranges else planned
        counted = table.read().count() if schema is not None and window.ranges else None
        problems: dict[str, str] = {}
        broken: dict[str, str] = {}
        if schema is not None and window.ranges and spec.sink.kind == "columns":
            columns = {f.name: f.dataType.simpleString() for f in schema.fields}
            problems = _differences(_planned(planned), columns)
        if schema is not None and contract is not None:
            coordinates = spec.sink.coordinates
            broken = contract_problems(contract, schema, made, coordinates.names if coordinates else ())
        sample = sample_of(needed(spec, window, source).window) if search else Window()
        residue = _residue(spec, source.read(sample)) if sample.ranges else {}
    found = TableFacts(
        lag=lag, counted=counted, schema_problems=problems, residue=residue, sampled=sample.records, broken=broken
    )
    if state is None:
        return found
    rows, gaps = dict(state.rows), state.gaps.to_json()
    ends, last = state.ends(), report_of(state)
    return replace(found, rows=sum(rows.values()), by_topic=rows, ends=ends, gaps=gaps, last=last)


def sample_of(window: Window, records: int = SAMPLE) -> Window:
    """The last offsets of each topic-partition, so many together."""
    ranges = [r for r in window.ranges if r.records][:records]
    each = max(1, records // max(1, len(ranges)))
    return Window(tuple(replace(r, start=max(r.start, r.end - each)) for r in ranges))


def _residue(spec: RunSpec, frame: DataFrame) -> dict[tuple[str, str], int]:
    from dagster_smt.spark.residue import residue_of

    found = residue_of(frame, spec.chain, spec.table.key, spec.table.value)
    if spec.sink.kind == "columns":  # its rows are the values alone
        found = {pair: records for pair, records in found.items() if re.split(r"[.\[]", pair[1])[0] == "value"}
    return found


def _lag(spec: RunSpec, source: Source, state: TableState | None) -> dict[str, int]:
    topics = choose_topics(spec.table, WindowRequest(), source.topics())
    lag = dict.fromkeys(topics, 0)
    there = offsets_of(source.ranges(topics))
    for r in (there - state.covered if state is not None else there).ranges():
        lag[r.topic] += r.records
    return lag


def _planned(after: Schema | None) -> dict[str, str]:
    """The columns that a plan makes, with Spark's types; none if only the records can tell."""
    if after is None or after.type is not Type.STRUCT:
        return {}
    return {name: spark_type(schema, below("", name)).simpleString() for name, schema in after.fields}


def _differences(planned: Mapping[str, str], columns: Mapping[str, str]) -> dict[str, str]:
    found = {}
    for name, kind in planned.items():
        have = columns.get(name)
        if have is None:
            found[name] = f"planned as {kind}, but the table has no such column"
        elif have != kind and "struct<" not in kind and have not in WIDER.get(kind, ()):  # structs grow as tables do
            found[name] = f"planned as {kind}, but the table has {have}"
    return found
