"""Records and dead letters that their topics refuse, too large or without a key, on a real broker."""

import time
from concurrent.futures import Future
from dataclasses import replace

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType
from pyspark.sql import functions as F

from dagster_smt.chain import parse_chain
from dagster_smt.errors import EngineError, RecordsRejected, TableError
from dagster_smt.jvm.availability import has_lane
from dagster_smt.model.windows.window import Range
from dagster_smt.spark import sql
from dagster_smt.tables.kafka.client import KafkaClient
from dagster_smt.tables.kafka.demands import Demands
from dagster_smt.tables.kafka.outgoing import LEFT_OUT, Outgoing, forms_of
from dagster_smt.tables.kafka.sizes import record_size, size_column
from dagster_smt.tables.kafka.spec import KafkaTopics, NewTopics
from dagster_smt.tables.kafka.transactions import transactions
from dagster_smt.tables.sink_options import KafkaSink
from dagster_smt.tables.sinks.kafka import KafkaTable
from dagster_smt.tables.sources.file_writer import NewRecord
from dagster_smt.tables.window_request import WindowRequest
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
        result = record(filling)
        over = record_size(result.key, result.value, [*result.headers, *more]) - size
        if not over:
            return result
        filling -= over


def counted(names, into):
    """Names, noted before somebody asks for them."""
    results = [*names]
    into += results
    return results


def test_a_record_too_large_for_its_topic_is_a_dead_letter(world, monkeypatch):
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
    asked, jobs = [], []
    demands, measure = KafkaClient.demands, KafkaTable.measure
    monkeypatch.setattr(KafkaClient, "demands", lambda client, names: demands(client, counted(names, asked)))
    monkeypatch.setattr(KafkaTable, "measure", lambda table, *of: jobs.append(1) or measure(table, *of))
    report = world.run(replace(spec, errors_tolerance="all", dead_letter_topic=dead))
    assert sorted(asked) == [clean, dead]  # once each, however many steps want to know
    assert len(jobs) == 2  # once before, and once after the failed records were left out
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
    absent = "sizes-not-there"
    assert client.demands([name, absent]) == {name: Demands(LIMIT), absent: Demands(16 * 2**20)}
    with transactions(client, "sizes", "sizes", {name: LIMIT}) as producer:
        for part in ("key", "value", "headers"):
            producer.send(outgoing(name, sized(part, LIMIT, [])))
        for _ in range(20):
            producer.send(outgoing(name, NewRecord(b"k", b"v" * 300)))
        producer.commit()
    assert len(there.read(name, "read_uncommitted")) == 23
    with transactions(client, "sizes", "sizes", {name: LIMIT}) as producer:
        producer.send(outgoing(name, sized("value", LIMIT + 1, [])))
        producer.commit()
        assert len(producer.unwritten) == 1
        producer.send(Outgoing("no topic", iter([(b"k", b"v", [])])))
        with pytest.raises(TableError, match="SMT590"):
            producer.commit()


@pytest.mark.parametrize(
    ("policy", "keys"),
    [("compact", True), ("compact,delete", True), ("delete, compact", True), ("delete", False), (None, False)],
)
def test_which_topics_want_keys(broker, policy, keys):
    """One that is there, one that would be made so, and one that brokers would make so by themselves."""
    settings = {} if policy is None else {"cleanup.policy": policy}
    topics = KafkaTopics(broker.servers, create=NewTopics(settings=settings))
    there, name = Topics(topics), f"wants-{policy}".replace(",", "-").replace(" ", "")
    there.make(name, **{key.replace(".", "_"): value for key, value in settings.items()})
    demands = KafkaClient(topics).demands([name, "wants-not-there"])
    assert {of.keys for of in demands.values()} == {keys} and len(demands) == 2
    small = replace(topics, create=NewTopics(settings={**settings, "max.message.bytes": "77"}))
    assert KafkaClient(small).demands(["wants-not-there"]) == {"wants-not-there": Demands(77, keys)}
    if policy is None:
        return
    own = KafkaClient(KafkaTopics(broker.servers))
    set_of_broker(own, "log.cleanup.policy", policy)
    try:
        assert own.demands(["wants-not-there"])["wants-not-there"].keys == keys
    finally:
        set_of_broker(own, "log.cleanup.policy", "delete")


def set_of_broker(client, setting, value):
    resource = ConfigResource(ResourceType.BROKER, str(min(client.admin().list_topics(timeout=10).brokers)))
    resource.add_incremental_config(ConfigEntry(setting, value, incremental_operation=AlterConfigOpType.SET))
    for future in client.admin().incremental_alter_configs([resource]).values():
        future.result()
    until = time.monotonic() + 10
    while client._settings_of_new()["cleanup.policy"] != value.replace(" ", "") and time.monotonic() < until:
        time.sleep(0.05)


KEYLESS = [NewRecord(None, b'{"name":"%s"}' % SECRET.encode()), NewRecord(None, None), NewRecord(None, b'["x"]')]
KEYED = [NewRecord(b"", b'{"name":"a"}'), NewRecord(b"k", None)]
POLICIES = {"delete": "delete", "compact": "compact", "both": "compact,delete", "made": None}
"""By topic its policy; one is made by the run, with the policy that new ones have."""


def test_a_record_without_a_key_for_a_topic_that_is_compacted_is_a_dead_letter(world, monkeypatch):
    """The broker is the judge here, too: it takes all that is written, and would take none of what has failed."""
    names = [f"{name}-{world.id}" for name in POLICIES]
    for name, policy in zip(names, POLICIES.values(), strict=True):
        world.add(*KEYLESS, *KEYED, topic=name)
        if policy is not None:
            world.there.make(f"clean.{name}", cleanup_policy=policy)
    dead, cluster = world.name("dead"), replace(world.topics, create=NewTopics(settings={"cleanup.policy": "compact"}))
    spec = world.spec(ROUTED, topics=(*names,), sink=KafkaSink(cluster, f"group-{world.id}"))
    tolerant = replace(spec, errors_tolerance="all", dead_letter_topic=dead)
    with monkeypatch.context() as denied:  # then the broker refuses, which has a name, and nothing is committed
        denied.setattr(KafkaClient, "_settings", lambda *of: {})
        with pytest.raises(EngineError) as caught:
            world.run(replace(tolerant, table=replace(spec.table, topics=(names[1],))))
        assert [problem.code for problem in caught.value.problems] == ["SMT641"] and SECRET not in str(caught.value)
        assert "DescribeConfigs" in str(caught.value) and world.state(spec) is None
    problems = [problem for of_topic in world.run(spec).failures.values() for problem in of_topic]
    results = [problem.place for problem in problems if problem.code == "SMT469"]
    places = [f"{name}-0@{offset}" for name in names[1:] for offset in range(len(KEYLESS))]
    assert sorted(results) == sorted(f"{place} transforms.route (RegexRouter)" for place in places)
    assert SECRET not in str(problems) and f"clean.{names[3]}" not in world.there.client.names()
    report = world.run(tolerant)
    assert (report.failed, report.unwritten) == (len(places), ())
    assert [m.key() for m in world.there.read(f"clean.{names[0]}")] == [None] * 3 + [b"", b"k"]
    for name in names[1:]:
        assert [m.key() for m in world.there.read(f"clean.{name}")] == [b"", b"k"]
        for record in KEYLESS:
            with pytest.raises(AssertionError, match="INVALID_RECORD"):
                world.there.add([(f"clean.{name}", 0, record)])
    letters = [dict(m.headers())["__connect.errors.exception.message"] for m in world.there.read(dead)]
    assert {letter[:7] for letter in letters} == {b"SMT469 "} and len(letters) == len(places)
    assert world.run(spec).status == "empty"


def outgoing(topic, *forms):
    return Outgoing(topic, iter([(form.key, form.value, list(form.headers)) for form in forms]))


def test_records_that_a_broker_refuses(broker):
    """Of a limit that nobody knows: the others of the transaction are there, in their order, each once."""
    topics = KafkaTopics(broker.servers, create=NewTopics())
    there, name = Topics(topics), "sizes-nobody-knows"
    there.make(name, max_message_bytes=str(LIMIT))
    small, large = (sized("value", size, []) for size in (300, LIMIT + 1))
    sent = [(small,), (large, small), (small,), (large, large), (small,), (large,), (large, large, small)]
    sent += [(NewRecord(b"%d" % number, b"v" * 250),) for number in range(60)]
    with transactions(KafkaClient(topics), "unknown", "unknown") as producer:
        for number, forms in enumerate(sent):
            record = outgoing(name, *forms)
            record.source = (number,)
            producer.send(record)
        assert producer.commit() == []  # there is a mark after each transaction
    assert [record.source for record in producer.unwritten] == [(3,), (5,)]
    data = there.read(name)
    assert [m.value() for m in data[:5]] == [small.value] * 5
    assert [m.key() for m in data[5:]] == [b"%d" % number for number in range(60)]


WHOLE, WITHOUT_VALUE, CONTEXT_ALONE, LAST_FORM = range(4)
OWN = (("h", b"x" * 2_000),)


@pytest.mark.parametrize(
    ("limit", "forms"),
    [(1_300, (WHOLE, WITHOUT_VALUE, CONTEXT_ALONE)), (400, (LAST_FORM,) * 3)],
    ids=["known", "unknown"],
)
def test_letters_that_are_larger_than_their_topic_takes(world, monkeypatch, limit, forms):
    """With the right to ask for limits as without it: no run ends, and each letter says as much as it can."""
    if forms[0] == LAST_FORM:
        monkeypatch.setattr(KafkaClient, "_settings", lambda *of: {})
    dead = world.name("dead")
    world.there.make(dead, max_message_bytes=str(limit))
    world.add(NewRecord(b"k", b"{"), NewRecord(b"k", b"{" * 2_000), NewRecord(b"k", b"{", OWN))
    report = world.run(replace(world.spec(), errors_tolerance="all", dead_letter_topic=dead))
    assert (report.failed, report.unwritten) == (3, ())
    letters = [(m, dict(m.headers())) for m in world.there.read(dead)]
    assert [headers["__connect.errors.offset"] for _, headers in letters] == [b"0", b"1", b"2"]
    for form, (message, headers) in zip(forms, letters, strict=True):
        assert (message.key() is None) == (form != WHOLE) == (LEFT_OUT in headers)
        assert ("__connect.errors.exception.message" in headers) == (form != LAST_FORM)
        assert headers["__connect.errors.topic"] == world.orders.encode()
        assert headers["__connect.errors.connector.name"] == b"lake/orders"


@pytest.mark.parametrize("known", [pytest.param(True, marks=pytest.mark.long), False], ids=["known", "unknown"])
def test_letters_that_their_topic_takes_in_no_form(world, monkeypatch, known):
    """The run goes on, and says which: when the topic takes more, a redrive writes them."""
    settings = KafkaClient._settings
    if not known:
        monkeypatch.setattr(KafkaClient, "_settings", lambda *of: {})
    dead = world.name("dead")
    world.there.make(dead, max_message_bytes="80")
    world.add(NewRecord(b"k", b"{"), NewRecord(b"k", b'{"name":"x"}'), NewRecord(b"k", b"{"))
    spec = replace(world.spec(), errors_tolerance="all", dead_letter_topic=dead)
    report = world.run(spec)
    assert (report.records_out, report.failed) == (1, 2)
    assert report.unwritten == (Range(world.orders, 0, 0, 1), Range(world.orders, 0, 2, 3))
    (problem,) = [w for w in report.warnings if w.code == "SMT640"]
    assert (problem.place, problem.statement.split(" dead")[0]) == (dead, "2")
    assert world.there.read(dead) == [] and world.run(spec).status == "empty"
    resource = ConfigResource(ResourceType.TOPIC, dead)
    resource.add_incremental_config(
        ConfigEntry("max.message.bytes", "9000", incremental_operation=AlterConfigOpType.SET)
    )
    for future in world.there.client.admin().incremental_alter_configs([resource]).values():
        future.result()
    monkeypatch.setattr(KafkaClient, "_settings", settings)
    again = world.run(replace(spec, window=WindowRequest(redrive=True)))
    assert (again.failed, again.unwritten) == (2, ()) and len(world.there.read(dead)) == 2


def test_records_that_a_topic_refuses_for_their_keys(broker):
    """A topic that is compacted takes none without a key; those with one are there."""
    topics = KafkaTopics(broker.servers)
    Topics(topics).make("compacted", cleanup_policy="compact")
    with transactions(KafkaClient(topics), "compacted", "compacted") as producer:
        for number, key in enumerate([None, b"k", None, b"l", b"m"]):
            producer.send(Outgoing("compacted", iter([(key, b"v", [])]), (number,)))
        producer.commit()
        assert [record.source for record in producer.unwritten] == [(0,), (2,)]
    assert [m.key() for m in Topics(topics).read("compacted")] == [b"k", b"l", b"m"]


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
            client.demands(["there"])
        return
    assert client.demands(["there"]) == known


@pytest.mark.parametrize(("over", "whole"), [(-1, True), (0, True), (1, False), (10_000, False)])
def test_a_letter_as_its_topic_takes_it(over, whole):
    result = sized("value", LIMIT + over, CONTEXT)
    key, value, headers = next(forms_of(result.key, result.value, [*result.headers, *CONTEXT], LIMIT))
    if whole:
        assert (key, value, headers) == (result.key, result.value, [*result.headers, *CONTEXT])
        return
    assert (key, value, headers[:-1]) == (None, None, [*result.headers, *CONTEXT])
    text = f"key 1, value {len(result.value)}, record {LIMIT + over} bytes, limit {LIMIT}"
    assert headers[-1] == (LEFT_OUT, text.encode())


def test_a_letter_with_large_headers_of_its_own():
    """Those of an earlier letter do not count: the last one of each name says what happened."""
    headers = [("h", b"x" * LIMIT), ("__connect.errors.topic", b"older"), *CONTEXT]
    key, value, rest = next(forms_of(None, b"v", headers, LIMIT))
    assert (key, value, sorted(rest[:-1])) == (None, None, sorted(CONTEXT))
    assert rest[-1][1].startswith(b"key null, value 1, record ") and record_size(key, value, rest) <= LIMIT


def test_every_form_of_a_letter():
    """Each is shorter than the one before, and what a topic takes is the first that fits in."""
    reason = [
        ("__connect.errors.exception.message", b"SMT404 " + b"x" * 300),
        ("__connect.errors.exception.class.name", b"c" * 90),
    ]
    letter = b"k" * 100, b"v" * 900, [("h", b"x" * 600), *CONTEXT, *reason]
    identity = {name for name, _ in CONTEXT[:2]}
    forms = list(forms_of(*letter, 10_000, identity))
    names = [[name.rpartition(".")[2] for name, _ in headers] for _, _, headers in forms]
    context = ["topic", "offset", "commit", "message", "name"]
    assert names == [
        ["h", *context],
        ["h", *context, "left_out"],
        [*context, "left_out"],
        ["topic", "offset", "commit", "message", "left_out"],
        ["topic", "offset", "left_out"],
    ]
    assert dict(forms[3][2])["__connect.errors.exception.message"] == b"SMT404"
    sizes = [record_size(*form) for form in forms]
    assert sizes == sorted(sizes, reverse=True) and len({*sizes}) == 5
    for number, size in enumerate(sizes):
        result = next(forms_of(*letter, size, identity))
        assert [name for name, _ in result[2]] == [name for name, _ in forms[number][2]]
    assert list(forms_of(*letter, sizes[-1] - 1, identity)) == []


@pytest.mark.parametrize("lane", [False, True])
def test_spark_measures_as_python_does(spark, lane):
    assert has_lane(spark)
    lengths = (None, 0, 63, 64, 8191, 8192, 2**20 - 1, 2**20)
    rows = [(None if n is None else b"x" * n, None if n is None else b"y" * n, None) for n in lengths]
    rows += [(b"k", None, [("é" * 40, None)] * 70), (b"k", b"v", []), (None, b"v", [("", b""), ("h", b"z" * 64)])]
    rows += [(None, None, [("h", b"")] * count) for count in (61, 62, 63, 64)]
    rows += [(None, None, [("h" * n, b"z" * n)]) for n in lengths[1:]]
    frame = spark.createDataFrame(rows, "key binary, value binary, headers array<struct<key: string, value: binary>>")
    columns = [sql.col(name) for name in ("key", "value", "headers")]
    result = frame.select(F.expr(size_column(*columns, lane=lane).text).alias("size")).collect()
    assert [row["size"] for row in result] == [record_size(k, v, h or []) for k, v, h in rows]
    for further in ({"é": "a" * 63, "source": "b" * 64}, {"group": ""}):
        more = {name: sql.lit(content) for name, content in further.items()}
        sizes = frame.select(F.expr(size_column(*columns, more, lane=lane).text).alias("size")).collect()
        expected = []
        for key, value, headers in rows:
            headers = [*(headers or []), *((name, content.encode()) for name, content in further.items())]
            expected.append(record_size(key, value, headers))
        assert [row["size"] for row in sizes] == expected
