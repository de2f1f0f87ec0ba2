"""Each record of a divided window is counted in the part whose window holds it."""

import random

from pyspark.sql import functions as F

from dagster_smt.model.windows.division import Division
from dagster_smt.model.windows.window import Range, Window
from dagster_smt.run.time_parts import PART, with_part

PLACES = [("a", 0), ("a", 1), ("b", 0), ("c", 0)]
END = 60


def division(chance, parts):
    """Parts that begin anywhere, in any order, some of them nowhere; a partition of one topic is not divided."""
    begins = {}
    for place in PLACES[:-1]:
        starts = sorted(chance.sample(range(END), chance.randrange(min(parts, END) + 1)))
        begins[place] = [(start, chance.randrange(parts)) for start in starts]
    return Division(parts, begins)


def test_a_record_is_of_the_part_whose_window_holds_its_offset(spark):
    window = Window(tuple(Range(*place, 0, END) for place in PLACES[:-1]))
    rows = [(topic, partition, offset) for topic, partition in PLACES for offset in range(END)]
    frame = spark.createDataFrame(rows, "__topic STRING, __partition INT, __offset BIGINT").coalesce(1).cache()
    for seed, parts in enumerate([1, 2, 3, 4, 5, 8, 9, 40]):
        divided = division(random.Random(seed), parts)
        joined, part = with_part(frame, divided)
        result = joined.select("__topic", "__partition", "__offset", part.alias(PART)).where(F.col("__topic") != "c")
        windows = divided.of(window) if parts > 1 else [window]
        expected = {
            (r.topic, r.partition, offset): number
            for number, own in enumerate(windows)
            for r in own.ranges
            for offset in range(r.start, r.end)
        }
        assert {tuple(row[:3]): row[3] for row in result.collect()} == expected, (seed, parts)
        assert set(joined.where("__topic = 'c'").select(part).collect()) == {(0,)}
    frame.unpersist()
