"""Where topics of a real broker begin and end: what a run may pass over, and what it must tell."""

from dataclasses import replace

import pytest

from dagster_smt.model.windows.window import Window
from dagster_smt.run.facts import table_facts
from dagster_smt.tables.kafka.client import Committed, KafkaClient
from dagster_smt.tables.kafka.spec import KafkaTopics
from dagster_smt.tables.planning import plan_sink
from dagster_smt.tables.sink_options import DeltaSink, FileTopicSink, IcebergSink, KafkaSink
from dagster_smt.tables.sources.file_writer import NewRecord
from tests.quick import quick
from tests.run.dying import Died
from tests.run.test_kafka import World, lose, refused, transaction
from tests.run.world import ROUTE, order

FAR = 2**63 // 1000 + 1
"""Milliseconds that Spark has no room for: a moment in nanoseconds."""


@pytest.fixture
def world(spark, tmp_path, broker):
    return World(tmp_path, spark, broker.servers)


SINKS = {
    "delta": lambda world: DeltaSink(world.folder / "table"),
    "iceberg": lambda world: IcebergSink(world.folder / "table"),
    "file_topics": lambda world: FileTopicSink(world.folder / "out"),
    "kafka": lambda world: KafkaSink(world.topics, f"group-{world.id}"),
}


@pytest.mark.parametrize("sink", quick(SINKS, "delta", "kafka"))
def test_a_topic_that_holds_nothing_begins_once(world, sink):
    """Whatever the start: what comes after the first look is read, what is deleted after it is told."""
    expired = world.name("expired")
    world.there.make(world.orders, expired)
    world.add(order(0), order(1), topic=expired)
    world.lose(expired, 2)
    spec = world.spec(ROUTE, topics=(world.orders, expired), start="latest", sink=SINKS[sink](world))
    assert world.run(spec).records_in == 0
    assert world.state(spec).begins == {(world.orders, 0): 0, (expired, 0): 2}
    world.add(*(order(n) for n in range(3)))
    world.add(*(order(n) for n in range(5)), topic=expired)
    assert world.run(spec).records_in == 8


@pytest.mark.parametrize("start", quick(["latest", "2040-01-01", "group:other-{}"], "latest", "group:other-{}"))
def test_a_group_begins_once_wherever_it_begins(world, start):
    """Without a table to look at, only what the group has committed says so."""
    world.there.make(world.orders)
    world.there.client.commit(f"other-{world.id}", {(world.orders, 0): Committed(0, "")})
    spec = world.to_kafka(start=start.format(world.id))
    assert world.run(spec).records_in == 0
    world.add(order(0))
    assert world.run(spec).records_in == 1


def test_retention_in_a_partition_that_held_nothing_is_told(world):
    world.there.make(world.orders, partitions=2)
    world.add(order(0))
    spec = world.spec(ROUTE, sink=KafkaSink(world.topics, f"group-{world.id}"))
    assert (world.run().records_in, world.run(spec).records_in) == (1, 1)
    world.add(*(order(n) for n in range(3)), partition=1)
    lose(world, 2, partition=1)
    assert (refused(world.run), refused(world.run, spec)) == (["SMT511"], ["SMT511"])
    report = world.run(on_data_loss="gap")
    assert [w.code for w in report.warnings] == ["SMT518"] and report.records_in == 1
    assert world.state().gaps.of(world.orders, 1) == ((0, 2),)
    world.add(*(order(n) for n in range(3)), partition=2)
    lose(world, 1, partition=2)
    assert refused(world.run) == ["SMT511"]  # an added partition has begun at 0


def test_offsets_that_an_operator_sets_to_the_beginning_are_no_new_table(world):
    world.there.make(world.orders)
    world.there.client.commit(f"group-{world.id}", {(world.orders, 0): Committed(0, "")})
    world.add(order(0))
    assert world.run(world.to_kafka(start="latest")).records_in == 1


def test_what_waits_behind_an_open_transaction_is_told(world):
    world.there.make(world.orders)
    transaction(world, order(0))
    open_ = transaction(world, order(1), order(2), commit=None)
    world.add(order(3))
    spec = world.spec()
    for records in (1, 0):
        report = world.run(spec)
        (warning,) = report.warnings
        assert report.records_in == records and warning.code == "SMT594" and warning.place == f"{world.orders}-0"
        assert warning.statement.startswith("3 offsets from 2 on wait behind an open transaction since 20")
    facts = table_facts(spec, plan_sink(spec.chain, spec.table, spec.sink), world.session, Window())
    assert facts.lag == {world.orders: 3}
    open_.abort_transaction(30)


def test_records_with_timestamps_that_spark_cannot_hold_are_dead_letters(world):
    """In nanoseconds, for one; before and behind them all is read, in each partition and topic."""
    dead, other = world.name("dead"), world.name("other")
    world.there.make(world.orders, partitions=2, message_timestamp_after_max_ms=str(2**63 - 1))
    far = [NewRecord(b"far", b'{"name":"x"}', (("h", b"1"), ("none", None)), stamp) for stamp in (FAR, 2**62)]
    world.add(order(0), far[0], order(2), far[1], order(4))
    world.add(order(0), partition=1)
    world.add(order(7), topic=other)
    report = world.run(topics=(world.orders, other), errors_tolerance="all", dead_letter_topic=dead)
    assert (report.records_in, report.records_out, report.failed) == (7, 5, 2)
    assert sorted(r.offset for r in world.rows().where(f"topic = '{world.orders}'").collect()) == [0, 0, 2, 4]
    letters = world.there.read(dead)
    assert [(m.key(), m.value(), dict(m.headers())["h"]) for m in letters] == [(b"far", b'{"name":"x"}', b"1")] * 2
    assert [dict(m.headers())["__connect.errors.offset"] for m in letters] == [b"1", b"3"]
    assert {r.problem.code for r in report.rejects} == {"SMT429"}
    world.add(order(5))
    none = world.spec(topics=(world.orders, other), sink=DeltaSink(world.folder / "none"))
    report = world.run(none)
    assert list(report.failures) == [world.orders] and report.records_out == 1


def test_a_topic_that_is_deleted_while_it_is_read_is_named(world, monkeypatch):
    from dagster_smt.tables.sources.kafka import KafkaReader

    world.add(*(order(n) for n in range(3)))
    whole = KafkaReader.read

    def read(self, window, beat):
        frame = whole(self, window, beat)
        world.there.remove(world.orders)
        return frame

    monkeypatch.setattr(KafkaReader, "read", read)
    quick = replace(world.topics, options={"kafkaConsumer.pollTimeoutMs": "3000"})
    assert refused(world.run, source=quick) == ["SMT598"]


def test_a_first_run_says_what_was_deleted_while_it_read(world, monkeypatch):
    from dagster_smt.tables.sources.kafka import KafkaReader

    world.add(*(order(n) for n in range(9)))
    whole = KafkaReader.read

    def read(self, window, beat):
        frame = whole(self, window, beat)
        lose(world, 5)
        return frame

    monkeypatch.setattr(KafkaReader, "read", read)
    with pytest.raises(Exception, match=r"SMT634 orders.*: offsets 0 to 5 were deleted while the run read them"):
        world.run()


def test_a_group_with_an_open_transaction_says_so(world):
    """A run that died between its offsets and their commit leaves one, until the brokers end it."""
    from confluent_kafka import TopicPartition

    world.add(order(0))
    client = world.there.client
    group = f"group-{world.id}"
    producer = client.producer(**{"transactional.id": f"other-{world.id}", "transaction.timeout.ms": 60_000})
    consumer = client.consumer(group)
    producer.init_transactions(30)
    producer.begin_transaction()
    offsets = [TopicPartition(world.orders, 0, 1)]
    producer.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata(), 30)
    hasty = KafkaTopics(world.topics.servers, create=world.topics.create, timeout=2)
    spec = world.spec(ROUTE, source=hasty, sink=KafkaSink(hasty, group))
    assert refused(world.run, spec) == ["SMT597"]
    producer.abort_transaction(30)
    assert world.run(spec).records_in == 1
    consumer.close()


class DyingProducer:
    """A producer whose process is gone when it should commit: its transaction stays open."""

    def __init__(self, producer):
        self.producer = producer

    def __getattr__(self, name):
        return getattr(self.producer, name)

    def commit_transaction(self, timeout):
        raise Died


@pytest.mark.long
def test_a_run_that_died_between_offsets_and_commit_holds_the_group_up_for_seconds_only(world, monkeypatch):
    """The brokers end its transaction before the next run stops waiting; as shipped they would take a minute."""
    world.add(order(0))
    spec = world.spec(ROUTE, sink=KafkaSink(world.topics, f"group-{world.id}"))
    make, producers = KafkaClient.producer, []

    def dying(client, **settings):
        producers.append(DyingProducer(make(client, **settings)))
        return producers[-1]

    with monkeypatch.context() as patch:
        patch.setattr(KafkaClient, "producer", dying)
        with pytest.raises(Died):
            world.run(spec)
    assert producers
    assert world.run(spec).records_in == 1
