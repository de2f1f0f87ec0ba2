"""Measures file topics (topics stored as JSON lines in a folder): reading them and appending to them. For comparison,
Spark alone reads and writes the same lines, without any check.
"""

import shutil
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from benchmarks.cases import Case, Setting
from dagster_smt.model.windows.window import Window
from dagster_smt.tables.sources import open_source
from dagster_smt.tables.sources.frame_writer import append_frame
from dagster_smt.tables.topic_table import FileTopics

_TEXT = "topic STRING, partition INT, offset BIGINT, timestamp BIGINT, timestampType INT, key STRING, value STRING"
READ, WRITE = "bare read of JSON lines", "bare write of JSON lines"


def _topics(setting: Setting) -> FileTopics:
    """Returns file topics with the records. The first call (in the warm-up) writes them next to the scratch folder."""
    source = FileTopics(setting.scratch.with_name("topics"))
    if not Path(source.root).exists():
        append_frame(source, _frame(setting), ["offset"])
    return source


def _frame(setting: Setting) -> DataFrame:
    return setting.frame.withColumn("timestamp_ms", F.unix_millis("timestamp"))


def bare_read(setting: Setting) -> None:
    """Reads the lines with Spark alone. Keys and values stay strings, and headers are not read."""
    root = _topics(setting).root
    setting.discard(setting.frame.sparkSession.read.schema(_TEXT).json(f"{root}/*/*/*.jsonl"))


def read(setting: Setting) -> None:
    """Reads all records of the file topics with this package: it lists the files, reads them, and checks every line."""
    source = open_source(_topics(setting), setting.frame.sparkSession)
    frame = source.read(Window(tuple(source.ranges(source.topics()))))
    setting.discard(frame)


def bare_write(setting: Setting) -> None:
    """Writes the records as JSON lines with Spark alone, in any order."""
    texts = (F.col(name).cast("string").alias(name) for name in ("key", "value"))
    setting.frame.select(*texts, "topic", "partition", "offset").write.mode("overwrite").json(str(setting.scratch))
    shutil.rmtree(setting.scratch)


def append(setting: Setting) -> None:
    """Appends the records to new file topics, in the order of their offsets."""
    append_frame(FileTopics(setting.scratch), _frame(setting), ["offset"])
    shutil.rmtree(setting.scratch)


CASES = (
    Case(READ, bare_read),
    Case("file topics: a read of all", read, READ),
    Case(WRITE, bare_write),
    Case("file topics: an append of all", append, WRITE),
)
