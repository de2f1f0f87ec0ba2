"""File topics: reading them, against a bare read of the same lines that checks nothing; and appending to them."""

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
    """The records as file topics; made in the warm-up, removed with the scratch folder."""
    source = FileTopics(setting.scratch.with_name("topics"))
    if not Path(source.root).exists():
        append_frame(source, _frame(setting), ["offset"])
    return source


def _frame(setting: Setting) -> DataFrame:
    return setting.frame.withColumn("timestamp_ms", F.unix_millis("timestamp"))


def bare_read(setting: Setting) -> None:
    """Spark's own reader, with texts as texts and no headers."""
    root = _topics(setting).root
    setting.discard(setting.frame.sparkSession.read.schema(_TEXT).json(f"{root}/*/*/*.jsonl"))


def read(setting: Setting) -> None:
    """A window of everything: list, find, read, check every line."""
    source = open_source(_topics(setting), setting.frame.sparkSession)
    frame = source.read(Window(tuple(source.ranges(source.topics()))))
    setting.discard(frame)


def bare_write(setting: Setting) -> None:
    """Spark's own writer, in any order, without offsets of its own."""
    texts = (F.col(name).cast("string").alias(name) for name in ("key", "value"))
    setting.frame.select(*texts, "topic", "partition", "offset").write.mode("overwrite").json(str(setting.scratch))
    shutil.rmtree(setting.scratch)


def append(setting: Setting) -> None:
    """The records, ordered, as the next segments of new topics."""
    append_frame(FileTopics(setting.scratch), _frame(setting), ["offset"])
    shutil.rmtree(setting.scratch)


CASES = (
    Case(READ, bare_read),
    Case("file topics: a read of all", read, READ),
    Case(WRITE, bare_write),
    Case("file topics: an append of all", append, WRITE),
)
