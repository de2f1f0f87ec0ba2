"""Measures tables with keys: a tenth of the keys changes. For comparison, Spark alone merges the same records with
``MERGE``.
"""

import json
import time
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from benchmarks.cases import DDL, NOTHING, Case, Setting, Taken, Target
from benchmarks.records import TOPIC, value_schema
from dagster_smt.chain import parse_chain
from dagster_smt.model.topics.format import Format
from dagster_smt.run.batch import run
from dagster_smt.run.run_spec import RunSpec
from dagster_smt.tables.sink_options import DeltaSink, IcebergSink, TableSink
from dagster_smt.tables.sources.frame_writer import append_frame
from dagster_smt.tables.topic_table import FileTopics, TopicTable

SHARE = 10
"""The divisor of the number of keys: with 10, one key in ten changes in each round."""
_BARE = "bare MERGE of changes into Delta"


def _first(setting: Setting) -> DataFrame:
    """Returns the records that fill the table at first. Each record has a different key."""
    return setting.frame.withColumn("topic", F.lit(TOPIC)).withColumn("timestamp_ms", F.unix_millis("timestamp"))


def _changes(setting: Setting) -> DataFrame:
    """Returns the records that change the table. A tenth of the table's keys occur in these records."""
    # pmod, because a hash may be negative
    return _first(setting).where(F.pmod(F.xxhash64("value"), F.lit(SHARE)) == 0)


def _append(source: FileTopics, frame: DataFrame) -> None:
    append_frame(source, frame, ["partition", "offset"])


def bare_merge(setting: Setting) -> Taken:
    """Merges the changes into a Delta table with Spark alone. Spark parses the lines, takes the last record of each
    key, and runs ``MERGE``. Nothing is checked or counted.
    """
    session, place = setting.frame.sparkSession, setting.scratch.with_name("bare_keyed")
    table, source = f"delta.`{place / 'table'}`", FileTopics(place / "topics")
    if not place.exists():
        rows = setting.frame.select(F.from_json(F.col("value").cast("string"), DDL).alias("v")).select("v.*")
        rows.write.format("delta").save(str(place / "table"))
        _append(source, _changes(setting))
    text = "partition INT, offset BIGINT, timestamp BIGINT, key STRING, value STRING"
    start = time.perf_counter()
    lines = session.read.schema(text).json(f"{source.root}/*/*/*.jsonl")
    rows = lines.select("offset", F.from_json("value", DDL).alias("v")).select("offset", "v.*")
    newest = F.row_number().over(Window.partitionBy("id").orderBy(F.desc("offset")))
    rows.withColumn("nth", newest).where("nth = 1").drop("nth", "offset").createOrReplaceTempView("changes")
    merge = f"MERGE INTO {table} AS t USING changes AS s ON t.id = s.id"
    session.sql(f"{merge} WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *").collect()
    return Taken(time.perf_counter() - start)


def upsert(sink: Callable[[Path], TableSink], name: str) -> Callable[[Setting], Taken]:
    """Returns a case that runs the changes into a table. Only the run is measured, not the writing of the changes to
    the topic.

    Args:
        sink: Returns the sink for a folder.
        name: The name of the folder.
    """

    def measured(setting: Setting) -> Taken:
        place = setting.scratch.with_name(name)
        source = FileTopics(place / "topics")
        table = TopicTable(source, (TOPIC,), value=Format("json_schema", value_schema()))
        spec = RunSpec("benchmark", parse_chain(NOTHING), table, sink(place / "table"))
        session = setting.frame.sparkSession
        if not place.exists():
            _append(source, _first(setting))
            run(spec, session)
        _append(source, _changes(setting))
        start = time.perf_counter()
        report = run(spec, session)
        seconds = time.perf_counter() - start
        if report.keyed and report.keyed[TOPIC].updated != report.records_in:
            raise RuntimeError(f"{report.records_in} rows were to change: {json.dumps(report.seconds)}")
        return Taken(seconds)

    return measured


def _delta(path: Path) -> TableSink:
    return DeltaSink(path, "columns", mode="upsert", keys=["id"])


def _iceberg(path: Path) -> TableSink:
    return IcebergSink(path, "columns", mode="upsert", keys=["id"])


def _appending(path: Path) -> TableSink:
    return DeltaSink(path, "columns")


CASES = (
    Case(_BARE, bare_merge),
    Case("a run: changes into a Delta table with keys", upsert(_delta, "delta_keyed"), _BARE, target=Target(bare=1.3)),
    Case("a run: changes into an Iceberg table with keys", upsert(_iceberg, "iceberg_keyed"), _BARE),
    Case("a run: the same changes appended to Delta", upsert(_appending, "appended"), _BARE),
)
