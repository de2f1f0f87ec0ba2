"""What every source does, whatever it reads from. A new source is one more line in ``kinds.KINDS``."""

import pytest

from dagster_smt.errors import TableError
from dagster_smt.model.windows.window import Range, Window
from dagster_smt.tables.sources import KAFKA_COLUMNS
from dagster_smt.tables.sources.file_writer import NewRecord
from tests.quick import quick
from tests.tables.sources.kinds import KINDS
from tests.tables.sources.topics import assert_same

TRICKY = [
    NewRecord(b"k", b'{"a":1}', (("h", b"v"), ("h", b"w"), ("none", None), ("bytes", b"\xfe\xff")), 1700000000123, 1),
    NewRecord(None, None, (), 0),
    NewRecord(b"", b"", (("", b""),), -1),
    NewRecord(b"\xff\x00\x80", b"\xc3\x28", (), 5, -1),
    NewRecord(b"5", b'{"base64":"eA=="}', (), 6),
    NewRecord(b"a\x00b\r\n", '"quoted" \\ \u2028 \u0085 ü 😀'.encode(), (), 7),
    NewRecord(b"null", b"true", (), 8),
    NewRecord(b"x" * 100_000, b"\xff" * 100_000, (), 9),
]


@pytest.fixture(params=list(KINDS))
def kind(request, spark, tmp_path):
    if request.param != "kafka":
        return KINDS[request.param](spark, tmp_path)
    result = KINDS["kafka"](spark, tmp_path, request.getfixturevalue("broker").servers)
    result.world.remove()
    return result


def at(*times):
    return [NewRecord(b"", b"", (), time) for time in times]


def placed(topic, partition, records):
    return [(topic, partition, record) for record in records]


def test_lists_topics_and_their_ranges(kind):
    kind.add([*placed("b", 1, at(1, 2)), *placed("a", 0, at(1)), *placed("a", 10, at(1, 2, 3))])
    kind.add(placed("a", 0, at(4)))
    source = kind.open()
    assert source.topics() == ["a", "b"]
    filled = [r for r in source.ranges(["a", "b"]) if r.records]  # Kafka has the partitions before, too
    assert filled == [Range("a", 0, 0, 2), Range("a", 10, 0, 3), Range("b", 1, 0, 2)]
    assert [r for r in source.ranges(["b"]) if r.records] == [Range("b", 1, 0, 2)]
    assert source.ranges([]) == []


def test_a_missing_topic_is_named(kind):
    kind.add(placed("orders", 0, at(1)))
    source = kind.open()
    for use in (source.ranges, source.identities, lambda topics: source.offsets_at(topics, 0)):
        with pytest.raises(TableError, match="SMT501 zzz: "):
            use(["orders", "zzz"])
    with pytest.raises(TableError, match="SMT501 order: ") as error:
        source.ranges(["order"])
    assert "orders" in error.value.problems[0].hint


def test_reads_byte_for_byte(kind):
    tricky = kind.possible(TRICKY)
    kind.add(placed("orders", 0, tricky[:3]))
    kind.add(placed("orders", 0, tricky[3:]))
    window = Window((Range("orders", 0, 0, 8),))
    frame = kind.open().read(window)
    assert tuple(frame.columns) == KAFKA_COLUMNS
    rows = frame.orderBy("offset").collect()
    assert_same(rows, tricky)
    assert kind.open().verify(window, {"orders": 8}) == []
    assert bool(kind.open().verify(window, {"orders": 7})) is kind.counts


def test_reads_exactly_a_window(kind):
    for _ in range(3):
        kind.add([*placed("a", 0, at(*range(4))), *placed("a", 1, at(*range(4))), *placed("b", 0, at(1, 2))])
    ranges = (Range("a", 0, 3, 9), Range("a", 1, 11, 12), Range("b", 0, 0, 1))
    rows = kind.open().read(Window(ranges)).collect()
    expected = [(r.topic, r.partition, offset) for r in ranges for offset in range(r.start, r.end)]
    assert sorted((r.topic, r.partition, r.offset) for r in rows) == expected
    assert kind.open().read(Window()).collect() == []


def test_counts_what_is_not_read(kind):
    kind.add([*placed("a", 0, at(*range(5))), *placed("a", 1, at(1)), *placed("b", 0, at(1, 2))])
    window = Window((Range("a", 0, 1, 4), Range("a", 1, 0, 1), Range("b", 0, 0, 1)))
    source = kind.open()
    assert source.count(window) == (None if source.knows_times else {"a": 4, "b": 1})


TIMES = (50, 10, 30, 30, 20, 40, 90)
OFFSETS_AT = {-5: 0, 10: 0, 50: 0, 51: 6, 90: 6, 91: 7}


@pytest.mark.parametrize("kind", quick(KINDS, "lines", "kafka"), indirect=True)
def test_offsets_at_of_unordered_timestamps(kind):
    kind.add(placed("orders", 0, at(*TIMES[:3])))
    kind.add([*placed("orders", 0, at(*TIMES[3:])), *placed("orders", 1, at(30, 30, 60))])
    answers = {}
    for millis, offset in OFFSETS_AT.items():
        result = answers[millis] = kind.open().offsets_at(["orders"], millis)
        other = next((n for n, time in enumerate((30, 30, 60)) if time >= millis), 3)
        assert result == {("orders", 0): offset, ("orders", 1): other}, millis
    moments = [90, *OFFSETS_AT, 10]  # in any order, and one twice
    result = kind.open().offsets_at_each(["orders"], moments)
    assert result == [answers[millis] for millis in moments]


@pytest.mark.parametrize("kind", quick(KINDS, "lines", "parquet segments"), indirect=True)
def test_three_hundred_partitions(kind):
    kind.add([(f"t{n % 30}", n // 30, record) for n in range(300) for record in at(*range(n % 100 + 1))])
    source = kind.open()
    ranges = source.ranges(source.topics())
    assert len(ranges) == 300
    uneven = Window(tuple(Range(r.topic, r.partition, r.end - 1, r.end) for r in ranges))
    assert source.read(uneven).count() == 300


def test_identity_changes_when_made_anew(kind):
    kind.add(placed("a", 0, at(1, 2)))
    before = kind.open().identities(["a"])
    kind.add(placed("a", 0, at(3)))
    assert kind.open().identities(["a"]) == before
    kind.remove()
    kind.add(placed("a", 0, at(1, 2)))
    after = kind.open().identities(["a"])
    assert (before != after) is kind.keeps_identity
    assert all(after.values()) is kind.keeps_identity


def test_a_beat_can_stop_the_reading(kind):
    class Stop(Exception):
        pass

    def beat():
        raise Stop

    kind.add(placed("a", 0, at(1)))
    with pytest.raises(Stop):
        kind.open().read(Window((Range("a", 0, 0, 1),)), beat)
