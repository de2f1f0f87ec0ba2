"""Secrets: refused where they stand in clear, and hidden from what Spark and Dagster show."""

import dagster as dg
import pytest

from dagster_smt import Format, KafkaTopics
from dagster_smt.errors import ConfigError, Problem
from dagster_smt.formats.registry.client import silent_registry
from dagster_smt.model.secrets import without_login
from dagster_smt.orchestration.components.chain import SparkModel, _session
from dagster_smt.orchestration.resources import SparkSessionResource
from dagster_smt.spark.redaction import OPTIONS_SETTING, SETTING, redacting, refuse_shown_secrets

PEM = "-----BEGIN PRIVATE KEY-----\nhunter2\n-----END PRIVATE KEY-----"
JAAS = "x.Module required {};"
KAFKA = [
    ("kafka.ssl.keystore.key", PEM),
    ("kafka.ssl.key.password", "hunter2"),
    ("kafka.anything.at.all", PEM),
    ("kafka.sasl.oauthbearer.config", "client_secret=hunter2"),
    ("kafka.sasl.oauthbearer.token.endpoint.url", "https://me:hunter2@x.example/token"),
    ("kafka.sasl.jaas.config", JAAS.format('password="hunter2"')),
    ("kafka.sasl.jaas.config", JAAS.format("pwd=hunter2")),
    ("kafka.sasl.jaas.config", JAAS.format("apiKey = 'hunter2'")),
    ("kafka.sasl.jaas.config", JAAS.format('awsRoleSecretAccessKey="hunter2"')),
    ("kafka.sasl.jaas.config", JAAS.format('username="${env:U}" PASSWORD="hunter\\"2"')),
    ("kafka.sasl.jaas.config", JAAS.format('ssl.keystore.passphrase="hunter2"')),
]
CLIENT = [
    ("ssl.key.pem", PEM),
    ("ssl.key.pem", "hunter2"),
    ("sasl.oauthbearer.config", "client_secret=hunter2"),
    ("sasl.oauthbearer.assertion.private.key.passphrase", "hunter2"),
    ("sasl.password", "hunter2"),
]
FORMATS = [
    ("url", "https://me:hunter2@registry"),
    ("url", "https://hunter2@registry"),
    ("url", "https://a.example,https://${env:U}:hunter2@b.example"),
    ("basic-auth.user-info", "me:hunter2"),
]
SETTINGS = [
    ("spark.hadoop.fs.s3a.secret.key", "hunter2"),
    ("spark.hadoop.fs.s3a.bucket.lake.session.token", "hunter2"),
    ("spark.hadoop.fs.azure.account.key.lake.dfs.core.windows.net", "hunter2"),
    ("spark.hadoop.fs.azure.account.oauth2.client.secret", "hunter2"),
    ("spark.authenticate.secret", "hunter2"),
    ("spark.ssl.keyPassword", "hunter2"),
    ("spark.hadoop.javax.jdo.option.ConnectionPassword", "4711"),
    ("spark.hadoop.javax.jdo.option.ConnectionURL", "jdbc:postgresql://me:hunter2@db/x"),
    ("spark.sql.catalog.lake.credential", "id:hunter2"),
]
HARMLESS_SETTINGS = {
    "spark.hadoop.fs.s3a.aws.credentials.provider": "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider",
    "spark.security.credentials.hive.enabled": "false",
    "spark.kubernetes.driver.secrets.spark-secret": "/etc/secrets",
    "spark.kubernetes.driver.secretKeyRef.KEY": "spark-secret:key",
    "spark.ssl.keyStore": "/etc/keys.jks",
    "spark.hadoop.hadoop.security.credential.provider.path": "jceks://hdfs/x",
    "spark.network.crypto.keyLength": "256",
    SETTING: "(?i)secret|password",
    "spark.sql.catalog.lake.uri": "https://catalog.example/api",
    "spark.hadoop.fs.s3a.secret.key": "${env:SMT_KEY}",
}
HARMLESS = {
    "kafka.sasl.jaas.config": JAAS.format('useKeyTab=true storeKey=true keyTab="/k" principal="a@B" tokenauth="true"'),
    "kafka.ssl.truststore.certificates": "-----BEGIN CERTIFICATE-----\nabc\n-----END CERTIFICATE-----",
    "kafka.ssl.keystore.key": "${env:SMT_PEM}",
    "kafka.sasl.oauthbearer.token.endpoint.url": "https://${env:U}:${env:P}@x.example/token",
    "kafka.max.partition.fetch.bytes": "1",
}


def refused(make, code):
    with pytest.raises(ConfigError) as caught:
        make()
    assert [p.code for p in caught.value.problems] == [code]
    assert "hunter" not in str(caught.value) and "PRIVATE" not in str(caught.value)


@pytest.mark.parametrize(("name", "value"), KAFKA)
def test_secrets_of_a_cluster(name, value):
    refused(lambda: KafkaTopics("b:9092", {name: value}), "SMT581")


@pytest.mark.parametrize(("name", "value"), CLIENT)
def test_secrets_of_the_other_client(name, value):
    refused(lambda: KafkaTopics("b:9092", client_options={name: value}), "SMT581")


@pytest.mark.parametrize(("name", "value"), FORMATS)
def test_secrets_of_a_registry(name, value):
    refused(lambda: Format("avro-confluent", options={"url": "http://x", name: value}), "SMT581")


@pytest.mark.parametrize(("name", "value"), SETTINGS)
def test_secrets_in_the_settings_of_spark(name, value):
    refused(lambda: SparkSessionResource(conf={name: value}), "SMT048")
    refused(lambda: _session(SparkModel(conf={name: value}).model_dump_json()), "SMT048")


def test_what_has_such_a_word_in_its_name_and_is_no_secret():
    KafkaTopics("b:9092", HARMLESS, {"ssl.ca.pem": HARMLESS["kafka.ssl.truststore.certificates"]})
    SparkSessionResource(conf=HARMLESS_SETTINGS)
    Format("avro-confluent", options={"url": "https://${env:U}:${env:P}@x.example"})


def test_settings_refer_to_the_environment_until_the_session_starts(monkeypatch):
    monkeypatch.setenv("SMT_KEY", "hunter2")
    key = "spark.hadoop.fs.s3a.secret.key"
    for value in (dg.EnvVar("SMT_KEY"), "${env:SMT_KEY}"):
        resource = SparkSessionResource(conf={key: value})
        assert resource._settings[key] == "hunter2"
        definition = dg.Definitions(resources={"spark": resource}).get_repository_def()
        shown = repr(resource) + str(resource.conf) + repr(definition.get_top_level_resources())
        shown += str(resource._resolved_config_dict)
        assert "hunter2" not in shown and "SMT_KEY" in shown
    monkeypatch.delenv("SMT_KEY")
    with pytest.raises(ConfigError, match=f"SMT582 conf {key}: refers to SMT_KEY"):
        _ = resource._settings


def test_addresses_are_shown_without_their_login():
    assert without_login("https://me:p/4@x@host/a,http://tok@b/c d") == "https://host/a,http://b/c d"
    shown = str(silent_registry("https://me:hunter2@registry", "it answers 500"))
    assert "hunter2" not in shown and "https://registry" in shown


class Session:
    def __init__(self, **settings):
        self.settings = {name.replace("__", "."): value for name, value in settings.items()}
        self.conf = self

    def get(self, name, default):
        return self.settings.get(name, default)


@pytest.mark.parametrize(("name", "value"), KAFKA[:2] + KAFKA[5:] + [("kafka.sasl.oauthbearer.config", "x=y")])
def test_what_our_sessions_hide(name, value):
    for setting in (SETTING, OPTIONS_SETTING):
        for own in ({}, {setting: "mine"}, {setting: "(?i)mine|yours"}):
            refuse_shown_secrets(Session(**{setting: redacting(own, setting)}), {name: value})


def test_a_session_that_would_print_a_secret_is_refused():
    with pytest.raises(ConfigError) as caught:
        refuse_shown_secrets(Session(), {"kafka.ssl.keystore.key": PEM, "kafka.ssl.key.password": "x"})
    assert [(p.code, p.place) for p in caught.value.problems] == [("SMT047", "kafka.ssl.keystore.key")]
    refuse_shown_secrets(Session(**{SETTING: "keystore"}), {"kafka.ssl.keystore.key": PEM})
    with pytest.raises(ConfigError, match="SMT047"):
        refuse_shown_secrets(Session(**{SETTING: "(?<a"}), {"kafka.ssl.keystore.key": PEM})


def test_problems_show_no_control_characters():
    text = str(Problem("SMT501", "a\x1b[2J\nERROR", "b\x9b", "c\u202ed"))
    assert text == "SMT501 a\\u001b[2J\\nERROR: b\\u009b\n  hint: c\\u202ed"
