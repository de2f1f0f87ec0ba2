"""File topics in a bad state: what is damaged, too large or in the way is refused with a code, and nothing else is."""

import base64
import errno
import json
import os
import sys
from datetime import datetime, timezone

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dagster_smt.errors import TableError
from dagster_smt.model.windows.window import Range, Window
from dagster_smt.tables import local
from dagster_smt.tables.sources import UNREADABLE_TIMESTAMP, file_topics, open_source, positions, segments
from dagster_smt.tables.sources.chunks import ReadChunks
from dagster_smt.tables.sources.file_writer import NewRecord, append_records, writing
from dagster_smt.tables.topic_table import FileTopics
from tests.tables.sources.topics import SECRET, line, segment, window

MOST = (2**63 - 1) // 1000


def decoded(source: FileTopics, expected: Window) -> list:
    """What executors make of a window, without Spark."""
    chunks, problems = open_source(source)._chunks(expected, lambda: None)
    assert problems == []
    numbers = pa.RecordBatch.from_pydict({"id": list(range(len(chunks)))})
    return [row for batch in ReadChunks(chunks)([numbers]) for row in batch.to_pylist()]


def files(source):
    return sorted(str(p.relative_to(source.root)) for p in source.root.rglob("*") if p.is_file())


def assert_of_no_use(source: FileTopics, expected: Window, message: str) -> None:
    """Neither measured nor read nor appended to."""
    for use in (
        lambda: open_source(source).ranges(["orders"]),
        lambda: open_source(source).read(expected),
        lambda: append_records(source, "orders", [NewRecord(b"", b"")]),
    ):
        with pytest.raises(TableError, match=message):
            use()


def test_an_unreadable_last_segment_is_no_empty_one(source):
    segment(source, "0/0.jsonl", line(0))
    segment(source, "0/1.parquet", "PAR1 torn")
    assert_of_no_use(source, window(0, 2), r"SMT541 orders/0/1.parquet: the segment cannot be read")


@pytest.mark.parametrize("names", [("0.jsonl", "0.parquet"), ("0.jsonl", "00.jsonl")], ids=" and ".join)
def test_two_segments_with_one_base(source, names):
    for name in names:
        segment(source, f"0/{name}", line(0))
    assert_of_no_use(source, window(0, 1), r"SMT542 orders/0/0.jsonl: begins at offset 0, as 00?\.\w+ does")


def test_timestamps_that_spark_cannot_hold_are_marked(spark, source):
    times = [0, MOST, MOST + 1, -MOST, -MOST - 1, 2**63 - 1, -(2**63), 1_700_000_000_000_000_000]
    append_records(source, "orders", [NewRecord(b"", b"", (), t, 1) for t in times])
    rows = open_source(source, spark).read(window(0, 8))
    result = rows.selectExpr("offset", "unix_micros(timestamp) / 1000 as millis", "timestampType").orderBy("offset")
    held = [abs(t) <= MOST for t in times]
    assert [row.timestampType for row in result.collect()] == [1 if h else UNREADABLE_TIMESTAMP for h in held]
    assert [row.millis is not None for row in result.collect()] == held
    assert open_source(source, spark).offsets_at(["orders"], MOST + 1) == {("orders", 0): 2}


REFUSED = [
    (NewRecord(b"", b"x" * 17_000_000), "as a line it is longer than 16000000 bytes"),
    (NewRecord(b"", b"\xff" * 12_000_000), "as a line it is longer than 16000000 bytes"),
    (NewRecord(b"", b"", (), 2**63), "the timestamp does not fit into 64 bits"),
    (NewRecord(b"", b"", (), -(2**63) - 1), "the timestamp does not fit into 64 bits"),
    (NewRecord(b"", b"", (), 1, 2), "the timestamp type is not -1, 0 or 1"),
    (NewRecord(b"", b"", (), 1, -2), "the timestamp type is not -1, 0 or 1"),
    (NewRecord(b"", b"", (("\ud800", b""),)), "the key of a header cannot be written as UTF-8"),
]


@pytest.mark.parametrize(("record", "why"), REFUSED, ids=[f"{n} {why}" for n, (_, why) in enumerate(REFUSED)])
def test_what_reading_refuses_is_not_appended(source, record, why):
    append_records(source, "orders", [NewRecord(b"", b"")])
    before = files(source)
    with pytest.raises(TableError) as caught:
        append_records(source, "orders", [NewRecord(b"", SECRET.encode()), record])
    place = "orders-0 record 2 of those to append"
    assert str(caught.value).startswith(f"SMT543 {place}: a record cannot be appended: {why}")
    assert files(source) == before


def test_a_partition_beyond_32_bits_leaves_no_folder(source):
    with pytest.raises(TableError, match="SMT507 orders: 2147483648 cannot be a partition"):
        append_records(source, "orders", [NewRecord(b"", b"")], 2**31)
    assert files(source) == []


def test_the_longest_line_is_read(source):
    empty = len(segments.encode_row(segments.SegmentRow("orders", 0, 0, 1, "", "", 0, [])))
    append_records(source, "orders", [NewRecord(b"", b"x" * (segments.MAX_LINE - empty), (), 1), NewRecord(b"", b"")])
    assert [row["offset"] for row in decoded(source, window(0, 2))] == [0, 1]
    assert [row["offset"] for row in decoded(source, window(0, 1))] == [0]


def test_a_bad_line_blocks_only_windows_that_contain_it(source):
    segment(source, "0/0.jsonl", *(line(n) for n in range(5)), "{", *(line(n) for n in range(6, 10)))
    opened = open_source(source)
    assert opened.ranges(["orders"]) == [Range("orders", 0, 0, 10)]
    for start, end in ((0, 5), (6, 10), (2, 3)):
        assert [row["offset"] for row in decoded(source, window(start, end))] == list(range(start, end))
    for start, end in ((0, 10), (5, 6), (4, 7)):
        assert len(decoded(source, window(start, end))) < end - start
        assert [(p.code, p.place) for p in opened.explain(window(start, end))] == [
            ("SMT503", "orders/0/0.jsonl line 6")
        ]


WRONG = {
    "no record": ["{"],
    "two records on a line": [line(0) + line(1), ""],
    "a record over two lines": [line(0)[:20], line(0)[20:]],
    "another topic": [line(0), line(1, topic="other")],
    "another partition": [line(0), line(1, partition=1)],
    "a gap": [line(0), line(2)],
    "a duplicate": [line(0), line(0)],
    "a gap and a duplicate": [line(0), line(2), line(2), line(3)],
    "out of order": [line(1), line(0)],
    "another field": [line(0, more=1)],
    "no UTF-8": [line(0), '"\udcff"'],
}


@pytest.mark.parametrize("lines", WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("followed", [True, False])
def test_nothing_wrong_passes_silently(source, lines, followed):
    """Executors leave out what is wrong, the count does not fit, and the driver names it."""
    path = segment(source, "0/0.jsonl")
    path.write_bytes("".join(text + "\n" for text in lines).encode("utf-8", "surrogateescape"))
    if followed:
        segment(source, f"0/{len(lines)}.jsonl", line(len(lines)))
    expected = window(0, len(lines))
    assert len(decoded(source, expected)) < expected.records
    problems = open_source(source).explain(expected)
    assert problems and {p.code for p in problems} <= {"SMT503", "SMT504", "SMT505"}
    assert problems[0].place.startswith("orders/0/0.jsonl line ") and SECRET not in str(problems)


def test_surplus_lines_before_the_next_segment(source):
    segment(source, "0/0.jsonl", *(line(n) for n in range(3)))
    segment(source, "0/2.jsonl", line(2))
    assert len(decoded(source, window(0, 2))) < 2
    assert [p.code for p in open_source(source).explain(window(0, 2))] == ["SMT505"]


def test_the_run_is_told_when_only_executors_do_not_see_the_files(source):
    segment(source, "0/0.jsonl", line(0))
    assert [p.code for p in open_source(source).explain(window(0, 1))] == ["SMT544"]


@pytest.fixture
def large(source):
    value = "x" * 900
    with segment(source, "0/0.jsonl").open("w") as file:
        file.writelines(line(n, value=value) + "\n" for n in range(60_000))
    return source


def test_a_window_in_a_large_segment_reads_its_part_only(large):
    opened = open_source(large)
    chunks, _ = opened._chunks(window(30_000, 31_000), lambda: None)
    assert sum(c.last - c.first for c in chunks) < 1_100_000
    assert [row["offset"] for row in decoded(large, window(30_000, 31_000))] == list(range(30_000, 31_000))
    chunks, _ = opened._chunks(window(0, 60_000), lambda: None)
    assert len(chunks) > 10 and [c.start for c in chunks[1:]] == [c.end for c in chunks[:-1]]
    assert [c.first for c in chunks[1:]] == [c.last for c in chunks[:-1]]
    assert len(decoded(large, window(0, 60_000))) == 60_000


def test_lines_are_counted_once_and_found_again(large):
    beats = []
    result = segments.parse_name(large.root / "orders/0/0.jsonl", "orders", 0)
    first = positions.lines_of(result, lambda: beats.append(1))
    assert positions.lines_of(result, lambda: beats.append(1)) is first
    assert len(beats) > 50
    data = result.path.read_bytes()
    for number in (0, 1, 999, 1_000, 31_234, 59_999):
        assert data[first.position(number) :].startswith(line(number)[:40].encode())
    assert first.position(60_000) == len(data)
    os.utime(result.path, ns=(1, 1))
    assert positions.lines_of(result) is not first


def test_each_topic_is_listed_once(source, monkeypatch):
    for partition in range(20):
        append_records(source, "orders", [NewRecord(b"", b"")], partition)
    listed = []
    real = file_topics.list_segments
    monkeypatch.setattr(file_topics, "list_segments", lambda *a: listed.append(a) or real(*a))
    opened = open_source(source)
    chunks, _ = opened._chunks(Window(tuple(opened.ranges(["orders"]))), lambda: None)
    assert (len(chunks), len(listed)) == (20, 1)
    append_records(source, "orders", [NewRecord(b"", b"")])
    assert opened._chunks(window(0, 2), lambda: None)[1] == []
    assert len(listed) == 2


def test_many_segments_take_no_long_time(source):
    for partition in range(200):
        folder = source.root / "orders" / str(partition)
        folder.mkdir(parents=True)
        for base in range(50):
            (folder / f"{base}.jsonl").write_text(line(base, partition=partition) + "\n")
    opened, calls = open_source(source), [0]

    def count(frame, event, argument):
        calls[0] += 1

    sys.setprofile(count)
    try:
        chunks, problems = opened._chunks(Window(tuple(opened.ranges(["orders"]))), lambda: None)
    finally:
        sys.setprofile(None)
    assert (len(chunks), problems) == (10_000, [])
    assert calls[0] < 300 * len(chunks)  # calls and returns: no segment is looked at for the sake of another


def test_what_a_killed_writer_left_is_removed(source):
    append_records(source, "orders", [NewRecord(b"", b"")])
    append_records(source, "orders", [NewRecord(b"", b"")], 3)
    left = [source.root / "orders" / p / ".4711.tmp" for p in ("0", "3")]
    for path in left:
        path.write_text(SECRET)
    append_records(source, "orders", [NewRecord(b"", b"")])
    assert not any(path.exists() for path in left)


def test_waiting_says_so_and_can_be_stopped(source):
    class Stop(Exception):
        pass

    heard = []

    def say(text):
        heard.append(text)
        if len(heard) == 3:
            raise Stop

    with writing(source, "orders"), pytest.raises(Stop):
        append_records(source, "orders", [NewRecord(b"", b"")], say=say)
    assert heard == [f"waiting for {source.root}/orders/.lock, which process {os.getpid()} holds", "", ""]


ERRORS = {
    errno.EACCES: ("SMT550", "permission denied"),
    errno.ENOSPC: ("SMT551", "the disk is full"),
    errno.EROFS: ("SMT552", "the file system is read-only"),
    errno.EIO: ("SMT553", "input/output error"),
}


@pytest.mark.parametrize(("number", "expected"), ERRORS.items(), ids=map(errno.errorcode.get, ERRORS))
def test_what_the_file_system_refuses_has_a_code(source, monkeypatch, number, expected):
    append_records(source, "orders", [NewRecord(b"", b"")])
    before = files(source)

    def refuse(path):
        raise OSError(number, os.strerror(number), str(path))

    monkeypatch.setattr(local, "sync", refuse)
    with pytest.raises(TableError) as caught:
        append_records(source, "orders", [NewRecord(b"", b"")])
    problem = caught.value.problems[0]
    assert (problem.code, problem.statement) == expected
    assert problem.place.startswith(str(source.root)) and problem.hint
    assert files(source) == before


def parquet_segment(path, **changes):
    stamps = pa.array([datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone.utc)] * 2, pa.timestamp("us", "UTC"))
    columns = {"key": pa.array([b"k", None]), "value": pa.array([b"\xff", b"v"]), "topic": pa.array(["orders"] * 2),
               "partition": pa.array([0, 0], pa.int32()), "offset": pa.array([0, 1]), "timestamp": stamps}  # fmt: skip
    columns |= changes
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({n: c for n, c in columns.items() if c is not None}), path)


def header_column(key, value):
    rows = [[{"key": "h", "value": b"v"}, {"key": "n", "value": None}], None]
    return pa.array(rows, pa.list_(pa.struct([("key", key), ("value", value)])))


MOMENT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone.utc)
HEADERS = [{"key": "h", "value": b"v"}, {"key": "n", "value": None}]
ACCEPTED = {
    "seconds": {"timestamp": pa.array([MOMENT] * 2, pa.timestamp("s", "UTC"))},
    "milliseconds": {"timestamp": pa.array([MOMENT] * 2, pa.timestamp("ms", "UTC"))},
    "microseconds": {},
    "nanoseconds": {"timestamp": pa.array([MOMENT] * 2, pa.timestamp("ns", "UTC"))},
    "no zone": {"timestamp": pa.array([MOMENT.replace(tzinfo=None)] * 2, pa.timestamp("ns"))},
    "another zone": {"timestamp": pa.array([MOMENT] * 2, pa.timestamp("ms", "Asia/Tokyo"))},
    "headers": {"headers": header_column(pa.string(), pa.binary())},
    "headers as text": {"headers": header_column(pa.large_string(), pa.large_string())},
    "dictionaries": {
        "key": pa.array(["k", None]).dictionary_encode()
        , "topic": pa.array(["orders"] * 2).dictionary_encode()},
    "narrow numbers": {"partition": pa.array([0, 0], pa.int8()), "timestampType": pa.array([0, None], pa.int64())},
    "no headers at all": {"headers": pa.nulls(2)},
}  # fmt: skip


@pytest.mark.parametrize("changes", ACCEPTED.values(), ids=ACCEPTED)
def test_parquet_segments_of_other_writers(source, changes):
    parquet_segment(source.root / "orders/0/0.parquet", **changes)
    one, two = decoded(source, window(0, 2))
    assert (one["key"], one["value"], two["key"], two["value"]) == (b"k", b"\xff", None, b"v")
    assert one["timestamp"] == MOMENT and (one["timestampType"], two["timestampType"]) == (0, 0)
    has_headers = isinstance(changes.get("headers"), pa.ListArray)
    assert (one["headers"], two["headers"]) == (HEADERS if has_headers else [], [])


NOT_ACCEPTED = {
    "timestamp": {"timestamp": pa.array([1, 2])},
    "headers": {"headers": pa.array([["h"], None])},
    "key, partition": {"key": pa.array([1, 2]), "partition": pa.array(["0", "0"])},
    "value": {"value": None},
}


@pytest.mark.parametrize(("names", "changes"), NOT_ACCEPTED.items(), ids=NOT_ACCEPTED)
def test_parquet_segments_that_have_other_columns(source, names, changes):
    parquet_segment(source.root / "orders/0/0.parquet", **changes)
    with pytest.raises(TableError) as caught:
        open_source(source).read(window(0, 2))
    message = f"SMT503 orders/0/0.parquet: columns missing or of another type: {names}"
    assert str(caught.value).splitlines()[0] == message


WRONG_ROWS = {
    "SMT505": {"offset": pa.array([0, 2])},
    "SMT504": {"topic": pa.array(["orders", "other"])},
    "SMT503": {"offset": pa.array([0, None], pa.int64())},
    "SMT503 ": {"partition": pa.array([0, 2**40])},
}


@pytest.mark.parametrize(("code", "changes"), WRONG_ROWS.items(), ids=WRONG_ROWS)
def test_wrong_rows_of_parquet_segments(source, code, changes):
    parquet_segment(source.root / "orders/0/0.parquet", **changes)
    assert len(decoded(source, window(0, 2))) < 2
    assert code.strip() in [p.code for p in open_source(source).explain(window(0, 2))]


def test_parquet_timestamps_that_spark_cannot_hold(source):
    stamps = pa.array([2**62, -(2**62)], pa.int64()).cast(pa.timestamp("ms"))
    parquet_segment(source.root / "orders/0/0.parquet", timestamp=stamps)
    rows = decoded(source, window(0, 2))
    assert [(r["timestamp"], r["timestampType"]) for r in rows] == [(None, UNREADABLE_TIMESTAMP)] * 2


def test_a_topic_without_an_identity_of_its_own(source):
    (source.root / "empty").mkdir()
    path = segment(source, "3/7.jsonl", line(7, partition=3))
    stat = path.stat()
    result = open_source(source).identities(["empty", "orders"])
    assert result == {"empty": "", "orders": f"7-{stat.st_size}-{stat.st_mtime_ns}"}
    append_records(source, "orders", [NewRecord(b"", b"")], 3)
    assert open_source(source).identities(["orders"])["orders"] == result["orders"]


def test_an_empty_partition(spark, source):
    (source.root / "orders" / "4").mkdir(parents=True)
    opened = open_source(source, spark)
    assert opened.ranges(["orders"]) == [Range("orders", 4, 0, 0)]
    assert opened.offsets_at(["orders"], 0) == {("orders", 4): 0}


def test_tagged_bytes_and_text_that_looks_like_them(source):
    tagged = {"base64": base64.b64encode(b"\xff\x00").decode()}
    segment(source, "0/0.jsonl", line(0, value=tagged), line(1, value=json.dumps(tagged)), " " + line(2) + " \r")
    rows = decoded(source, window(0, 3))
    assert [row["value"] for row in rows] == [b"\xff\x00", json.dumps(tagged).encode(), SECRET.encode()]
