"""Options of Kafka clients: what is taken, what is refused, and that secrets never show."""

import re
from pathlib import Path

import dagster as dg
import pytest

from dagster_smt.errors import ConfigError
from dagster_smt.tables.kafka.client_options import client_config
from dagster_smt.tables.kafka.spec import OURS, KafkaTopics

JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="{}";'
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required username=u password='{}';"


def codes(options, **more):
    with pytest.raises(ConfigError) as caught:
        KafkaTopics("b:9092", options, **more)
    return [(p.code, p.place.removeprefix("KafkaTopics ")) for p in caught.value.problems]


@pytest.mark.parametrize("option", OURS)
def test_options_that_runs_set_themselves(option):
    assert codes({option: "x"}) == [("SMT580", f"options {option}")]


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("kafka.sasl.jaas.config", JAAS.format("hunter2")),
        ("kafka.sasl.jaas.config", SCRAM.format("hunter2")),
        ("kafka.sasl.jaas.config", SCRAM.replace("'", "").format("hunter2")),
        ("kafka.sasl.jaas.config", JAAS.format("x${env:P}")),
        ("kafka.sasl.jaas.config", 'x.OAuthBearerLoginModule required clientId="a" clientSecret="hunter2";'),
        ("kafka.ssl.key.password", "hunter2"),
        ("kafka.ssl.keystore.password", "hunter2"),
        ("kafka.ssl.truststore.password", "hunter2"),
        ("kafka.ssl.keystore.key", "-----BEGIN PRIVATE KEY-----"),
    ],
)
def test_secrets_in_a_definition_are_refused_and_not_quoted(option, value):
    with pytest.raises(ConfigError) as caught:
        KafkaTopics("b:9092", {option: value})
    assert [p.code for p in caught.value.problems] == ["SMT581"]
    assert "hunter2" not in str(caught.value) and "PRIVATE" not in str(caught.value)


def test_secrets_of_the_other_client_are_refused_too():
    assert codes({}, client_options={"sasl.password": "x"}) == [("SMT581", "client_options sasl.password")]


def test_everything_wrong_is_told_at_once():
    result = codes({"subscribe": "x", "kafka.ssl.key.password": "x", "kafka.x": 5}, isolation_level="no", timeout=0)
    assert [code for code, _ in result] == ["SMT580", "SMT580", "SMT581", "SMT580", "SMT580"]
    assert codes({}, isolation_level="x") == [("SMT580", "isolation_level")]
    with pytest.raises(ConfigError, match="SMT580 KafkaTopics bootstrap_servers"):
        KafkaTopics(" ")


def test_references_are_looked_up_when_they_are_needed(monkeypatch):
    options = {
        "kafka.sasl.jaas.config": JAAS.format("${env:SMT_TEST_PASSWORD}"),
        "kafka.ssl.key.password": dg.EnvVar("SMT_TEST_KEY"),
        "groupIdPrefix": "mine",
    }
    topics = KafkaTopics(dg.EnvVar("SMT_TEST_SERVERS"), options, {"sasl.password": "${env:SMT_TEST_PASSWORD}"})
    with pytest.raises(ConfigError) as caught:
        topics.kafka_options()
    assert [p.code for p in caught.value.problems] == ["SMT582", "SMT582"]
    monkeypatch.setenv("SMT_TEST_PASSWORD", "hunter2")
    monkeypatch.setenv("SMT_TEST_KEY", "hunter3")
    monkeypatch.setenv("SMT_TEST_SERVERS", "b:1")
    result = topics.kafka_options()
    assert result == {"sasl.jaas.config": JAAS.format("hunter2"), "ssl.key.password": "hunter3"}
    assert topics.servers == "b:1" and topics.place == "${env:SMT_TEST_SERVERS}"
    assert topics.spark_options() == {"groupIdPrefix": "mine"}
    for shown in (repr(topics), str(topics), repr(vars(topics))):
        assert "hunter" not in shown
    assert topics == KafkaTopics(dg.EnvVar("SMT_TEST_SERVERS"), options, topics.client_options)


FORMS = {
    "nothing": ({}, {}),
    "same names": (
        {"security.protocol": "SSL", "client.id": "me", "fetch.max.bytes": "1"},
        {"security.protocol": "SSL", "client.id": "me"},
    ),
    "login": (
        {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.jaas.config": JAAS.format('p\\"w;=')},
        {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.username": "u", "sasl.password": 'p"w;='},
    ),
    "scram": (
        {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "SCRAM-SHA-256",
            "sasl.jaas.config": SCRAM.format("p"),
        },
        {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "SCRAM-SHA-256",
            "sasl.username": "u",
            "sasl.password": "p",
        },
    ),
    "oauth": (
        {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.oauthbearer.token.endpoint.url": "https://x",
            "sasl.jaas.config": 'x.OAuthBearerLoginModule required clientId="a" clientSecret="b";',
        },
        {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.oauthbearer.token.endpoint.url": "https://x",
            "sasl.oauthbearer.method": "oidc",
            "sasl.oauthbearer.client.id": "a",
            "sasl.oauthbearer.client.secret": "b",
        },
    ),
    "PEM files": (
        {
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": "/ca",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": "/me",
        },
        {"ssl.ca.location": "/ca", "ssl.certificate.location": "/me", "ssl.key.location": "/me"},
    ),
    "PEM texts": (
        {
            "ssl.truststore.certificates": "CA",
            "ssl.keystore.certificate.chain": "CHAIN",
            "ssl.keystore.key": "KEY",
            "ssl.key.password": "p",
        },
        {"ssl.ca.pem": "CA", "ssl.certificate.pem": "CHAIN", "ssl.key.pem": "KEY", "ssl.key.password": "p"},
    ),
    "PKCS12": (
        {"ssl.keystore.type": "PKCS12", "ssl.keystore.location": "/p12", "ssl.keystore.password": "p"},
        {"ssl.keystore.location": "/p12", "ssl.keystore.password": "p"},
    ),
    "no host names": (
        {"ssl.endpoint.identification.algorithm": ""},
        {"ssl.endpoint.identification.algorithm": "none"},
    ),
}


@pytest.mark.parametrize(("java", "librdkafka"), FORMS.values(), ids=list(FORMS))
def test_options_have_a_form_for_the_other_client(java, librdkafka):
    assert client_config(java, {}, "b:1") == {"bootstrap.servers": "b:1", **librdkafka}


REFUSED = {
    "Java's stores": ({"ssl.truststore.location": "/jks"}, "ssl.truststore.location"),
    "Java's keys": ({"ssl.keystore.location": "/jks"}, "ssl.keystore.location"),
    "a mechanism": (
        {"security.protocol": "SASL_SSL", "sasl.mechanism": "AWS_MSK_IAM", "sasl.jaas.config": "x"},
        "sasl.mechanism",
    ),
    "no user": ({"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN"}, "sasl.jaas.config"),
}


@pytest.mark.parametrize(("java", "option"), REFUSED.values(), ids=list(REFUSED))
def test_what_has_no_form_is_told(java, option):
    with pytest.raises(ConfigError, match=rf"SMT583 KafkaTopics options kafka\.{option}"):
        client_config(java, {}, "b:1")


def test_own_options_of_the_other_client_win():
    java = {"ssl.truststore.location": "/jks", "security.protocol": "SASL_SSL", "sasl.mechanism": "AWS_MSK_IAM"}
    own = {"ssl.ca.location": "/pem", "sasl.mechanism": "PLAIN", "sasl.username": "u"}
    assert client_config(java, own, "b:1") == {"bootstrap.servers": "b:1", "security.protocol": "SASL_SSL", **own}


def test_the_documented_example_runs(monkeypatch):
    page = (Path(__file__).parents[3] / "docs" / "kafka.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    names = {}
    exec(code, names)
    monkeypatch.setenv("KAFKA_SERVERS", "b:9093")
    monkeypatch.setenv("KAFKA_PASSWORD", "hunter2")
    config = client_config(names["cluster"].kafka_options(), {}, names["cluster"].servers)
    assert config == {
        "bootstrap.servers": "b:9093",
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "ssl.ca.location": "/etc/kafka/ca.pem",
        "sasl.username": "lake",
        "sasl.password": "hunter2",
    }
    assert names["table"].start == "group:connect-shop" and names["sink"].of("lake/orders").group == "lake/orders"


@pytest.mark.parametrize(
    ("source", "variable", "message"),
    [
        ("localhost:9092", "x", "localhost:9092"),
        (
            "${env:SMT_SERVERS}",
            "kafka-1.example:9092,10.0.0.1:9093",
            "${env:SMT_SERVERS} (kafka-1.example:9092,10.0.0.1:9093)",
        ),
        ("${env:SMT_SERVERS}", "[::1]:9092", "${env:SMT_SERVERS} ([::1]:9092)"),
        ("${env:SMT_SERVERS}", "hunter2", "${env:SMT_SERVERS}"),
        ("${env:SMT_SERVERS}", "user:hunter2@host:9092", "${env:SMT_SERVERS}"),
    ],
)
def test_who_is_not_answered_is_told_where_it_was_looked_for(monkeypatch, source, variable, message):
    monkeypatch.setenv("SMT_SERVERS", variable)
    assert KafkaTopics(source).addressed == message
    assert KafkaTopics(source).place == source
