"""Appends each record to its topic exactly once. If an earlier attempt wrote a record before it crashed, the record is
not written again.

Two runs never append at the same time. For file topics, the second run waits. For topics of a cluster, the later run
fences the earlier run.

The headers of each appended record name two things: the writer of the record, such as a consumer group, and the source
record. The source record is the record that the run read, such as ``orders-0@17``. Before a run appends records, it
reads the end of each target topic, and skips the records that an earlier attempt has already written. This search need
not begin at offset 0: each commit stores, for each target partition, the offset at which the next run starts to search.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from dagster_smt.model.windows.offsets import OffsetSet
from dagster_smt.model.windows.window import Range, Window
from dagster_smt.spark.sql import quoted, sql_try_cast
from dagster_smt.tables.sink_options import SourceColumns
from dagster_smt.tables.sinks.protocol import Replaced
from dagster_smt.tables.sinks.replaced_rows import replaced_rows
from dagster_smt.tables.sinks.topics import Appended, Topics

Ends = Mapping[str, int]
"""Maps the name of a topic-partition to an offset: ``{"orders-0": 120}``."""
_SOURCE = SourceColumns("source_topic", "source_partition", "source_offset")


@dataclass(frozen=True)
class Trace:
    """The headers by which a run recognizes records that an earlier attempt has written to a topic.

    Attributes:
        identity: The names of the headers that together identify a record. If a header occurs several times in a
            record, its last value applies.
        owner: A pair such as ``("dagster_smt.group", "orders")``: the name of a header, and its content. The writer,
            such as a consumer group, adds this header to all of its records.
        source: Three columns with strings: the topic, the partition and the offset of the source record (the record
            that the run read). The columns are computed from the headers of a written record.
    """

    identity: Sequence[str]
    owner: tuple[str, str]
    source: Sequence[Column]


def append_once(
    place: Topics,
    frame: DataFrame,
    topics: Sequence[str],
    trace: Trace,
    since: Ends,
    taken_in: OffsetSet,
    order: Sequence[str],
    say: Callable[[str], None] = lambda line: None,
) -> tuple[dict[str, int], Appended]:
    """Appends those records of ``frame`` that the topics do not contain yet.

    Args:
        place: The folder or cluster with the topics.
        frame: The records, with the columns that ``Topics.append`` requires.
        topics: The names of the target topics.
        trace: The headers that identify the records.
        since: For each target partition, the offset at which the search for already written records starts, such as
            ``{"orders-0": 120}``.
        taken_in: The offsets of all source records (the records that runs read) that are processed when this run has
            committed, such as ``orders-0 [0, 20)``. Later runs do not append these records again, so they need not
            search the target topics for the records.
        order: The columns that order the records; see ``Topics.append``.
        say: Is called with lines about the progress.

    Returns:
        Two results. The first is the argument ``since`` of the next run: for each target partition, the offset at which
        the next run starts to search. The second describes the records that were appended.
    """
    with place.alone(trace.owner[1], topics, trace.identity, say) as alone, ExitStack() as stack:
        looked: dict[str, int] = {}
        there = alone.there(topics)
        unread = [_from(r, since) for r in there]
        tails = Window(tuple(r for r in unread if r.records > 0))
        if tails.ranges:
            traces = _traces(alone.read(tails), trace).persist()
            stack.callback(traces.unpersist)
            # "merge" lets the executors sort and merge both inputs; Spark would broadcast an input that it considers
            # small, and the driver has to hold a broadcast input as a whole
            known = traces.select("identity").distinct().hint("merge")
            frame = frame.withColumn("identity", _identity(trace)).join(known, "identity", "left_anti").drop("identity")
            looked = _still_needed(traces, trace.owner[1], taken_in)
        appended = alone.append(frame, order, say)
    # A partition without a record that later runs must find is searched from its end. If the new records begin exactly
    # there, no other writer's record lies in between, and the search can begin after them.
    looked = {_key(r): r.end for r in there} | looked
    for r in appended.ranges:
        if looked.get(_key(r), 0) == r.start:
            looked[_key(r)] = r.end
    return looked, appended


def _from(r: Range, since: Ends) -> Range:
    # the retention of the topic may have removed offsets of ``since`` meanwhile
    return replace(r, start=max(r.start, since.get(_key(r), 0)))


def _traces(records: DataFrame, trace: Trace) -> DataFrame:
    """Returns a row for each record in ``records``. The row contains the record's coordinates (topic, partition and
    offset), and three facts from the record's headers: its identity, its writer, and the coordinates of its source
    record.
    """
    topic, partition, offset = trace.source
    traces = records.select(
        "topic",
        "partition",
        "offset",
        _identity(trace).alias("identity"),
        last_header(trace.owner[0]).alias("owner"),
        topic.alias(_SOURCE.topic),
        partition.alias(_SOURCE.partition),
        offset.alias(_SOURCE.offset),
    )
    # Other writers may add headers of the same name with any content. With ANSI, a plain cast of such a content would
    # end the run.
    numbers = {
        _SOURCE.partition: F.expr(sql_try_cast(quoted(_SOURCE.partition), "int")),
        _SOURCE.offset: F.expr(sql_try_cast(quoted(_SOURCE.offset), "bigint")),
    }
    return traces.withColumns(numbers)


def _still_needed(traces: DataFrame, owner: str, taken_in: OffsetSet) -> dict[str, int]:
    """Returns, for each target partition, the offset at which later runs must start to search for already written
    records, such as ``{"orders-0": 120}``.

    For example, a run read a source record and wrote a record at offset 120 of the target. The run then died before its
    commit, so the source record is not in ``taken_in``. A later run reads the source record again. To write no second
    record, the later run must find the record at offset 120.

    For each target partition, the result contains the offset of the first record that a later run must find. If later
    runs need to find no record in a target partition, the result leaves this partition out.

    Args:
        traces: The written records, as ``_traces`` returns them.
        owner: The name of the writer. Records of other writers are ignored.
        taken_in: The offsets of the source records that runs have processed.
    """
    records = traces.where(F.col("owner") == owner).where(F.col(_SOURCE.offset).isNotNull())
    # replaced_rows needs at least one range
    if taken_in:
        records = records.where(f"NOT ({replaced_rows(Replaced(offsets=taken_in), _SOURCE)})")
    firsts = records.groupBy("topic", "partition").agg(F.min("offset").alias("first")).collect()
    offsets = {}
    for row in firsts:
        offsets[f"{row['topic']}-{row['partition']}"] = row["first"]
    return offsets


def _key(r: Range) -> str:
    return f"{r.topic}-{r.partition}"


def last_header(name: str) -> Column:
    """Returns a column with the value of the last header called ``name``, as a string. The value is null if the record
    has no such header.
    """
    # with ANSI, element_at raises an error if the list is empty
    last = F.try_element_at(F.filter("headers", lambda h: h["key"] == name), F.lit(-1))
    return last["value"].cast("string")


def _identity(trace: Trace) -> Column:
    texts = []
    for name in trace.identity:
        # concat_ws skips nulls: the headers (a, null) and (null, a) would have the same identity
        texts.append(F.coalesce(last_header(name), F.lit("")))
    return F.concat_ws("\n", *texts)
