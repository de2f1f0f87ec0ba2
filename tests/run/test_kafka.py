"""Runs from and to topics of a real broker, with what goes wrong there."""

import threading
import time
import uuid
from dataclasses import replace
from datetime import UTC

import pyarrow as pa
import pytest
from confluent_kafka import Producer, TopicPartition

from dagster_smt.chain import parse_chain
from dagster_smt.errors import EngineError, RecordsRejected, SmtError, TableError, UnsupportedError
from dagster_smt.model.topics.format import Format
from dagster_smt.model.windows.window import Range, Window
from dagster_smt.run.batch import run
from dagster_smt.run.micro_batch import MicroBatches, run_batches
from dagster_smt.run.run_spec import RunSpec
from dagster_smt.tables.kafka.spec import KafkaTopics, NewTopics
from dagster_smt.tables.sink_options import DeltaSink, KafkaSink
from dagster_smt.tables.sinks import open_table
from dagster_smt.tables.sources.file_writer import NewRecord
from dagster_smt.tables.sources.kafka import KafkaReader
from dagster_smt.tables.topic_table import TopicTable
from dagster_smt.tables.window_request import WindowRequest
from tests.kafka import Topics
from tests.run.world import COLUMNS, MASK, ROUTE, SECRET, order


class World:
    """A table below a folder, and topics with names of their own on the broker."""

    def __init__(self, folder, session, servers):
        self.folder, self.session = folder, session
        self.topics = KafkaTopics(servers, create=NewTopics())
        self.there = Topics(self.topics)
        self.id = uuid.uuid4().hex[:8]
        self.orders = self.name("orders")
        self.lines: list[str] = []

    def name(self, topic):
        return f"{topic}-{self.id}"

    def add(self, *records, topic="", partition=0, **config):
        self.there.add([(topic or self.orders, partition, r) for r in records], **config)

    def spec(self, chain=MASK, kind="records", topics=(), pattern="", value=None, sink=None, source=None, **changes):
        own = {n: changes.pop(n) for n in ("start", "on_data_loss", "group") if n in changes}
        names = () if pattern else topics or (self.orders,)
        table = TopicTable(source or self.topics, names, pattern, value=value or Format(), **own)
        result = RunSpec("lake/orders", parse_chain(chain), table, sink or DeltaSink(self.folder / "table", kind))
        return replace(result, **changes)

    def to_kafka(self, **changes):
        return self.spec(ROUTE, sink=KafkaSink(self.topics, f"group-{self.id}"), **changes)

    def run(self, spec=None, **changes):
        return run(spec or self.spec(**changes), self.session, self.lines.append)

    def rows(self):
        return self.session.read.format("delta").load(str(self.folder / "table")).orderBy("partition", "offset")

    def offsets(self):
        return [(r.partition, r.offset) for r in self.rows().collect()]

    def state(self, spec=None):
        spec = spec or self.spec()
        return open_table(self.session, spec.sink, spec.table.source).state()

    def lose(self, topic, before, partition=0):
        """Retention: what lies before an offset goes."""
        place = TopicPartition(topic, partition, before)
        (done,) = self.there.client.admin().delete_records([place]).values()
        done.result()

    def written(self, topic=""):
        """Records that a run wrote, with where each comes from."""
        messages = self.there.read(topic or f"clean.{self.orders}")
        return [(m, dict(m.headers() or [])["dagster_smt.source"].decode()) for m in messages]


@pytest.fixture
def world(spark, tmp_path, broker):
    return World(tmp_path, spark, broker.servers)


def refused(call, *arguments, **more):
    with pytest.raises(SmtError) as caught:
        call(*arguments, **more)
    return [p.code for p in caught.value.problems]


# --- into a table ---


def test_each_run_takes_what_is_new(world):
    world.add(order(0), order(1))
    world.add(order(2), partition=1)
    first = world.run()
    assert (first.records_in, first.records_out) == (3, 3)
    world.add(order(3))
    second = world.run(group=f"seen-{world.id}")
    assert second.window == Window((Range(world.orders, 0, 2, 3),)) and world.offsets() == [
        (0, 0),
        (0, 1),
        (0, 2),
        (1, 0),
    ]
    assert world.run().status == "empty"
    state = world.state()
    assert state.identities == {world.orders: world.there.client.described([world.orders])[world.orders][0]}
    assert SECRET not in str(world.rows().collect())
    seen = world.there.client.committed(f"seen-{world.id}")
    assert {place: c.offset for place, c in seen.items()} == {(world.orders, 0): 3, (world.orders, 1): 1}


def test_every_part_of_a_record(world):
    world.there.make(world.orders)
    sent = [
        NewRecord(None, b'{"a":1}', (("h", b"1"), ("h", b"2"), ("none", None)), 1700000000123),
        NewRecord(b"k", None, (), 1700000000124),
        NewRecord(b"\xff", b'{"name":"x"}', (("", b"\xfe"),), 1),
    ]
    world.add(*sent)
    assert world.run(chain=[]).records_out == 3
    rows = world.rows().collect()
    assert [(r.key, r.offset) for r in rows] == [(None, 0), (b"k", 1), (b"\xff", 2)]
    assert [None if r.value is None else bytes(r.value) for r in rows] == [b'{"a":1}', None, b'{"name":"x"}']
    assert [[(h.key, h.value) for h in r.headers] for r in rows] == [list(r.headers) for r in sent]
    assert [round(r.timestamp.timestamp() * 1000) for r in rows] == [1700000000123, 1700000000124, 1]


@pytest.mark.long
def test_failed_records_are_run_again_from_the_topic(world):
    """Letters in a topic of the cluster name them; several offsets of a partition are read, and nothing between."""
    letters = world.name("dead")
    options = {"errors_tolerance": "all", "dead_letter_topic": letters}
    cast = [{"alias": "cast", "type": "Cast$Value", "options": {"spec": "amount:int32"}}]
    world.add(*(order(n, SECRET if n in (2, 3, 7) else n) for n in range(10)))
    world.add(order(0, SECRET), order(1), partition=1)
    assert world.run(chain=cast, **options).failed == 4
    again = {**options, "window": WindowRequest(redrive=True)}
    assert (world.run(chain=cast, **again).failed, len(world.there.read(letters))) == (4, 4)
    done = world.run(**again)
    assert done.window.to_json() == {world.orders: {"0": [2, 4, 7, 8], "1": [0, 1]}}
    assert (done.records_in, done.records_out) == (4, 4)
    assert world.offsets() == [*((0, n) for n in range(10)), (1, 0), (1, 1)]
    assert world.run(**again).status == "empty"


def test_records_of_several_ranges_are_counted_again_with_the_brokers(world):
    """What compaction and transactions leave out is told from what was not read, range by range."""
    world.there.make(world.orders)
    producer = Producer({"bootstrap.servers": world.topics.bootstrap_servers, "transactional.id": f"tx-{world.id}"})
    producer.init_transactions()
    for number in range(4):  # a record and the mark of its transaction: every second offset holds a record
        producer.begin_transaction()
        producer.produce(world.orders, order(number).value)
        producer.commit_transaction()
    client = world.there.client
    window = Window((Range(world.orders, 0, 0, 3), Range(world.orders, 0, 4, 6)))
    assert client.count(window) == {world.orders: 3}
    assert client.count(Window((Range(world.orders, 0, 1, 2), Range(world.orders, 0, 6, 8)))) == {world.orders: 1}


def test_a_record_without_a_timestamp(world):
    """Kafka's -1: the same as from file topics."""
    from dagster_smt.tables.sources.file_writer import append_records
    from dagster_smt.tables.topic_table import FileTopics

    record = NewRecord(b"", b"{}", (), -1)
    world.add(record)
    (rest,) = world.there.read(world.orders)
    assert rest.timestamp()[1] == -1
    files = FileTopics(world.folder / "topics")
    append_records(files, world.orders, [record])
    world.run()
    world.run(world.spec(source=files, sink=DeltaSink(world.folder / "other")))
    (one,), (other,) = (
        world.rows().collect(),
        world.session.read.format("delta").load(str(world.folder / "other")).collect(),
    )
    assert (one.timestamp, one.timestampType) == (other.timestamp, other.timestampType)


def test_windows(world):
    world.add(*(NewRecord(b"", b"{}", (), 1000 * (n + 1)) for n in range(10)))
    world.run(window=WindowRequest(max_records=4))
    assert [o for _, o in world.offsets()] == [0, 1, 2, 3]
    replay = world.run(window=WindowRequest(explicit=Window((Range(world.orders, 0, 2, 6),)), accept_gap=True))
    assert replay.records_in == 4 and [o for _, o in world.offsets()] == [0, 1, 2, 3, 4, 5]
    timed = world.run(window=WindowRequest(since=7000, until=9000))
    assert [(r.start, r.end) for r in timed.window.ranges] == [(6, 8)]
    rest = world.run()
    assert [(r.start, r.end) for r in rest.window.ranges] == [(8, 10)] and len(world.offsets()) == 10
    again = world.run(window=WindowRequest(since=7000, until=9000))
    assert again.records_in == 2 and len(world.offsets()) == 10


@pytest.mark.parametrize(
    ("start", "offsets"),
    [
        pytest.param("earliest", [0, 1, 2, 3], marks=pytest.mark.long),
        ("latest", [3]),
        ("group:connect-{}", [2, 3]),
        pytest.param("2000", [1, 2, 3], marks=pytest.mark.long),
    ],
)
def test_where_a_table_begins(world, start, offsets):
    from dagster_smt.tables.kafka.client import Committed

    world.add(*(NewRecord(b"", b"{}", (), 1000 * (n + 1)) for n in range(3)))
    start = start.format(world.id)
    world.there.client.commit(f"connect-{world.id}", {(world.orders, 0): Committed(2, "")})
    world.run(start=start)
    world.add(NewRecord(b"", b"{}", (), 9000))
    world.run(start=start)
    assert [o for _, o in world.offsets()] == offsets
    assert world.state().covered.of(world.orders, 0) == ((0, 4),)


def test_an_idle_topic_begins_once(world):
    """What comes between the first run, which finds nothing, and the second is not passed over."""
    world.there.make(world.orders)
    assert world.run(start="latest").records_in == 0
    world.add(order(0))
    assert world.run(start="latest").records_in == 1


def test_micro_batches(world):
    world.add(*(order(n) for n in range(10)))
    reports = run_batches(world.spec(), world.session, MicroBatches(4))
    assert [r.records_in for r in reports] == [4, 4, 2] and len(world.offsets()) == 10


def test_columns_and_dead_letters_to_a_topic(world):
    dead = world.name("dead")
    world.add(order(0), NewRecord(b"k", b'{"id":"no"}', (("h", b"v"),), 5), order(2))
    changes = {"errors_tolerance": "all", "dead_letter_topic": dead}
    report = world.run(kind="columns", value=COLUMNS, **changes)
    assert (report.records_out, report.failed) == (2, 1)
    (letter,) = world.there.read(dead)
    headers = dict(letter.headers())
    assert (letter.key(), letter.value(), headers["h"]) == (b"k", b'{"id":"no"}', b"v")
    assert headers["__connect.errors.offset"] == b"1" and headers["__connect.errors.topic"] == world.orders.encode()
    again = replace(world.spec(kind="columns", value=COLUMNS, **changes), rebuild=True)
    assert world.run(again).failed == 1 and len(world.there.read(dead)) == 1  # each letter once


def test_dead_letters_need_their_topic(world):
    world.add(NewRecord(b"k", b"no json"))
    bare = replace(world.topics, create=None)
    spec = world.spec(
        source=bare, errors_tolerance="all", dead_letter_topic=world.name("dead"), kind="columns", value=COLUMNS
    )
    assert refused(world.run, spec) == ["SMT586"]
    spec = replace(spec, dead_letter_topic=world.orders)
    assert refused(world.run, spec) == ["SMT534"]


def test_a_poison_record_fails_its_topic_alone(world):
    people = world.name("people")
    world.add(order(0))
    world.add(NewRecord(b"k", b"\xff not json"), topic=people)
    report = world.run(topics=(world.orders, people))
    assert report.records_out == 1 and list(report.failures) == [people]
    with pytest.raises(RecordsRejected) as caught:
        world.run(topics=(people,))
    assert "SMT530" in str(caught.value) and "not json" not in str(caught.value)


# --- offsets that are not dense ---


def transaction(world, *records, commit=True, topic=""):
    producer = Producer({"bootstrap.servers": world.topics.servers, "transactional.id": f"tx-{world.id}"})
    producer.init_transactions(30)
    producer.begin_transaction()
    for record in records:
        producer.produce(topic or world.orders, record.value, record.key)
    producer.flush()
    if commit is None:
        return producer
    producer.commit_transaction(30) if commit else producer.abort_transaction(30)
    return None


def test_aborted_and_open_transactions(world):
    world.there.make(world.orders)
    transaction(world, order(0), order(1))
    transaction(world, order(2), commit=False)
    world.add(order(3))
    report = world.run()
    assert (report.records_in, report.window.records) == (3, 6)
    assert [o for _, o in world.offsets()] == [0, 1, 5]
    open_ = transaction(world, order(4), order(5), commit=None)
    world.add(order(6))
    assert world.run().status == "empty"  # nothing behind an open transaction is stable yet
    open_.commit_transaction(30)
    until = time.monotonic() + 20
    while world.run().status == "empty" and time.monotonic() < until:
        time.sleep(0.2)
    assert [o for _, o in world.offsets()] == [0, 1, 5, 6, 7, 8]
    seen = world.spec(
        source=replace(world.topics, isolation_level="read_uncommitted"), sink=DeltaSink(world.folder / "all")
    )
    assert world.run(seen).records_in == 7
    assert_the_client_reads_what_spark_reads(world, 1)
    assert_the_client_reads_what_spark_reads(world, 1, isolation_level="read_uncommitted")


def rows_of(frame):
    """Returns the rows as the client gives them: moments have a zone."""
    rows = [row.asDict(recursive=True) for row in frame.collect()]
    for row in rows:
        row["timestamp"] = row["timestamp"].astimezone(UTC)
    return rows


def assert_the_client_reads_what_spark_reads(world, step, **changes):
    """Each range of the topic by both: leader epochs are the one thing that only the client tells."""
    source = KafkaReader(replace(world.topics, **changes), world.session)
    (whole,) = source.ranges([world.orders])
    before = rows_of(source.read(Window((whole,))))
    bounds = range(whole.start + step, whole.end, step)
    ranges = [whole, *(replace(whole, start=b) for b in bounds), *(replace(whole, end=b) for b in bounds)]
    read = source.client_reading(ranges, epochs=True)
    result = [[row for batch in read([pa.record_batch({"id": [n]})]) for row in batch.to_pylist()]
             for n in range(len(ranges))]  # fmt: skip
    after = {row["offset"] for row in rows_of(source.read(Window((whole,))))}  # compaction goes on
    for r, rows in zip(ranges, result, strict=True):
        results = [{**row, "leaderEpoch": 0} for row in before if r.start <= row["offset"] < r.end]
        offsets = after | {row["offset"] for row in rows}
        assert rows == [row for row in results if row["offset"] in offsets], r


@pytest.mark.long
def test_a_compacted_topic(world):
    world.there.make(world.orders, cleanup_policy="compact", segment_ms="100", min_cleanable_dirty_ratio="0.01",
                     min_compaction_lag_ms="0", segment_bytes="1048576")  # fmt: skip
    world.add(*(NewRecord(b"k%d" % (n if n % 5 == 0 else 1), b'{"n":%d}' % n) for n in range(20)))
    until = time.monotonic() + 60
    while len(left := [m.offset() for m in world.there.read(world.orders)]) > 14 and time.monotonic() < until:
        time.sleep(0.5)
        world.add(NewRecord(b"last", b"{}"))  # rolls the segment
    assert left != list(range(left[0], left[-1] + 1)), "nothing was compacted"
    report = world.run()
    (read,) = report.window.ranges
    now = {m.offset() for m in world.there.read(world.orders)}
    assert now <= {o for _, o in world.offsets()} and report.records_in < read.records
    assert world.state().covered.of(world.orders, 0) == ((read.start, read.end),)
    assert_the_client_reads_what_spark_reads(world, 5)


def test_records_that_spark_does_not_see_stop_the_run(world, monkeypatch):
    """The brokers are asked what they have where a topic has fewer records than offsets."""
    world.add(*(order(n) for n in range(5)))
    whole = KafkaReader.read
    monkeypatch.setattr(KafkaReader, "read", lambda self, window, beat: whole(self, window, beat).where("offset != 3"))
    assert refused(world.run) == ["SMT533"]
    assert world.state() is None


# --- what happens to topics ---


def lose(world, before, partition=0):
    world.lose(world.orders, before, partition)


def test_retention_ahead_of_the_table(world):
    world.add(*(order(n) for n in range(10)))
    world.run(window=WindowRequest(max_records=3))
    lose(world, 6)
    with pytest.raises(TableError, match=r"SMT511.*offsets 3 to 6 were deleted"):
        world.run()
    report = world.run(on_data_loss="gap")
    assert [w.code for w in report.warnings][:1] == ["SMT518"] and "a gap of 3" in report.warnings[0].statement
    assert [o for _, o in world.offsets()] == [0, 1, 2, 6, 7, 8, 9]
    assert world.state().gaps.of(world.orders, 0) == ((3, 6),)


def test_retention_while_a_run_reads(world, monkeypatch):
    """Spark notices: nothing is committed, and the next run says what was lost."""
    world.add(*(order(n) for n in range(10)))
    world.run(window=WindowRequest(max_records=2))
    whole = KafkaReader.read

    def read(self, window, beat):
        frame = whole(self, window, beat)
        lose(world, 5)
        return frame

    monkeypatch.setattr(KafkaReader, "read", read)
    assert refused(world.run) == ["SMT634"]
    monkeypatch.undo()
    assert refused(world.run) == ["SMT511"]


def test_a_topic_made_anew(world):
    world.add(order(0), order(1))
    world.run()
    world.there.remove(world.orders)
    assert refused(world.run) == ["SMT501"]
    world.add(*(order(n) for n in range(5)))
    assert refused(world.run) == ["SMT516"]
    assert world.run(rebuild=True, window=WindowRequest(topics=(world.orders,))).records_in == 5
    assert len(world.offsets()) == 5


def test_a_topic_made_anew_while_a_run_reads(world, monkeypatch):
    world.add(order(0), order(1))
    whole = KafkaReader.verify

    def verify(self, window, read, beat):
        world.there.remove(world.orders)
        world.add(order(7), order(8))
        return whole(self, window, read, beat)

    monkeypatch.setattr(KafkaReader, "verify", verify)
    assert refused(world.run) == ["SMT516"]
    assert world.state() is None


def test_partitions_are_added(world):
    world.add(order(0))
    world.run(start="latest")
    world.add(order(1), partition=3)
    assert world.run(start="latest").records_in == 1  # a new partition of a known topic begins at its beginning
    assert world.offsets() == [(3, 0)]


@pytest.mark.long
def test_a_record_of_ten_megabytes(world):
    world.there.make(world.orders, max_message_bytes=str(12 * 2**20))
    world.add(NewRecord(b"k", b'{"name":"x","big":"%s"}' % (b"x" * 10_000_000)))
    assert world.run().records_out == 1
    assert len(world.rows().first().value) > 10_000_000
    world.there.make(f"clean.{world.orders}", max_message_bytes="1000000")
    assert refused(world.run, world.to_kafka()) == ["SMT466", "SMT530"] and world.state(world.to_kafka()) is None
    big = replace(world.topics, create=NewTopics(settings={"max.message.bytes": str(12 * 2**20)}))
    world.there.remove(f"clean.{world.orders}")
    assert world.run(replace(world.to_kafka(), sink=KafkaSink(big, f"group-{world.id}"))).records_out == 1


@pytest.mark.long
@pytest.mark.parametrize("count", [100, 1000])
def test_many_topics_by_pattern(world, count):
    names = [f"many-{world.id}-{n:04d}" for n in range(count)]
    world.there.make(*names)
    world.there.add([(name, 0, order(n)) for n, name in enumerate(names)])
    report = world.run(pattern=f"many-{world.id}-.*")
    assert (report.records_in, len(report.topics)) == (count, count)
    assert world.run(pattern=f"many-{world.id}-.*").status == "empty"
    world.there.remove(*names)


@pytest.mark.long
def test_a_producer_that_keeps_writing(world):
    world.there.make(world.orders)
    stop = threading.Event()
    sent = [0]

    def produce():
        producer = Producer({"bootstrap.servers": world.topics.servers, "linger.ms": 5})
        while not stop.is_set():
            producer.produce(world.orders, order(sent[0]).value)
            sent[0] += 1
            producer.poll(0)
            time.sleep(0.001)
        producer.flush()

    thread = threading.Thread(target=produce)
    thread.start()
    try:
        for _ in range(4):
            world.run()
    finally:
        stop.set()
        thread.join()
    world.run()
    assert [o for _, o in world.offsets()] == list(range(sent[0])) and sent[0] > 100


# --- into topics ---


def test_records_to_topics(world):
    world.add(order(0), NewRecord(b"k", b'{"n":1}'), order(2))
    world.add(order(3), partition=1)
    report = world.run(world.to_kafka())
    assert report.records_out == 4
    result = world.written()
    assert sorted(source for _, source in result) == [f"{world.orders}-0@{n}" for n in range(3)] + [
        f"{world.orders}-1@0"
    ]
    assert all(SECRET.encode() not in (m.value() or b"") for m, _ in result)
    assert [m.headers()[0] for m, s in result if s.endswith("-0@0")] == [("trace", b"\xff0")]
    assert world.run(world.to_kafka()).status == "empty"
    world.add(order(4))
    assert world.run(world.to_kafka()).records_out == 1
    committed = world.there.client.committed(f"group-{world.id}")
    assert {p: c.offset for p, c in committed.items()} == {(world.orders, 0): 4, (world.orders, 1): 1}
    assert world.state(world.to_kafka()).rows == {world.orders: 5}


def test_a_group_is_committed_anew_while_nothing_is_new(world):
    def commits():  # brokers show the end of a transaction a moment after it
        results = [-1]
        while len(results) < 3 or results[-1] != results[-3]:
            results.append(sum(r.end for r in world.there.client.ranges(["__consumer_offsets"])))
            time.sleep(0.3)
        return results[-1]

    world.add(order(1), order(2))
    world.run(world.to_kafka())
    table = open_table(world.session, world.to_kafka().sink, world.topics)
    first, before = table.state(), commits()
    assert world.run(world.to_kafka()).status == "empty"
    assert commits() > before
    assert table.state() == first
    world.run(world.spec(group=f"mirror-{world.id}"))
    before = commits()
    assert world.run(world.spec(group=f"mirror-{world.id}")).status == "empty"
    assert commits() > before


def test_order_is_kept_within_a_partition(world):
    world.add(*(NewRecord(b"k%d" % (n % 7), b'{"n":%d}' % n) for n in range(3000)))
    split = replace(world.topics, options={"maxRecordsPerPartition": "100"})
    world.run(world.to_kafka(source=split))
    offsets = [int(source.rpartition("@")[2]) for _, source in world.written()]
    assert offsets == list(range(3000))


def test_offsets_that_kafkas_tools_set_back(world):
    from dagster_smt.tables.kafka.client import Committed

    world.add(*(order(n) for n in range(5)))
    world.run(world.to_kafka())
    world.there.client.commit(f"group-{world.id}", {(world.orders, 0): Committed(3, "")})
    assert world.run(world.to_kafka()).records_in == 2
    assert sorted(s.rpartition("@")[2] for _, s in world.written()) == ["0", "1", "2", "3", "3", "4", "4"]


def test_a_retry_knows_its_first_try(world):
    world.add(order(0))
    world.run(world.to_kafka(key="run#step"))
    world.add(order(1))
    assert world.run(world.to_kafka(key="run#step")).status == "already committed"
    assert world.run(world.to_kafka(key="other")).records_in == 1


def test_what_a_topic_cannot_do(world):
    world.add(order(0), order(1))
    world.run(world.to_kafka())
    assert refused(world.run, world.to_kafka(rebuild=True)) == ["SMT574"]
    explicit = WindowRequest(explicit=Window((Range(world.orders, 0, 0, 1),)))
    with pytest.raises(UnsupportedError, match="SMT574"):
        world.run(world.to_kafka(window=explicit))
    bare = KafkaSink(replace(world.topics, create=None), f"bare-{world.id}")
    world.there.remove(f"clean.{world.orders}")
    assert refused(world.run, replace(world.to_kafka(), sink=bare)) == ["SMT586"]
    tolerant = replace(world.to_kafka(), sink=bare, errors_tolerance="all", dead_letter_topic=world.name("nowhere"))
    assert refused(world.run, tolerant) == ["SMT586"], "no topic is there: nobody has made any"
    other = world.name("other")
    world.there.make(f"clean.{other}")
    world.add(order(2), topic=other)
    both = replace(tolerant, table=replace(tolerant.table, topics=(world.orders, other)))
    report = world.run(both)
    assert (report.records_out, {r.problem.code for r in report.rejects}) == (1, {"SMT498"})
    assert world.orders not in " ".join(r.problem.statement for r in report.rejects)
    assert len(world.there.read(tolerant.dead_letter_topic)) == report.failed == 2
    assert refused(world.run, world.spec(MASK, sink=KafkaSink(world.topics, f"own-{world.id}"))) == ["SMT575"]


def test_letters_of_records_that_go_to_topics(world):
    dead = world.name("dead")
    world.add(order(0), NewRecord(b"k", b"no json"), order(2))
    changes = {"errors_tolerance": "all", "dead_letter_topic": dead}
    report = world.run(world.to_kafka(**changes))
    assert (report.records_out, report.failed) == (2, 1) and len(world.there.read(dead)) == 1
    assert world.state(world.to_kafka()).dead_letters == {f"{dead}-0": 1}


# --- brokers that do not answer ---


def test_no_broker(world):
    gone = KafkaTopics("127.0.0.1:1", timeout=2)
    with pytest.raises(EngineError, match=r"SMT625 127\.0\.0\.1:1: no broker responds within 2 s"):
        world.run(world.spec(source=gone))
