"""Measures many topics (two hundred by default) into as many tables: one run for all topics, compared with one run per
topic.

Runs for single topics take equally long. Therefore only some of them are measured, and their time is multiplied.
"""

import json
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.cases import NOTHING, Case, Setting, Taken
from benchmarks.records import value_schema
from dagster_smt.chain import parse_chain
from dagster_smt.model.topics.format import Format
from dagster_smt.run.batch import run
from dagster_smt.run.run_spec import RunSpec
from dagster_smt.tables.sink_options import DeltaSink
from dagster_smt.tables.sources.file_writer import NewRecord, append_records
from dagster_smt.tables.topic_table import FileTopics, TopicTable

TOPICS = 200
RECORDS = 50
"""The number of records that each topic gets in a round."""
MEASURED = 20
"""The largest number of runs for single topics that are measured."""


def _append(source: FileTopics, setting: Setting, topics: int) -> None:
    """Appends the same records to each topic."""
    values = [bytes(row.value) for row in setting.frame.select("value").limit(RECORDS).collect()]
    for number in range(topics):
        append_records(source, f"topic{number}", [NewRecord(None, value) for value in values])


def _spec(place: Path, topic: str, sink: str) -> RunSpec:
    form = Format("json_schema", value_schema())
    table = TopicTable(FileTopics(place / "topics"), pattern=topic, value=form)
    return RunSpec(sink, parse_chain(NOTHING), table, DeltaSink(str(place / "lake" / sink), "columns"))


def one_run(topics: int) -> Callable[[Setting], Taken]:
    """Returns a case in which one run writes the tables of all topics."""

    def measured(setting: Setting) -> Taken:
        place, session = setting.scratch.with_name("many_tables"), setting.frame.sparkSession
        _append(FileTopics(place / "topics"), setting, topics)
        start = time.perf_counter()
        report = run(_spec(place, "topic.*", "{topic}"), session)
        seconds = time.perf_counter() - start
        if report.records_out != topics * RECORDS or len(report.destinations) != topics:
            raise RuntimeError(f"{report.records_out} records were written: {json.dumps(report.seconds)}")
        return Taken(seconds)

    return measured


def many_runs(topics: int) -> Callable[[Setting], Taken]:
    """Returns a case in which each topic has its own run and its own table, all in one Spark session. If only some of
    the topics are measured, their time is multiplied, as an estimate for all topics.
    """
    count = min(topics, MEASURED)

    def measured(setting: Setting) -> Taken:
        place, session = setting.scratch.with_name("many_runs"), setting.frame.sparkSession
        _append(FileTopics(place / "topics"), setting, count)
        start = time.perf_counter()
        for number in range(count):
            run(_spec(place, f"topic{number}", f"topic{number}"), session)
        return Taken((time.perf_counter() - start) * topics / count)

    return measured


def cases(topics: int) -> tuple[Case, Case]:
    """Returns two cases for ``topics`` topics: one run per topic, and one run for all topics. The warm-up of each case
    creates its tables.
    """
    bare = f"bare: {topics} runs, {topics} topics into {topics} Delta tables"
    if topics > MEASURED:
        bare = f"{bare} (from {MEASURED} measured runs)"
    one = f"one run: {topics} topics into {topics} Delta tables"
    return (
        Case(bare, many_runs(topics), data="flat, 1,000", rounds=1),
        Case(one, one_run(topics), bare, data="flat, 1,000", rounds=1),
    )


CASES = cases(TOPICS)
