"""Finds late records of a window. For example, the window is the 1st of January, and a record with a timestamp of this
day arrives on the 2nd. The record's offset is then after the window.
"""

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame
from pyspark.sql import Window as Frame
from pyspark.sql import functions as F

from dagster_smt.model.windows.offsets import OffsetSet, offsets_of
from dagster_smt.model.windows.window import Range, Window, not_empty
from dagster_smt.tables.sources import Source

_PLACE = ("topic", "partition")


def late_offsets(source: Source, after: Sequence[Range], moments: Sequence[int]) -> Mapping[int, OffsetSet]:
    """Reads the timestamps of all records after a window, and returns the offsets of the late records.

    Args:
        source: The source.
        after: The offsets after the window.
        moments: Points in time in milliseconds: the beginning of the window, the borders between its parts, and its
            end.

    Returns:
        A dict from the number of a part of the window to the offsets of late records. The timestamps of these records
        belong to this part.
    """
    frame = source.read(Window(tuple(not_empty(after))))
    millis = F.unix_millis("timestamp")
    passed = []
    for moment in moments[1:-1]:
        passed.append(F.when(millis >= moment, 1).otherwise(0))
    # the number of a part is the number of borders at or before the timestamp
    part = sum(passed, F.lit(0)).alias("part")
    late = frame.where((millis >= moments[0]) & (millis < moments[-1])).select(*_PLACE, "offset", part)
    ranges_by_moment: dict[int, list[Range]] = {}
    for number, topic, partition, start, end in _ranges(late).collect():
        ranges_by_moment.setdefault(number, []).append(Range(topic, partition, start, end))
    offsets = {}
    for number, ranges in ranges_by_moment.items():
        offsets[number] = offsets_of(ranges)
    return offsets


def _ranges(late: DataFrame) -> DataFrame:
    """Combines consecutive offsets in ``late`` into ranges, on the executors."""
    key = ("part", *_PLACE)
    number = F.row_number().over(Frame.partitionBy(*key).orderBy("offset"))
    # in consecutive offsets, the difference to the row number is constant: 5, 6, 9 minus 1, 2, 3 is 4, 4, 6
    rows = late.select(*key, "offset", (F.col("offset") - number).alias("group"))
    bounds = F.min("offset").alias("start"), (F.max("offset") + 1).alias("end")
    return rows.groupBy(*key, "group").agg(*bounds).select(*key, "start", "end")
