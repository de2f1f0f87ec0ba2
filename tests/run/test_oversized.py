"""Records and dead letters that are too large for their topics, on a real broker."""

from concurrent.futures import Future
from dataclasses import replace

import pytest
from confluent_kafka import KafkaError, KafkaException

from dagster_smt.chain import parse_chain
from dagster_smt.errors import EngineError, RecordsRejected, TableError
from dagster_smt.tables.kafka.client import KafkaClient
from dagster_smt.tables.kafka.sizes import record_size, size_column
from dagster_smt.tables.kafka.spec import KafkaTopics, NewTopics
from dagster_smt.tables.kafka.transactions import transactions
from dagster_smt.tables.sinks.topics import LEFT_OUT, fitting
from dagster_smt.tables.sources.file_writer import NewRecord
from tests.kafka import Topics
from tests.run.test_kafka import World
from tests.run.world import ROUTE, SECRET

LIMIT = 2_000
ROUTED = {k: v for k, v in ROUTE.items() if ".mask." not in k} | {"transforms": "route"}
SIZES = (LIMIT, LIMIT + 1, 50 * LIMIT)
CONTEXT = [("__connect.errors.topic", b"t"), ("__connect.errors.offset", b"7"), ("dagster_smt.commit", b"c")]


@pytest.fixture
def world(spark, tmp_path, broker):
    return World(tmp_path, spark, broker.servers)


def sized(part, size, more):
    """A record that has this size with the headers that come on top."""

    def record(filling):
        text = b"x" * filling
        key = text if part == "key" else b"k"
        value = b'{"name":"%s"}' % (text if part == "value" else SECRET.encode())
        return NewRecord(key, value, (("h", text if part == "headers" else b"1"),))

    filling = size
    while True:
        made = record(filling)
        over = record_size(made.key, made.value, [*made.headers, *more]) - size
        if not over:
            return made
        filling -= over


def test_a_record_too_large_for_its_topic_is_a_dead_letter(world):
    """The broker is the judge: a record that it takes is written, one of a byte more is none that it refuses."""
    clean, dead = f"clean.{world.orders}", world.name("dead")
    world.there.make(clean, dead, max_message_bytes=str(LIMIT))
    records = []
    for part in ("key", "value", "headers"):
        for size in SIZES:
            place = f"{world.orders}-0@{len(records)}".encode()
            more = [("dagster_smt.group", f"group-{world.id}".encode()), ("dagster_smt.source", place)]
            records.append(sized(part, size, more))
    world.add(*records)
    spec = replace(world.to_kafka(), chain=parse_chain(ROUTED))
    with pytest.raises(RecordsRejected) as caught:
        world.run(spec)
    first = caught.value.problems[0]
    assert first.code == "SMT466" and f"{world.orders}-0@1" in str(first)
    assert "2001 bytes, it takes 2000" in first.statement and SECRET not in str(caught.value)
    report = world.run(replace(spec, errors_tolerance="all", dead_letter_topic=dead))
    assert (report.records_out, report.failed) == (3, 6)
    assert [source for _, source in world.written(clean)] == [f"{world.orders}-0@{n}" for n in (0, 3, 6)]
    letters = [(m.key(), m.value(), dict(m.headers())) for m in world.there.read(dead)]
    assert [h["__connect.errors.offset"] for _, _, h in letters] == [b"1", b"2", b"4", b"5", b"7", b"8"]
    assert {(key, value) for key, value, _ in letters} == {(None, None)}
    assert all(LEFT_OUT in h and b"limit 2000" in h[LEFT_OUT] for _, _, h in letters)
    assert world.run(spec).status == "empty"


def test_what_a_broker_takes(broker):
    """To the byte, of librdkafka's producer as of Java's; small letters do not go together into a batch too large."""
    topics = KafkaTopics(broker.servers, create=NewTopics())
    # the end of a transaction is marked a moment after its commit
    there, name = Topics(replace(topics, isolation_level="read_uncommitted")), "sizes-to-the-byte"
    there.make(name, max_message_bytes=str(LIMIT))
    client = KafkaClient(topics)
    assert client.longest([name, "sizes-not-there"]) == {name: LIMIT, "sizes-not-there": 16 * 2**20}
    small = KafkaTopics(broker.servers, create=NewTopics(settings={"max.message.bytes": "77"}))
    assert KafkaClient(small).longest([name, "sizes-not-there"]) == {name: LIMIT, "sizes-not-there": 77}
    with transactions(client, "sizes", "sizes", [LIMIT]) as producer:
        for part in ("key", "value", "headers"):
            made = sized(part, LIMIT, [])
            producer.send(name, made.key, made.value, made.headers)
        for _ in range(20):
            producer.send(name, b"k", b"v" * 300, [])
        producer.commit()
    assert len(there.read(name, "read_uncommitted")) == 23
    with transactions(client, "sizes", "sizes", [LIMIT]) as producer:
        made = sized("value", LIMIT + 1, [])
        producer.send(name, made.key, made.value, made.headers)
        with pytest.raises(TableError, match="SMT590"):
            producer.commit()


@pytest.mark.parametrize(
    ("code", "known"),
    [
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, {}),
        (KafkaError.CLUSTER_AUTHORIZATION_FAILED, {}),
        (KafkaError.INVALID_REQUEST, {}),
        (KafkaError.UNKNOWN_TOPIC_OR_PART, {}),
        (KafkaError.SASL_AUTHENTICATION_FAILED, None),
    ],
)
def test_settings_that_brokers_do_not_tell(code, known, monkeypatch):
    """Without the right to ask a run goes on, and what is refused then has a code; a login does not go on."""

    class Admin:
        def describe_configs(self, resources, **more):
            refused = Future()
            refused.set_exception(KafkaException(KafkaError(code)))
            return dict.fromkeys(resources, refused)

    client = KafkaClient(KafkaTopics("127.0.0.1:1", timeout=1))
    monkeypatch.setattr(client, "_admin", Admin())
    monkeypatch.setattr(client, "names", lambda: ["there"])
    if known is None:
        with pytest.raises(EngineError, match="SMT626"):
            client.longest(["there"])
        return
    assert client.longest(["there"]) == known


@pytest.mark.parametrize(("over", "whole"), [(-1, True), (0, True), (1, False), (10_000, False)])
def test_a_letter_as_its_topic_takes_it(over, whole):
    made = sized("value", LIMIT + over, CONTEXT)
    key, value, headers = fitting(made.key, made.value, [*made.headers, *CONTEXT], LIMIT)
    if whole:
        assert (key, value, headers) == (made.key, made.value, [*made.headers, *CONTEXT])
        return
    assert (key, value, headers[:-1]) == (None, None, [*made.headers, *CONTEXT])
    text = f"key 1, value {len(made.value)}, record {LIMIT + over} bytes, limit {LIMIT}"
    assert headers[-1] == (LEFT_OUT, text.encode())


def test_a_letter_with_large_headers_of_its_own():
    """Those of an earlier letter do not count: the last one of each name says what happened."""
    headers = [("h", b"x" * LIMIT), ("__connect.errors.topic", b"older"), *CONTEXT]
    key, value, kept = fitting(None, b"v", headers, LIMIT)
    assert (key, value, sorted(kept[:-1])) == (None, None, sorted(CONTEXT))
    assert kept[-1][1].startswith(b"key null, value 1, record ") and record_size(key, value, kept) <= LIMIT


def test_spark_measures_as_python_does(spark):
    lengths = (None, 0, 63, 64, 8191, 8192, 2**20 - 1, 2**20)
    rows = [(None if n is None else b"x" * n, None if n is None else b"y" * n, None) for n in lengths]
    rows += [(b"k", None, [("é" * 40, None)] * 70), (b"k", b"v", []), (None, b"v", [("", b""), ("h", b"z" * 64)])]
    frame = spark.createDataFrame(rows, "key binary, value binary, headers array<struct<key: string, value: binary>>")
    found = frame.select(size_column(frame["key"], frame["value"], frame["headers"]).alias("size")).collect()
    assert [row["size"] for row in found] == [record_size(k, v, h or []) for k, v, h in rows]
