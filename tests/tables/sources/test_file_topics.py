"""File topics: what is appended is read, what is not a topic is refused by file and line."""

import threading
from pathlib import Path

import pytest

from dagster_smt.errors import TableError, UnsupportedError
from dagster_smt.model.windows.window import Range, Window
from dagster_smt.tables.sources import open_source
from dagster_smt.tables.sources.file_writer import NewRecord, append_records, writing
from dagster_smt.tables.topic_table import FileTopics
from tests.tables.sources.topics import SECRET, assert_same, line, segment, window

TRICKY = [
    NewRecord(b"k", b'{"a":1}', (("h", b"v"), ("h", b"w"), ("none", None), ("bytes", b"\xfe\xff")), 1700000000123, 1),
    NewRecord(None, None, (), 0),
    NewRecord(b"", b"", (("", b""),), -1),
    NewRecord(b"\xff\x00\x80", b"\xc3\x28"),
    NewRecord(b"5", b'{"base64":"eA=="}'),
    NewRecord(b"a\x00b\r\n", '"quoted" \\ \u2028 \u0085 ü 😀'.encode()),
    NewRecord(b"null", b"true"),
    NewRecord(b"x" * 100_000, b"\xff" * 100_000),
]


@pytest.mark.parametrize("folder", ["topics", "with space [a]{b} %20*?\\ ü"])
def test_appended_is_read_byte_for_byte(spark, tmp_path, folder):
    source = FileTopics(tmp_path / folder)
    assert append_records(source, "orders", TRICKY[:3]) == Range("orders", 0, 0, 3)
    assert append_records(source, "orders", TRICKY[3:]) == Range("orders", 0, 3, 8)
    assert append_records(source, "orders", [NewRecord(b"p2", None)], partition=2) == Range("orders", 2, 0, 1)
    assert append_records(source, "orders", []) == Range("orders", 0, 8, 8)
    assert open_source(source).ranges(["orders"]) == [Range("orders", 0, 0, 8), Range("orders", 2, 0, 1)]
    rows = open_source(source, spark).read(window(0, 8)).orderBy("offset").collect()
    assert_same(rows, TRICKY)


def test_window_reads_its_segments_and_offsets_only(spark, source):
    for start in (0, 3, 6):
        append_records(source, "orders", [NewRecord(str(start + i).encode(), b"") for i in range(3)])
        append_records(source, "other", [NewRecord(b"o", b"")], partition=1)
    frame = open_source(source, spark).read(Window((Range("orders", 0, 4, 6), Range("other", 1, 0, 1))))
    assert sorted((r.topic, r.offset) for r in frame.collect()) == [("orders", 4), ("orders", 5), ("other", 0)]
    assert frame.columns == ["key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers"]


def test_parquet_segments_beside_lines(spark, source):
    append_records(source, "orders", TRICKY)
    frame = open_source(source, spark).read(window(0, 8)).withColumn("offset", _offset(8))
    frame.coalesce(1).sortWithinPartitions("offset").write.parquet(str(source.root.parent / "out"))
    part = next((source.root.parent / "out").glob("*.parquet"))
    part.rename(source.root / "orders" / "0" / "8.parquet")
    assert open_source(source).ranges(["orders"]) == [Range("orders", 0, 0, 16)]
    rows = open_source(source, spark).read(window(0, 16)).orderBy("offset").collect()
    assert [(r.key, r.value, r.headers, r.timestamp) for r in rows[:8]] == [
        (r.key, r.value, r.headers, r.timestamp) for r in rows[8:]
    ]


def _offset(shift: int):
    from pyspark.sql import functions as F

    return F.col("offset") + shift


def test_the_example_topics(spark, source):
    """Rows as other tools write them: fields in another order, spaces after colons."""
    text = line(0, headers=[{"key": "h", "value": {"base64": "AP8="}}, {"key": "n", "value": None}], timestampType=1)
    segment(source, "0/0.jsonl", text, line(1, value={"base64": "/w=="}, key="k"))
    rows = open_source(source, spark).read(window(0, 2)).orderBy("offset").collect()
    assert [bytes(r.value) for r in rows] == [SECRET.encode(), b"\xff"]
    assert [(h.key, h.value) for h in rows[0].headers] == [("h", b"\x00\xff"), ("n", None)]
    assert (rows[1].headers, rows[1].timestampType) == ([], 0)


LINES = [
    (["{"], "SMT503 orders/0/0.jsonl line 1: not a record: "),
    ([line(0), ""], "SMT503 orders/0/0.jsonl line 2: not a record: "),
    ([line(0) + line(1)], "SMT503 orders/0/0.jsonl line 1: not a record: "),
    ([line(0, value=5)], "SMT503 orders/0/0.jsonl line 1: not a record: Expected `str | object | null`"),
    ([line(0, value={"a": SECRET})], "SMT503 orders/0/0.jsonl line 1: the line has a field that records do not have"),
    ([line(0, value={"base64": "*"})], "SMT503 orders/0/0.jsonl line 1: not a record: Invalid base64 encoded string"),
    ([line(0, offset="0")], "SMT503 orders/0/0.jsonl line 1: not a record: Expected `int`"),
    ([line(0, **{SECRET: 1})], "SMT503 orders/0/0.jsonl line 1: the line has a field that records do not have"),
    (['{"topic":"orders"}'], "SMT503 orders/0/0.jsonl line 1: not a record: Object missing required field"),
    ([line(0, topic=SECRET)], "SMT504 orders/0/0.jsonl line 1: the record's topic or partition is not the folder's"),
    ([line(0, partition=1)], "SMT504 orders/0/0.jsonl line 1: the record's topic or partition is not the folder's"),
    ([line(0), line(2)], "SMT505 orders/0/0.jsonl line 2: the offset is 2 instead of 1: a gap"),
    ([line(0), line(1), line(1)], "SMT505 orders/0/0.jsonl line 3: the offset is 1 instead of 2: a duplicate"),
    ([line(1), line(2)], "SMT505 orders/0/0.jsonl line 1: the offset is 1 instead of 0: a gap"),
]


@pytest.mark.parametrize(("lines", "message"), LINES, ids=[m for _, m in LINES])
def test_malformed_lines_are_named_and_not_quoted(source, lines, message):
    segment(source, "0/0.jsonl", *lines)
    problems = open_source(source).explain(window(0, len(lines)))
    assert str(problems[0]).startswith(message)
    assert SECRET not in str(problems)


def test_text_that_is_not_utf8(source):
    segment(source, "0/0.jsonl").write_bytes(line(0).encode().replace(SECRET.encode(), b"\xff"))
    assert str(open_source(source).explain(window(0, 1))[0]).startswith("SMT503 orders/0/0.jsonl line 1: ")


def test_all_problems_together_up_to_five_per_segment(source):
    segment(source, "0/0.jsonl", *["{"] * 9)
    segment(source, "0/9.jsonl", line(10))
    assert [p.place for p in open_source(source).explain(window(0, 10))] == [
        *(f"orders/0/0.jsonl line {n}" for n in range(1, 6)),
        "orders/0/9.jsonl line 1",
    ]


def test_gap_between_segments(source):
    segment(source, "0/0.jsonl", line(0))
    segment(source, "0/2.jsonl", line(2))
    assert open_source(source).ranges(["orders"]) == [Range("orders", 0, 0, 3)]
    with pytest.raises(TableError, match=r"SMT505 orders/0/0.jsonl: ends before offset 1, but the next segment beg"):
        open_source(source).read(window(1, 3))
    assert "ends before offset 1, but the next segment begins at 2" in str(open_source(source).explain(window(0, 3)))
    segment(source, "0/1.jsonl", line(1), line(2))
    assert "ends before offset 3, but the next segment begins at 2" in str(open_source(source).explain(window(0, 3)))


def test_parquet_that_is_none(source):
    segment(source, "0/0.parquet", "no")
    for use in (lambda s: s.read(window(0, 1)), lambda s: s.ranges(["orders"])):
        with pytest.raises(TableError, match=r"SMT541 orders/0/0.parquet: the segment cannot be read"):
            use(open_source(source))
    with pytest.raises(TableError, match="SMT541"):
        append_records(source, "orders", [NewRecord(b"", b"")])
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(
        pa.table({"topic": ["orders"], "offset": [0], "partition": ["0"]}), source.root / "orders/0/0.parquet"
    )
    with pytest.raises(TableError) as caught:
        open_source(source).read(window(0, 1))
    assert str(caught.value).startswith(
        "SMT503 orders/0/0.parquet: columns missing or of another type: key, value, partition, timestamp"
    )


def test_window_that_is_not_there(source):
    append_records(source, "orders", [NewRecord(b"", b"")])
    for expected in (window(0, 2), window(1, 2), window(0, 1, "missing"), window(0, 1, partition=3)):
        with pytest.raises(TableError, match="SMT510"):
            open_source(source).read(expected)


def test_strangers_in_a_topic(source):
    segment(source, "0/0.jsonl", line(0))
    segment(source, "0/notes.txt", "")
    segment(source, "backup/0.jsonl", line(0))
    segment(source, "01/0.jsonl", line(0))
    segment(source, "0/.hidden", "")
    with pytest.raises(TableError) as caught:
        open_source(source).ranges(["orders"])
    assert sorted((p.code, p.place) for p in caught.value.problems) == [
        ("SMT502", "orders/0/notes.txt"),
        ("SMT502", "orders/01"),
        ("SMT502", "orders/backup"),
    ]


def test_missing_root_and_topic_suggest_names(source):
    append_records(source, "orders", [NewRecord(b"", b"")])
    with pytest.raises(TableError) as caught:
        open_source(source).ranges(["order", "zzz"])
    assert str(caught.value) == (
        "SMT501 order: the topic does not exist\n  hint: did you mean orders?\n"
        "SMT501 zzz: the topic does not exist\n  hint: topics there: orders"
    )
    with pytest.raises(TableError) as caught:
        open_source(FileTopics(source.root.with_name("topic"))).topics()
    assert "SMT500" in str(caught.value) and "did you mean topics?" in str(caught.value)


def test_list_topics_passes_over_other_folders(source):
    for name in ("b", "a.b", "with space", ".hidden"):
        (source.root / name).mkdir()
    (source.root / "file").write_text("")
    assert open_source(source).topics() == ["a.b", "b"]
    assert open_source(source).ranges(["b"]) == []


def test_names_that_cannot_be_topics(source):
    for name in ("", ".", "..", "a/b", "a b", "x" * 250):
        with pytest.raises(TableError, match="SMT507"):
            append_records(source, name, [NewRecord(b"", b"")])
    with pytest.raises(TableError, match="SMT507"):
        append_records(source, "orders", [NewRecord(b"", b"")], partition=-1)


def test_object_stores_are_refused():
    with pytest.raises(UnsupportedError, match="SMT951"):
        open_source(FileTopics(Path("s3://bucket/topics"))).topics()


def test_a_failing_producer_appends_nothing(source):
    append_records(source, "orders", [NewRecord(b"", b"")])

    def records():
        yield NewRecord(b"", b"")
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError):
        append_records(source, "orders", records())
    assert open_source(source).ranges(["orders"]) == [Range("orders", 0, 0, 1)]


def test_writers_wait_for_each_other(source):
    def work():
        for _ in range(20):
            append_records(source, "orders", [NewRecord(b"a", b""), NewRecord(b"b", b"")])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert open_source(source).ranges(["orders"]) == [Range("orders", 0, 0, 160)]


def test_a_writer_knows_its_end(source):
    with writing(source, "dead") as writer:
        writer.append([NewRecord(b"", b"")])
        writer.append([NewRecord(b"", b"", (("id", b"1"),))])
        assert writer.end() == 2
