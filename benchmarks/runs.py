"""Measures whole runs from file topics (topics as JSON lines in a folder) to tables. For comparison, Spark alone reads
and writes the same lines. Runs over many topics and commits to old tables are also measured.
"""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from pyspark.sql import functions as F

from benchmarks.cases import DDL, FLAT, Case, Setting
from benchmarks.records import TOPIC, value_schema
from dagster_smt.chain import parse_chain
from dagster_smt.model.topics.format import Format
from dagster_smt.model.topics.state import TableState
from dagster_smt.model.windows.offsets import offsets_of
from dagster_smt.model.windows.window import Range
from dagster_smt.run.batch import run
from dagster_smt.run.run_spec import RunSpec
from dagster_smt.tables.sink_options import DeltaSink, IcebergSink, SinkKind, TableSink
from dagster_smt.tables.sinks import open_table
from dagster_smt.tables.sinks.protocol import Replaced
from dagster_smt.tables.sources.frame_writer import append_frame
from dagster_smt.tables.topic_table import FileTopics, TopicTable

MANY = 200
_BARE = "bare lines to Delta columns"
_ONE = "no stage: a run over one topic"


def _topics(setting: Setting, topics: int) -> FileTopics:
    """Returns file topics that contain the records, distributed over ``topics`` topics. The first call (in the warm-up)
    writes them next to the scratch folder.
    """
    source = FileTopics(setting.scratch.with_name(f"topics{topics}"))
    if not Path(source.root).exists():
        # pmod, because a hash may be negative
        number = F.pmod(F.hash("partition", "offset"), F.lit(topics))
        frame = setting.frame.withColumn("topic", F.concat(F.lit(f"{TOPIC}."), number))
        append_frame(source, frame.withColumn("timestamp_ms", F.unix_millis("timestamp")), ["partition", "offset"])
    return source


def one_topic(setting: Setting) -> FileTopics:
    """Returns file topics that contain all records in one topic."""
    return _topics(setting, 1)


def bare_run(setting: Setting) -> None:
    """Copies the lines into a Delta table of columns, with Spark alone. Nothing is checked or counted, and no progress
    is stored.
    """
    text = "partition INT, offset BIGINT, timestamp BIGINT, key STRING, value STRING"
    lines = setting.frame.sparkSession.read.schema(text).json(f"{_topics(setting, 1).root}/*/*/*.jsonl")
    rows = lines.select(F.from_json("value", DDL).alias("v")).select("v.*")
    rows.write.format("delta").mode("overwrite").save(str(setting.scratch))
    shutil.rmtree(setting.scratch)


def whole_run(chain: dict[str, str], kind: SinkKind, topics: int = 1) -> Callable[[Setting], None]:
    """Returns a case that runs file topics through ``chain`` into a Delta table. The time covers the whole run, from
    listing the files to the commit.

    Args:
        chain: The ``transforms`` properties.
        kind: ``records`` or ``columns``, the kind of the table.
        topics: The number of topics.
    """

    def measured(setting: Setting) -> None:
        value = Format("json_schema", value_schema()) if kind == "columns" else Format("json")
        table = TopicTable(_topics(setting, topics), pattern=".*", value=value)
        spec = RunSpec("benchmark", parse_chain(chain), table, DeltaSink(setting.scratch, kind))
        report = run(spec, setting.frame.sparkSession)
        if report.records_out != setting.records:
            raise RuntimeError(f"{setting.records} records were to come through; {report.records_out} did")
        shutil.rmtree(setting.scratch)

    return measured


def commit_of_age(sink: Callable[[Path], TableSink], before: int) -> Callable[[Setting], None]:
    """Returns a case that makes one small commit to a table with many commits. The warm-up makes the first ``before``
    commits.
    """

    def measured(setting: Setting) -> None:
        session = setting.frame.sparkSession
        table = open_table(session, sink(setting.scratch.with_name(f"aged{before}")))
        rows = session.range(10).selectExpr(
            "id", "'t' AS _source_topic", "0 AS _source_partition", "id AS _source_offset"
        )
        state = table.state() or TableState(0, "", "columns")
        while True:
            number = state.number + 1
            held = offsets_of([Range("t", 0, 0, number * 10)])
            following = replace(state, number=number, attempt=f"a{number}", held=held, report={"name": "x" * 2000})
            table.commit(rows, following, Replaced(), state if state.number else None)
            state = following
            if number >= before:
                return

    return measured


def _delta(path: Path) -> TableSink:
    return DeltaSink(path / "delta", "columns")


def _iceberg(path: Path) -> TableSink:
    return IcebergSink(path / "iceberg", "columns")


CASES = (
    Case(_BARE, bare_run),
    Case("a run: lines to Delta records, six stages", whole_run(FLAT, "records"), _BARE),
    Case("a run: lines to Delta columns, six stages", whole_run(FLAT, "columns"), _BARE),
    Case(_ONE, whole_run({"transforms": ""}, "records")),
    Case(f"a run over {MANY} topics", whole_run({"transforms": ""}, "records", MANY), _ONE),
)


def aged_cases(commits: int) -> tuple[Case, ...]:
    """Returns cases that make one commit to a table with 1, 100 or 1000 commits, for Delta and for Iceberg. Tables with
    more than ``commits`` commits are left out.
    """
    result: list[Case] = []
    for name, sink in (("Delta", _delta), ("Iceberg", _iceberg)):
        first = f"no stage: commit 1 of a {name} table"
        result.append(Case(first, commit_of_age(sink, 1)))
        ages = [age for age in (100, 1000) if age <= commits]
        result += [Case(f"commit {age} of a {name} table", commit_of_age(sink, age), first) for age in ages]
    return tuple(result)
