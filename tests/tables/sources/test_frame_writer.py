"""A frame appended: byte for byte what the records appended one after another would be."""

import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import functions as F

from dagster_smt.errors import TableError
from dagster_smt.model.windows.window import Range, Window
from dagster_smt.tables import local
from dagster_smt.tables.sources import open_source
from dagster_smt.tables.sources.file_writer import NewRecord, append_records, staging
from dagster_smt.tables.sources.frame_writer import append_frame
from dagster_smt.tables.topic_table import FileTopics

SECRET = "secret-4711"
SCHEMA = (
    "key BINARY, value BINARY, topic STRING, partition INT, timestamp_ms BIGINT, timestampType INT, "
    "headers ARRAY<STRUCT<key: STRING, value: BINARY>>, n INT"
)


@pytest.fixture
def topics(tmp_path):
    return FileTopics(tmp_path / "topics")


def frame_of(spark, rows):
    """A frame of ``(topic, partition, record)``, in the order of the list."""
    data = [
        (r.key, r.value, topic, partition, r.timestamp, r.timestamp_type, list(r.headers), n)
        for n, (topic, partition, r) in enumerate(rows)
    ]
    return spark.createDataFrame(data[::-1], SCHEMA).repartition(3)


def files(source):
    result = source.root.glob("*/[0-9]*/*")
    return {str(p.relative_to(source.root)): p.read_bytes() for p in result if not p.name.startswith(".")}


sides = st.none() | st.binary(max_size=90) | st.text(max_size=20).map(str.encode)
headers = st.lists(st.tuples(st.text(max_size=4), sides), max_size=3).map(tuple)
records = st.builds(NewRecord, sides, sides, headers, st.integers(-(2**63), 2**63 - 1), st.sampled_from([-1, 0, 1]))
placed = st.tuples(st.sampled_from(["a", "b.c-d_e"]), st.sampled_from([0, 1, 7]), records)


@settings(max_examples=4)
@given(rows=st.lists(placed, max_size=80))
def test_it_writes_what_append_records_writes(spark, tmp_path_factory, rows):
    one, two = (FileTopics(tmp_path_factory.mktemp("topics")) for _ in range(2))
    for source in (one, two):
        append_records(source, "a", [NewRecord(b"there", b"before", (), 1)], partition=1)
    places = sorted({(topic, partition) for topic, partition, _ in rows})
    expected = [append_records(two, *_of(rows, topic, p), p) for topic, p in places]
    assert append_frame(one, frame_of(spark, rows), ["n"]) == expected
    assert files(one) == files(two)
    assert not list(one.root.glob(".staging-*"))


def _of(rows, topic, partition):
    return topic, [record for t, p, record in rows if (t, p) == (topic, partition)]


@pytest.mark.long
def test_thousands_of_rows_stay_in_order(spark, topics):
    ids = spark.range(30_000)
    frame = ids.select(
        F.lit(None).cast("binary").alias("key"),
        F.col("id").cast("string").cast("binary").alias("value"),
        F.format_string("t%s", F.col("id") % 3).alias("topic"),
        (F.col("id") % 2).cast("int").alias("partition"),
        F.col("id").alias("timestamp_ms"),
        F.lit(0).alias("timestampType"),
        F.lit(None).cast("array<struct<key: string, value: binary>>").alias("headers"),
        (-F.col("id")).alias("back"),
    )
    ranges = append_frame(topics, frame.repartition(5), ["back"])
    assert ranges == [Range(f"t{t}", p, 0, 5_000) for t in range(3) for p in range(2)]
    read = open_source(topics, spark).read(Window(tuple(ranges)))
    values = read.where("topic = 't1' and partition = 0").orderBy("offset").select("value").collect()
    assert [int(row.value) for row in values] == sorted((i for i in range(30_000) if i % 6 == 4), reverse=True)
    assert read.count() == 30_000
    ties = append_frame(topics, frame, ["timestampType"])
    assert open_source(topics, spark).read(Window(tuple(ties))).count() == 30_000


REFUSED = [
    (
        ("a b", 0, NewRecord(b"", b"")),
        "SMT543 a b-0: a record cannot be appended: SMT507 cannot be the name of a topic",
    ),
    (("a", -1, NewRecord(b"", b"")), "SMT543 a--1: a record cannot be appended: SMT507 -1 cannot be a partition"),
    (("a", 0, NewRecord(b"", b"", (), 1, 2)), "SMT543 a-0: a record cannot be appended: the timestamp type is not"),
    (("a", 0, NewRecord(b"", b"x" * 16_000_000)), "SMT543 a-0: a record cannot be appended: as a line it is longer"),
]


@pytest.mark.parametrize(("row", "message"), REFUSED, ids=[m for _, m in REFUSED])
def test_what_reading_refuses_is_not_appended(spark, topics, row, message):
    good = ("a", 0, NewRecord(b"", SECRET.encode()))
    with pytest.raises(TableError) as caught:
        append_frame(topics, frame_of(spark, [good, row]), ["n"])
    assert str(caught.value).startswith(message)
    assert SECRET not in str(caught.value)
    assert files(topics) == {} and not list(topics.root.glob(".staging-*"))


def test_two_writers(spark, topics):
    failures = []

    def work():
        try:
            rows = [(t, 0, NewRecord(b"", b"")) for t in "abc" for _ in range(5)]
            append_frame(topics, frame_of(spark, rows), ["n"])
        except TableError as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert open_source(topics).ranges("abc") == [Range(t, 0, 0, 15) for t in "abc"]


def test_staging_of_dead_writers_is_removed_and_that_of_living_ones_is_not(topics):
    with staging(topics.root) as living:
        dead = topics.root / ".staging-00"
        dead.mkdir()
        (dead / "rows").write_text(SECRET)
        dead.with_name(".staging-00.lock").touch()
        with staging(topics.root) as other:
            assert living.is_dir() and other.is_dir() and not dead.exists()
    assert [p.name for p in topics.root.iterdir()] == [".staging.lock"]


def test_a_writer_that_is_told_to_stop_appends_nothing(spark, topics):
    class Stop(Exception):
        pass

    def say(line):
        if line:
            raise Stop

    with local.locked(topics_lock(topics), "process 1", wait=True), pytest.raises(Stop):
        append_records(topics, "a", [NewRecord(b"", b"")], say=say)
    with pytest.raises(Stop):
        append_frame(topics, frame_of(spark, [("a", 0, NewRecord(b"", b""))]), ["n"], say)
    assert files(topics) == {}


def topics_lock(topics):
    local.make_folder(topics.root / "a")
    return topics.root / "a" / ".lock"
