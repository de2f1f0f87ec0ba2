"""Two hundred topics into two hundred tables: one run beside a run for each topic."""

import json
import time
from pathlib import Path

from benchmarks.cases import NOTHING, Case, Setting, Taken
from benchmarks.records import value_schema
from dagster_smt.chain import parse_chain
from dagster_smt.model.topics.format import Format
from dagster_smt.run.batch import run
from dagster_smt.run.spec import RunSpec
from dagster_smt.tables.sources.file_writer import NewRecord, append_records
from dagster_smt.tables.spec import DeltaSink, FileTopics, TopicTable

TOPICS = 200
RECORDS = 50
"""Records of each topic in a round."""
_RUNS = f"bare: {TOPICS} runs, {TOPICS} topics into {TOPICS} Delta tables"


def _append(source: FileTopics, setting: Setting) -> None:
    """Appends the same records to each topic."""
    values = [bytes(row.value) for row in setting.frame.select("value").limit(RECORDS).collect()]
    for number in range(TOPICS):
        append_records(source, f"topic{number}", [NewRecord(None, value) for value in values])


def _spec(place: Path, topic: str, sink: str) -> RunSpec:
    form = Format("json_schema", value_schema())
    table = TopicTable(FileTopics(place / "topics"), pattern=topic, value=form)
    return RunSpec(sink, parse_chain(NOTHING), table, DeltaSink(str(place / "lake" / sink), "columns"))


def one_run(setting: Setting) -> Taken:
    """One run writes all tables."""
    place, session = setting.scratch.with_name("many_tables"), setting.frame.sparkSession
    _append(FileTopics(place / "topics"), setting)
    start = time.perf_counter()
    report = run(_spec(place, "topic.*", "{topic}"), session)
    seconds = time.perf_counter() - start
    if report.records_out != TOPICS * RECORDS or len(report.destinations) != TOPICS:
        raise RuntimeError(f"{report.records_out} records were written: {json.dumps(report.seconds)}")
    return Taken(seconds)


def many_runs(setting: Setting) -> Taken:
    """A run for each topic writes its table, all in one session."""
    place, session = setting.scratch.with_name("many_runs"), setting.frame.sparkSession
    _append(FileTopics(place / "topics"), setting)
    start = time.perf_counter()
    for number in range(TOPICS):
        run(_spec(place, f"topic{number}", f"topic{number}"), session)
    return Taken(time.perf_counter() - start)


CASES = (
    Case(_RUNS, many_runs, data="flat, 1,000", rounds=1),
    Case(f"one run: {TOPICS} topics into {TOPICS} Delta tables", one_run, _RUNS, data="flat, 1,000", rounds=1),
)
