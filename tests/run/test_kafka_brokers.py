"""Runs while brokers die, and brokers that want a login over TLS."""

import threading
import time
from dataclasses import replace

import pytest

from dagster_smt.errors import EngineError
from dagster_smt.tables.kafka.spec import KafkaTopics, NewTopics
from dagster_smt.tables.sink_options import DeltaSink
from dagster_smt.tables.sources.file_writer import NewRecord
from dagster_smt.tables.topic_table import TopicTable
from dagster_smt.testing import KafkaBroker
from tests.kafka import Topics
from tests.run.test_kafka import World, order

PASSWORD = "right-4711"
VARIABLE = "SMT_TEST_KAFKA_PASSWORD"


@pytest.fixture
def own(broker, tmp_path):
    """A broker that a test may kill; ``broker`` has seen that the jars are there."""
    with KafkaBroker(tmp_path / "broker") as running:
        yield running


class Dying(World):
    """A world whose broker dies when a run begins to evaluate."""

    def __init__(self, folder, session, broker, patience):
        super().__init__(folder, session, broker.servers)
        self.broker = broker
        patient = {"kafkaConsumer.pollTimeoutMs": str(patience * 1000), "kafka.request.timeout.ms": "3000",
                   "kafka.default.api.timeout.ms": str(patience * 1000)}  # fmt: skip
        self.topics = replace(self.topics, options=patient, timeout=patience)

    def run_while_it_dies(self, back_after=None):
        """Run; kill the broker when it evaluates, and start it again after some seconds."""
        restarted = []

        def say(line):
            self.lines.append(line)
            if line == "evaluating":
                self.broker.kill()
                if back_after is not None:
                    restarted.append(threading.Timer(back_after, self.broker.start))
                    restarted[0].start()

        from dagster_smt.run.batch import run

        try:
            return run(self.spec(), self.session, say)
        finally:
            for timer in restarted:
                timer.join()


@pytest.mark.long
def test_a_broker_dies_and_comes_back(spark, tmp_path, own):
    world = Dying(tmp_path, spark, own, 60)
    world.add(*(order(n) for n in range(200)))
    report = world.run_while_it_dies(back_after=2)
    assert report.records_out == 200 and [o for _, o in world.offsets()] == list(range(200))
    world.add(*(order(n) for n in range(5)))  # the same broker, as a later leader
    (first, before), (later, after) = sorted(epochs_of(world).items())
    assert (before, after) == (200, 5) and first < later


def epochs_of(world):
    """How many records of each leader epoch a table has whose statement declares it."""
    columns = "name STRING, `leader-epoch` INT METADATA VIRTUAL"
    table = TopicTable(world.topics, (world.orders,), columns=columns)
    sink = DeltaSink(world.folder / "epochs", "columns")
    world.run(replace(world.spec([]), table=table, sink=sink))
    rows = world.session.read.format("delta").load(str(world.folder / "epochs"))
    return {row[0]: row[1] for row in rows.groupBy("leader-epoch").count().collect()}


@pytest.mark.long
def test_a_broker_is_gone_for_good(spark, tmp_path, own):
    world = Dying(tmp_path, spark, own, 6)
    world.add(*(order(n) for n in range(20)))
    with pytest.raises(EngineError) as caught:
        world.run_while_it_dies()
    assert [p.code for p in caught.value.problems] == ["SMT625"]
    assert world.spec().sink.place and open_state(world) is None
    own.start()
    world.topics = replace(world.topics, options={}, timeout=30)
    assert world.run().records_out == 20 and len(world.offsets()) == 20


def open_state(world):
    from dagster_smt.tables.sinks import open_table

    return open_table(world.session, world.spec().sink).state()


# --- logins ---


def pem(folder):
    """A certificate authority, and a broker's key and certificate in one file as Kafka reads them."""
    import trustme
    from cryptography.hazmat.primitives import serialization

    authority = trustme.CA()
    issued = authority.issue_cert("127.0.0.1", "localhost")
    key = serialization.load_pem_private_key(issued.private_key_pem.bytes(), None)
    form = serialization.PrivateFormat.PKCS8
    text = key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())
    store = folder / "broker.pem"
    store.write_bytes(text + b"".join(blob.bytes() for blob in issued.cert_chain_pems))
    authority.cert_pem.write_to_path(str(folder / "ca.pem"))
    trustme.CA().cert_pem.write_to_path(str(folder / "other.pem"))
    return store


@pytest.fixture
def guarded(broker, tmp_path):
    """A broker with a listener that wants SASL/PLAIN over TLS."""
    login = "org.apache.kafka.common.security.plain.PlainLoginModule required"
    protocols = ("PLAINTEXT", "SASL_SSL")
    properties = {
        "listener.security.protocol.map": ",".join([*(f"{p}:{p}" for p in protocols), "CONTROLLER:PLAINTEXT"]),
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl_ssl.plain.sasl.jaas.config": f'{login} user_alice="{PASSWORD}";',
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(pem(tmp_path)),
    }
    with KafkaBroker(tmp_path / "broker", properties, ["SASL_SSL"]) as running:
        yield running


def login(broker, folder, **changes):
    module = "org.apache.kafka.common.security.plain.PlainLoginModule"
    options = {
        "kafka.security.protocol": "SASL_SSL",
        "kafka.sasl.mechanism": "PLAIN",
        "kafka.sasl.jaas.config": f'{module} required username="alice" password="${{env:{VARIABLE}}}";',
        "kafka.ssl.truststore.type": "PEM",
        "kafka.ssl.truststore.location": str(folder / "ca.pem"),
        **changes,
    }
    return KafkaTopics(broker.servers_of("SASL_SSL"), options, create=NewTopics(), timeout=6)


@pytest.mark.long
def test_a_login_over_tls(spark, tmp_path, guarded, monkeypatch, capfd):
    """Right and wrong credentials; the password is in no message, no line and no state."""
    world = World(tmp_path, spark, guarded.servers)
    world.add(order(0), NewRecord(b"k", b"no json"))
    monkeypatch.setenv(VARIABLE, PASSWORD)
    world.topics = login(guarded, tmp_path)
    assert (
        world.run(topics=(world.orders,), errors_tolerance="all", dead_letter_topic=world.name("dead")).records_out == 1
    )
    assert len(Topics(world.topics).read(world.name("dead"))) == 1
    into = world.to_kafka(errors_tolerance="all", dead_letter_topic=world.name("dead"))
    assert world.run(into).records_out == 1
    wrong = {
        "SMT626": (login(guarded, tmp_path), f"wrong-{PASSWORD}"),
        "SMT627": (
            login(guarded, tmp_path, **{"kafka.ssl.truststore.location": str(tmp_path / "other.pem")}),
            PASSWORD,
        ),
        "SMT625": (replace(login(guarded, tmp_path), bootstrap_servers="127.0.0.1:1"), PASSWORD),
    }
    for code, (topics, password) in wrong.items():
        monkeypatch.setenv(VARIABLE, password)
        started = time.monotonic()
        with pytest.raises(EngineError) as caught:
            world.run(world.spec(source=topics))
        assert [p.code for p in caught.value.problems] == [code] and time.monotonic() - started < 20
        assert PASSWORD not in str(caught.value)
    message = "\n".join([*world.lines, repr(world.topics), repr(into), str(world.state()), *capfd.readouterr()])
    assert PASSWORD not in message
