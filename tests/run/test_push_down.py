"""Runs that leave records unread: the same rows, counts and progress as without, from fewer records read."""

import uuid
from dataclasses import replace

import pytest
from confluent_kafka import Producer
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dagster_smt.errors import RecordsRejected
from dagster_smt.model.reports.run_report import RunReport
from dagster_smt.model.topics.columns import PUSH_DOWN
from dagster_smt.model.topics.format import Format
from dagster_smt.model.windows.window import Range, Window
from dagster_smt.run.batch import run
from dagster_smt.run.micro_batch import MicroBatches, run_batches
from dagster_smt.run.report_json import report_from_json, report_to_json
from dagster_smt.run.run_spec import RunSpec
from dagster_smt.tables.kafka.spec import KafkaTopics
from dagster_smt.tables.sink_options import IcebergSink
from dagster_smt.tables.sinks import open_table
from dagster_smt.tables.sources.file_topics import FileTopicsSource
from dagster_smt.tables.sources.file_writer import NewRecord, append_records
from dagster_smt.tables.sources.kafka import KafkaReader
from dagster_smt.tables.topic_table import FileTopics, TableSource, TopicTable
from dagster_smt.tables.window_request import WindowRequest
from tests.kafka import Topics
from tests.run.test_envelopes import INT, TEXT, envelope, struct
from tests.tables.test_push_down import (
    ALL,
    CHANGED,
    COLUMNS,
    MASK,
    OFFSET,
    TOMBSTONES,
    WITHOUT_SCHEMA,
    aiven,
    chain_of,
    drop,
    filters,
    guarded,
    if_,
    keep,
)

TIMES = [50, 10, 20, 90, 30, 70, 40, 80, 60, 100]
"""Of the records of each partition: not in order."""


class World:
    """Topics below a folder, and tables with and without push-down."""

    def __init__(self, session, folder):
        self.session, self.topics, self.folder = session, FileTopics(folder / "topics"), folder
        self.asked: list[Window] = []
        self.number = 0

    def add(self, records, topic="orders", partition=0):
        append_records(self.topics, topic, records, partition)

    def spec(self, *stages, push_down="no-tombstones", columns=COLUMNS, kind="records", to="", **changes):
        more = {n: changes.pop(n) for n in ("value", "source", "pattern") if n in changes}
        source, pattern = more.pop("source", self.topics), more.pop("pattern", "orders|other")
        table = TopicTable(source, (), pattern, columns=columns, push_down=push_down, **more)
        self.number += not to
        sink = IcebergSink(self.folder / (to or f"table{self.number}"), kind)
        return RunSpec("orders", chain_of(*stages), table, sink, **changes)

    def run(self, spec):
        return run(spec, self.session)

    def rows(self, spec):
        table = open_table(self.session, spec.sink, spec.table.source)
        return sorted(map(repr, table.read().collect())) if table.schema() is not None else []

    def state(self, spec):
        return open_table(self.session, spec.sink, spec.table.source).state()


def record(number, value=b'{"id":%d,"name":"n%d"}', millis=None):
    text = value % (number, number) if value and b"%" in value else value
    return NewRecord(b"k", text, (("trace", b"x"),) if number % 2 else (), TIMES[number] if millis is None else millis)


def fill(world):
    """Ten records in each of four partitions of two topics."""
    for topic, partition in (("orders", 0), ("orders", 1), ("orders", 3), ("other", 0)):
        world.add([record(n) for n in range(10)], topic, partition)


@pytest.fixture
def world(spark, tmp_path, monkeypatch):
    return listening(World(spark, tmp_path), monkeypatch)


def listening(world, monkeypatch):
    """A world that knows which windows its runs read; its source knows times, as brokers do."""
    read = FileTopicsSource.read

    def heard(self, window, *more):
        world.asked.append(window)
        return read(self, window, *more)

    monkeypatch.setattr(FileTopicsSource, "read", heard)
    monkeypatch.setattr(FileTopicsSource, "knows_times", True)
    return world


def counts_in(report: RunReport):
    """What a report says, but for what the stages have changed in records that were read."""
    topics = {t: (c.records, c.converters, c.dropped, c.failed) for t, c in report.topics.items()}
    return report.window, report.stages, topics, report.records_in, report.records_out, report.dropped, report.failed


def both(world, *stages, push_down="no-tombstones", **options):
    """Run without push-down and with it: what was read then, and the report. All else is the same."""
    without, with_ = (world.spec(*stages, push_down=word, **options) for word in ("off", push_down))
    expected = world.run(without)
    if expected.failed:  # what is not read cannot fail
        return None, expected
    world.asked.clear()
    report = world.run(with_)
    assert counts_in(report) == counts_in(expected) and not expected.unread
    assert world.rows(with_) == world.rows(without)
    assert world.state(with_).held == world.state(without).held
    (asked,) = world.asked
    assert asked.records + sum(u.records for u in report.unread) == report.window.records
    assert report_from_json(report_to_json(report)).unread == report.unread
    return asked, report


CHAINS = [
    ("at least", (keep("$[?(@.offset >= 4)]"), MASK), 24),
    ("less than", (keep("$[?(@.offset < 4)]"),), 16),
    ("one", (keep("$[?(@.offset == 4)]"),), 4),
    ("a range and more", (keep("$[?(@.offset >= 2 && @.offset < 6 && @.id != 3)]"),), 16),
    ("what is dropped", (drop("$[?(@.offset < 4 || @.offset >= 9)]"),), 20),
    ("by partition", (keep("$[?((@.partition == 1 && @.offset < 5) || (@.topic == 'other'))]"),), 15),
    ("none", (keep("$[?(@.offset > 10)]"), MASK), 0),
    ("as an INT", (keep("$[?(@.position > 4)]"),), 20),
    ("as a text", (keep("$[?(@.place > '4')]"),), 40),
    ("topics", (if_(ALL, "orders"), MASK), 10),
    ("a guard", (if_(OFFSET, "!orders"), if_(keep("$[?(@.offset >= 7)]"), "orders")), 9),
    ("a guard that only the record knows", (if_(keep("$[?(@.offset >= 7)]"), "traced"),), 40),
    ("Aiven's", (aiven(name="topic", value="other"), aiven(name="partition", value_pattern="[01]")), 10),
    ("Aiven's predicate", (if_(ALL, "!third"), keep("$[?(@.offset >= 7)]")), 3),
    ("one after the other", (keep("$[?(@.offset >= 2)]"), drop("$[?(@.offset >= 8)]"), keep("$[?(@.id < 4)]")), 24),
    ("times from", (keep("$[?(@.at >= 70)]"),), 28),
    ("times until", (keep("$[?(@.at < 50)]"),), 40),
    ("a range of times", (keep("$[?(@.at >= 70 && @.at < 95)]"),), 28),
    ("not older", (drop("$[?(@.at < 70)]"),), 40),
    ("behind a change", (CHANGED, keep("$[?(@.offset >= 4)]")), 40),
]


QUICK = (
    *("at least", "what is dropped", "by partition", "as a text", "topics", "a guard that only the record knows"),
    *("Aiven's", "one after the other", "times from", "a range of times", "behind a change"),
)
"""Chains of each kind: CI plays these, the others are long; of all of them the plan is tested without Spark."""


def chains():
    return [pytest.param(*c[1:], id=c[0], marks=[] if c[0] in QUICK else [pytest.mark.long]) for c in CHAINS]


@pytest.mark.parametrize(("stages", "read"), chains())
def test_results_and_counts_are_the_same(world, stages, read):
    fill(world)
    asked, _ = both(world, *stages)
    assert asked.records == read


@pytest.mark.parametrize("form", ["columns", pytest.param("schemaless", marks=pytest.mark.long)])
def test_so_they_are_in_other_forms(world, form):
    fill(world)
    options = {"kind": "columns"} if form == "columns" else {"columns": WITHOUT_SCHEMA}
    stages = (keep("$[?(@.offset >= 4 && @.at >= 70)]"), aiven(name="topic", value="orders"), MASK)
    asked, result = both(world, *stages, **options)
    unread = {(u.topic, u.alias): u.records for u in result.unread}
    # the first of 70 or more is at 3; of those behind it nobody knows whether the first stage keeps them
    assert asked.records == 24 and unread == {("orders", "s0"): 12, ("other", "s0"): 4}


@settings(max_examples=2, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(stages=st.lists(st.one_of(filters, guarded), min_size=1, max_size=3), push_down=st.sampled_from(PUSH_DOWN[1:]))
def test_results_and_counts_of_any_filters_are_the_same(spark, tmp_path_factory, monkeypatch, stages, push_down):
    with monkeypatch.context() as patch:
        world = listening(World(spark, tmp_path_factory.mktemp("push_down")), patch)
        fill(world)
        both(world, *stages, push_down=push_down, errors_tolerance="all")


def test_tombstones_are_read_where_they_pass(world):
    world.add([record(n, None if n in (1, 7) else b'{"id":%d,"name":"n%d"}') for n in range(10)])
    tail = keep("$[?(@.offset >= 5)]")
    assert both(world, tail, push_down="exact")[0].records == 10
    assert both(world, TOMBSTONES, tail, push_down="exact")[0].records == 10  # which of the two drops 1?
    assert both(world, if_(ALL, "!third"), push_down="exact")[0].records == 0
    report = world.run(world.spec(TOMBSTONES, tail))
    assert (report.records_out, report.dropped, [s.dropped for s in report.stages[1:3]]) == (4, 6, [1, 5])
    assert world.run(world.spec(tail)).records_out == 5  # 1 was promised not to be there


def test_a_record_that_is_not_read_cannot_fail(world):
    """The one difference: so it has to be asked for."""
    world.add([record(n, b"no JSON" if n in (1, 7) else b'{"id":%d,"name":"n%d"}') for n in range(10)])
    tail, options = keep("$[?(@.offset >= 5)]"), {"errors_tolerance": "all", "dead_letter_topic": "dead"}
    off = world.run(world.spec(tail, push_down="off", **options))
    assert (off.failed, off.dropped, off.records_out) == (2, 4, 4)
    on = world.run(world.spec(tail, **options))
    assert (on.failed, on.dropped, on.records_out) == (1, 5, 4)
    assert [(r.offset, r.stage) for r in on.rejects] == [(7, "value.converter")]
    with pytest.raises(RecordsRejected, match=r"1 of 10 records failed; nothing was committed"):
        world.run(world.spec(tail, pattern="orders"))


def test_a_topic_that_fails_takes_what_was_not_read_of_it_along(world):
    fill(world)
    world.add([record(0, b"no JSON")])
    report = world.run(world.spec(keep("$[?(@.offset >= 4)]")))
    assert set(report.failures) == {"orders"} and {u.topic for u in report.unread} == {"other"} == set(report.topics)
    assert (report.records_in, report.dropped, report.records_out) == (10, 4, 6)


def test_progress_goes_on_behind_what_was_not_read(world):
    world.add([record(n) for n in range(6)])
    spec = world.spec(keep("$[?(@.offset >= 8)]"), to="table")
    first = world.run(spec)
    assert (first.status, first.records_in, first.dropped, first.records_out) == ("committed", 6, 6, 0)
    assert (first.window, world.asked.pop()) == (Window((Range("orders", 0, 0, 6),)), Window())
    assert world.run(spec).status == "empty"
    world.add([record(n) for n in range(6)])
    second = world.run(spec)
    assert (second.window, world.asked.pop()) == tuple(Window((Range("orders", 0, n, 12),)) for n in (6, 8))
    assert (second.records_in, second.dropped, second.records_out) == (6, 2, 4)
    assert world.state(spec).rows == {"orders": 4} and world.state(spec).ends() == {"orders": {"0": 12}}
    again = world.run(replace(spec, window=WindowRequest(explicit=Window((Range("orders", 0, 7, 10),)))))
    assert (again.records_in, again.dropped, again.records_out) == (3, 1, 2)
    assert world.asked.pop() == Window((Range("orders", 0, 8, 10),))
    wider = world.spec(keep("$[?(@.offset >= 3)]"), to="table")
    part = world.run(replace(wider, window=WindowRequest(explicit=Window((Range("orders", 0, 0, 9),)))))
    assert (part.records_in, part.records_out) == (9, 6) and world.state(spec).rows == {"orders": 9}
    whole = world.run(replace(spec, rebuild=True))
    assert (whole.records_in, whole.dropped, whole.records_out) == (12, 8, 4) and len(world.rows(spec)) == 4


def test_a_backlog_in_batches(world):
    world.add([record(n) for n in range(10)])
    stages = (keep("$[?(@.offset >= 4)]"), MASK)
    reports = [
        run_batches(world.spec(*stages, push_down=word, to=word), world.session, MicroBatches(3))
        for word in ("off", "no-tombstones")
    ]
    assert list(map(counts_in, reports[0])) == list(map(counts_in, reports[1]))
    assert [w.records for w in world.asked[4:]] == [0, 2, 3, 1]


def test_failed_records_run_again_may_be_left_unread(world):
    world.add([record(n, b"no JSON" if n in (1, 7) else b'{"id":%d,"name":"n%d"}') for n in range(10)])
    options = {"errors_tolerance": "all", "dead_letter_topic": "dead", "to": "table"}
    assert world.run(world.spec(push_down="off", **options)).failed == 2
    spec = world.spec(keep("$[?(@.offset >= 5)]"), window=WindowRequest(redrive=True), **options)
    again = world.run(spec)
    assert (again.records_in, again.dropped, again.failed) == (2, 1, 1)
    assert world.state(spec).failed.to_json() == {"orders": {"0": [[7, 8]]}}


@pytest.mark.long
def test_a_table_that_lacks_offsets_is_counted(world):
    fill(world)
    bronze = str(world.folder / "bronze")
    whole = FileTopicsSource(world.topics, world.session)
    window = Window(tuple(whole.ranges(["orders", "other"])))
    whole.read(window).where("offset % 3 != 1").write.format("delta").save(bronze)
    source = TableSource(path=bronze)
    without, with_ = (world.spec(OFF4, MASK, source=source, push_down=word) for word in ("off", "no-tombstones"))
    expected, report = world.run(without), world.run(with_)
    assert counts_in(report) == counts_in(expected) and world.rows(with_) == world.rows(without)
    assert {u.topic: (u.records, u.counted) for u in report.unread} == {"orders": (9, True), "other": (3, True)}


OFF4 = keep("$[?(@.offset >= 4)]")


def test_where_records_tell_the_columns_all_are_read(world):
    one, two = struct(id=INT, name=TEXT), struct(id=INT, note=TEXT)
    values = [envelope(one, {"id": 1, "name": "x"}), envelope(two, {"id": 2, "note": "n"})]
    world.add(values)
    columns = "position BIGINT METADATA FROM 'offset'"
    spec = world.spec(keep("$[?(@.position >= 1)]"), columns=columns, kind="columns", value=Format("envelope"))
    assert world.run(spec).unread == () and world.asked[0].records == 2
    names = [f.name for f in open_table(world.session, spec.sink, spec.table.source).schema()]
    assert {"name", "note"} <= set(names)


# --- a real broker ---


class KafkaWorld(World):
    """The same with topics of a broker."""

    def __init__(self, session, folder, servers):
        super().__init__(session, folder)
        self.topics, self.id = KafkaTopics(servers), uuid.uuid4().hex[:8]
        self.there = Topics(self.topics)

    def add(self, records, topic="orders", partition=0):
        self.there.add([(f"{topic}-{self.id}", partition, r) for r in records])

    def spec(self, *stages, **options):
        return super().spec(*stages, **{"pattern": f"(orders|other)-{self.id}", **options})


@pytest.fixture
def kafka(spark, tmp_path, broker, monkeypatch):
    world, read = KafkaWorld(spark, tmp_path, broker.servers), KafkaReader.read

    def heard(self, window, *more):
        world.asked.append(window)
        return read(self, window, *more)

    monkeypatch.setattr(KafkaReader, "read", heard)
    return world


BROKER_CHAINS = [
    (keep("$[?(@.offset >= 4 && @.offset < 7)]"), 12),
    (keep("$[?(@.at > 70 && @.partition == 3)]"), 7),
    (if_(ALL, "!third"), 10),
]
MORE_BROKER_CHAINS = [
    (keep("$[?(@.at >= 70)]"), 28),
    (keep("$[?(@.at > 100)]"), 0),
    (keep("$[?(@.at < 50)]"), 40),
    (keep("$[?(@.at >= -1)]"), 40),
]


@pytest.mark.parametrize(
    "chains", [BROKER_CHAINS, pytest.param(MORE_BROKER_CHAINS, marks=pytest.mark.long)], ids=["some", "more"]
)
def test_topics_of_a_broker(kafka, chains):
    fill(kafka)
    for stage, read in chains:
        asked, result = both(kafka, stage, MASK)
        assert asked.records == read and not any(u.counted for u in result.unread)


def test_where_offsets_have_no_record_offsets_are_counted(kafka):
    """A transaction's mark is an offset, too: unread, it cannot be told from a record."""
    orders = f"orders-{kafka.id}"
    kafka.there.make(orders)
    producer = Producer({"bootstrap.servers": kafka.topics.servers, "transactional.id": f"tx-{kafka.id}"})
    producer.init_transactions(30)
    for number in range(4):
        producer.begin_transaction()
        producer.produce(orders, record(number).value, partition=0, timestamp=number + 1)
        producer.commit_transaction(30)
    stage = keep("$[?(@.offset >= 4)]")
    off, on = (kafka.run(kafka.spec(stage, push_down=word)) for word in ("off", "no-tombstones"))
    assert (off.records_in, off.dropped, off.records_out) == (4, 2, 2)
    assert (on.records_in, on.dropped, on.records_out) == (6, 4, 2)
    assert [(u.records, u.counted) for u in on.unread] == [(4, False)]


def test_the_report_of_a_topic_and_of_batches_say_it():
    from dagster_smt.model.reports.run_report import StageCounts, TopicCounts, Unread, joined

    ranges = tuple(Range("a", n, 0, 10) for n in range(7))
    one, other = Unread("a", 0, "new", 70, ranges), Unread("b", 0, "new", 10, (Range("b", 0, 5, 15),), False)
    assert one.text == (
        "70 records of a were not read, as stage 'new' drops them: a-0 [0, 10), a-1 [0, 10), a-2 [0, 10), "
        "a-3 [0, 10), a-4 [0, 10) and 2 more"
    )
    assert other.text == "10 offsets of b were not read, as stage 'new' drops them: b-0 [5, 15)"
    topics = {"a": TopicCounts(70, 0, (70,), (0,)), "b": TopicCounts(10, 0, (10,), (0,))}
    report = RunReport("x", Window(), stages=[StageCounts("new", "Filter", 80, 80)], topics=topics, unread=(one, other))
    assert report.of_topic("b").unread == (other,)
    assert joined([report, report]).unread == (one, other) * 2
