"""Appends the rows of a Spark data frame to file topics. Spark writes the lines, and the driver only names the files.

1. Spark computes the rows once, and writes them to a staging folder, as lines without offsets.
2. The driver counts the lines of each topic-partition, and locks these topics.
3. Spark adds an offset to each line, and writes one file for each topic-partition.
4. The driver renames each file, so that it becomes the next segment of its partition.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.window import Window as Over

from dagster_smt.errors import Problem, TableError
from dagster_smt.model.windows.window import Range
from dagster_smt.spark.workers import map_in_arrow
from dagster_smt.tables import local
from dagster_smt.tables.sources.file_writer import (
    NewRecord,
    Say,
    TopicWriter,
    check_place,
    encode,
    refused,
    silent,
    staging,
    writing,
)
from dagster_smt.tables.topic_table import FileTopics

FRAME_COLUMNS = ("key", "value", "topic", "partition", "timestamp_ms", "timestampType", "headers")
_PLACE = ("topic", "partition")
_ROW = {"topic": T.StringType(), "partition": T.IntegerType(), "rest": T.StringType(), "wrong": T.StringType()}


def append_frame(source: FileTopics, frame: DataFrame, order: Sequence[str], say: Say = silent) -> list[Range]:
    """Appends the rows of ``frame`` to file topics, as one new segment file per topic-partition.

    The function has the same effect as ``append_records``, but the driver receives no rows. The function waits for
    other writers of the topics. A segment file is appended completely or not at all.

    Args:
        source: The folder of the topics. Missing topics are created.
        frame: The rows, with the columns ``FRAME_COLUMNS``: key and value as bytes, ``timestamp_ms`` in milliseconds
            (null is the current time), and headers like Kafka's. The frame may have more columns. Spark computes the
            frame once.
        order: The columns of the frame that order the rows of a topic-partition, in Spark's sort order.
        say: Receives lines about the progress. An error that it raises stops the function.

    Returns:
        The assigned offsets, sorted.

    Raises:
        TableError: See ``append_records``. Nothing was appended.
    """
    root = local.local_folder(source.root)
    with staging(root, say) as folder, ExitStack() as held:
        rows, counts = _stage(frame, order, folder, say)
        topics = sorted({topic for topic, _ in counts})
        writers = {}
        for topic in topics:
            writers[topic] = held.enter_context(writing(source, topic, say))
        starts = {}
        for place in counts:
            starts[place] = writers[place[0]].end(place[1])
        if counts:
            say(f"writing {sum(counts.values())} records to {len(topics)} topics")
            _write_lines(rows, starts, len(order), folder / "lines")
        ranges = []
        for place, start in sorted(starts.items()):
            ranges.append(Range(*place, start, start + counts[place]))
        return _publish(writers, ranges, folder / "lines")


@dataclass(frozen=True)
class _EncodeRows:
    """A function for ``DataFrame.mapInArrow`` that encodes records as JSON lines. Spark sends the object to its
    executors.

    The offsets are not known yet. So the function returns only the part of each line that follows the offset.
    """

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            values = (batch.column(name).to_pylist() for name in FRAME_COLUMNS)
            rows = []
            for row in zip(*values, strict=True):
                rows.append(_encoded(*row))
            columns = [batch.column("topic"), batch.column("partition")]
            for column in zip(*rows, strict=True):
                columns.append(pa.array(column, pa.string()))
            order = batch.columns[len(FRAME_COLUMNS) :]
            names = [*_ROW, *batch.schema.names[len(FRAME_COLUMNS) :]]
            yield pa.RecordBatch.from_arrays([*columns, *order], names=names)


def _encoded(
    key: bytes | None,
    value: bytes | None,
    topic: str | None,
    partition: int | None,
    millis: int | None,
    kind: int | None,
    headers: list[dict[str, Any]] | None,
) -> tuple[str | None, str | None]:
    """Encodes a record as a JSON line, and returns the part of the line after the offset.

    Returns:
        ``(line, None)``, or ``(None, reason)`` if the record cannot be a line.
    """
    if topic is None or partition is None:
        return None, "it has no topic or no partition"
    pairs = tuple((header["key"], header["value"]) for header in headers or ())
    try:
        check_place(topic, partition)
        record = NewRecord(key, value, pairs, millis, 0 if kind is None else kind)
        # the longest offset, so that the line with its real offset is not longer than the limit
        line = encode(record, topic, partition, 2**63 - 1)
    except TableError as error:
        return None, f"{error.problems[0].code} {error.problems[0].statement}"
    except ValueError as error:
        return None, str(error)
    # a topic name cannot contain quotes, so the first comma before "timestamp" follows the offset; the last byte is the
    # newline, which Spark's writer adds
    return line[line.index(b',"timestamp":') : -1].decode(), None


def _stage(
    frame: DataFrame, order: Sequence[str], folder: Path, say: Say
) -> tuple[DataFrame, dict[tuple[str, int], int]]:
    """Writes the lines of ``frame`` without their offsets into ``folder``.

    Returns:
        A data frame with the written lines, and a dict from topic-partition to its number of lines.

    Raises:
        TableError: SMT543, a record cannot be appended.
    """
    say("staging records")
    order_columns = []
    for n, name in enumerate(order):
        order_columns.append(F.col(name).alias(f"order{n}"))
    rows_in = frame.select(*FRAME_COLUMNS, *order_columns)
    fields = []
    for name, kind in _ROW.items():
        fields.append(T.StructField(name, kind))
    schema = T.StructType([*fields, *rows_in.schema.fields[len(FRAME_COLUMNS) :]])
    path = folder / "rows"
    # Spark takes a path to write literally, not as a pattern, so spark_path() is not needed
    map_in_arrow(rows_in, _EncodeRows(), schema).write.parquet("file://" + str(path))
    rows = frame.sparkSession.read.schema(schema).parquet(local.spark_path(path))
    counts = rows.groupBy(*_PLACE, "wrong").count().collect()
    problems = []
    for r in counts:
        if r.wrong:
            problems.append(refused(f"{r.topic}-{r.partition}", f"{r.wrong} ({r['count']} of them)"))
    if problems:
        raise TableError(sorted(problems, key=str))
    return rows, {(r.topic, r.partition): r["count"] for r in counts}


def _write_lines(rows: DataFrame, starts: dict[tuple[str, int], int], keys: int, path: Path) -> None:
    """Adds an offset to each line, and writes one file of lines for each topic-partition.

    Args:
        rows: The lines without offsets.
        starts: The first offset of each topic-partition.
        keys: The number of columns by which the lines are sorted.
        path: The folder of the files.
    """
    known = []
    for place, start in starts.items():
        known.append((*place, start))
    bases = rows.sparkSession.createDataFrame(known, "`topic` STRING, `partition` INT, `base` BIGINT")
    # the window brings each topic-partition into one task, so there is one file for each of them
    number = F.row_number().over(Over.partitionBy(*_PLACE).orderBy(*(f"order{n}" for n in range(keys))))
    numbered = rows.join(F.broadcast(bases), list(_PLACE)).withColumn("offset", F.col("base") + number - 1)
    # The rows have been numbered in this order, so they are already sorted. Spark notices this, and sorts only once.
    lines = numbered.sortWithinPartitions(*_PLACE, *(f"order{n}" for n in range(keys))).select(
        _line().alias("value"), *_PLACE
    )
    # the settings of a session could limit the records of a file, or compress the file
    writer = lines.write.partitionBy(*_PLACE).option("maxRecordsPerFile", 0).option("compression", "none")
    writer.option("lineSep", "\n").text("file://" + str(path))


def _line() -> Column:
    texts = ('{"topic":"', F.col("topic"), '","partition":', F.col("partition"), ',"offset":', F.col("offset"))
    columns = []
    for t in texts:
        columns.append(F.lit(t) if isinstance(t, str) else t.cast("string"))
    return F.concat(*columns, F.col("rest"))


def _publish(writers: dict[str, TopicWriter], ranges: list[Range], lines: Path) -> list[Range]:
    files = []
    for r in ranges:
        # Spark would escape unusual characters in these names, but the names of topics have none (check_place)
        files.append(sorted((lines / f"topic={r.topic}" / f"partition={r.partition}").glob("part-*")))
    wrong = []
    for r, parts in zip(ranges, files, strict=True):
        if len(parts) != 1:
            wrong.append(r)
    if wrong:
        hint = "nothing was appended: is the folder of the topics the same for every executor?"
        statement = "Spark did not write the lines as one file that this process sees"
        raise TableError(Problem("SMT545", f"{r.topic}-{r.partition}", statement, hint) for r in wrong)
    with local.coded(lines):
        for range_, parts in zip(ranges, files, strict=True):
            writers[range_.topic].publish(parts[0], range_)
    return ranges
