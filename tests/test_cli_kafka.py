"""The commands about topics on a broker and on files."""

import json
from types import SimpleNamespace

import pytest

from dagster_smt.cli import main
from dagster_smt.cli.topic_commands import topics_at
from dagster_smt.errors import ConfigError
from dagster_smt.model.secrets import resolved
from dagster_smt.model.windows.window import Range
from dagster_smt.tables.available import TopicEnds, Waiting
from dagster_smt.tables.sources.file_writer import NewRecord, append_records
from dagster_smt.tables.topic_table import FileTopics
from dagster_smt.testing.broker import free_port
from tests.kafka import Committed, KafkaTopics, Topics
from tests.registry import Registry


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    lines = [
        '{"key":"k","value":{"a":1},"timestamp":5,"headers":[{"key":"h","value":"x"}]}',
        '{"key":"k","value":null}',
    ]
    (tmp_path / "new.jsonl").write_text("\n".join(lines))

    def call(*arguments):
        code = main(list(arguments))
        out, err = capsys.readouterr()
        return code, out, err

    return call


@pytest.fixture
def there(broker):
    world = Topics(KafkaTopics(broker.servers))
    world.remove()
    world.make("orders", partitions=2)
    return world


def test_topics_of_a_broker(run, there):
    servers = there.spec.servers
    assert run("append", servers, "orders", "new.jsonl", "--partition", "1")[:2] == (
        0,
        "orders-1: 2 records from offset 0\n",
    )
    (record, tombstone) = there.read("orders")
    assert (record.key(), record.value(), record.headers(), record.timestamp()[1]) == (
        b"k",
        b'{"a":1}',
        [("h", b"x")],
        5,
    )
    assert tombstone.value() is None
    there.client.commit("g", {("orders", 1): Committed(1, "")})
    assert run("topics", servers)[1].splitlines() == [
        "topic   partition  earliest  end  records",
        "orders          0         0    0        0",
        "orders          1         0    2        2",
        "1 topics, 2 records",
    ]
    code, out, _ = run("topics", servers, "--group", "g", "--pattern", "or.*")
    assert code == 0 and out.splitlines()[2:] == [
        "orders          1         0    2        2          1    1",
        "1 topics, 2 records, lag 1",
    ]
    (_, row) = map(json.loads, run("topics", servers, "--group", "g", "--json")[1].splitlines())
    assert row == {"topic": "orders", "partition": 1, "earliest": 0, "end": 2, "records": 2, "committed": 1, "lag": 1}
    assert run("topics", servers, "--pattern", "none")[1].endswith("0 topics, 0 records\n")


def test_a_key_chooses_the_partition(run, there):
    code, out, _ = run("append", there.spec.servers, "orders", "new.jsonl")
    assert code == 0 and out.endswith(": 2 records from offset 0\n")


def test_topics_of_files(run):
    run("append", "topics", "orders", "new.jsonl", "--partition", "1")
    code, out, _ = run("topics", "topics")
    assert code == 0 and out.splitlines()[1:] == ["orders          1         0    2        2", "1 topics, 2 records"]
    assert run("topics", "topics", "--group", "g")[2].startswith("SMT522 ")


def test_topics_are_made_if_that_is_asked_for(run, there):
    servers = there.spec.servers
    assert run("append", servers, "new", "new.jsonl")[2].endswith("on the command line append has --create N\n")
    assert run("append", servers, "new", "new.jsonl", "--create", "3", "--partition", "2")[0] == 0
    assert run("append", servers, "new", "new.jsonl", "--create", "5", "--partition", "0")[0] == 0, "it is there"
    assert run("topics", servers, "--create", "empty", "--partitions", "2")[0] == 0
    listed = [line.split()[:2] for line in run("topics", servers)[1].splitlines()[1:-1]]
    assert [tuple(line) for line in listed if line[0] != "orders"] == [
        *(("empty", "0"), ("empty", "1")),
        *(("new", "0"), ("new", "1"), ("new", "2")),
    ]
    with pytest.raises(SystemExit):
        run("append", servers, "new", "new.jsonl", "--create", "0")


def test_a_schema_is_proposed_from_the_last_records(run, there, tmp_path):
    servers = there.spec.servers
    lines = [f'{{"key":"{n}","value":{{"id":{n},"due":"2026-01-3{n % 2}"}}}}' for n in range(9)]
    (tmp_path / "orders.jsonl").write_text("\n".join(lines))
    run("append", servers, "orders", "orders.jsonl")
    code, out, err = run("schema", servers, "orders", "--sample", "5")
    assert (code, err) == (0, "")
    assert "from the last 5 records of orders" in out and "  id BIGINT,\n  due DATE\n" in out
    assert f"'properties.bootstrap.servers' = '{servers}'" in out and "The key equals the value's field id" in out
    assert run("schema", servers, "orders", "--write", "orders.sql") == (
        (0, "orders.sql: 2 columns, from the last 9 records of orders\n", "")
    )
    (tmp_path / "none.properties").write_text("transforms=")
    code, out, _ = run("preview", "none.properties", servers, "--topic", "orders", "--table", "orders.sql")
    assert code == 0 and '"due":"2026-01-3' in out
    assert run("schema", servers, "orders", "--write", "orders.sql")[2].startswith("SMT019 orders.sql")
    (tmp_path / "c.json").write_text('{"name":"o","config":{"connector.class":"FileStreamSink","topics":"orders"}}')
    code, out, _ = run("import", "c.json", "--bootstrap-servers", servers, "--to", "defs")
    assert code == 0 and "schema: o.sql: 2 columns from the last 9 records of orders" in out
    assert "the last records are string in all 9" in out and "the last records are json in all 9" in out


ORDER = '{"type":"record","name":"Order","fields":[{"name":"id","type":"long"}]}'


def test_a_schema_of_a_registry_that_does_not_help(run, tmp_path):
    """It has no such schema, or one that has no fields, or is not there; or nothing names a schema."""
    with Registry() as registry:
        url, number = registry.url, registry.add("orders-value", ORDER)
        words = registry.add("words-value", '"string"')
        for topic, schema in (("orders", number), ("strange", 99), ("words", words)):
            record = NewRecord(b"k", schema.to_bytes(5, "big") + b"\x02")
            append_records(FileTopics(tmp_path / "topics"), topic, [record])
        append_records(FileTopics(tmp_path / "topics"), "plain", [NewRecord(b"k", b'{"id":1}')])
        code, out, err = run("schema", "topics", "orders", "--schema-registry", url)
        assert (code, err) == (0, "") and "  id BIGINT NOT NULL\n" in out and "1 are in use" in out
        code, out, err = run("schema", "topics", "words", "--schema-registry", url)
        assert (code, err) == (0, "") and "has no fields" in out and "CREATE TABLE" not in out
        code, out, err = run("schema", "topics", "strange", "--schema-registry", url)
        assert (code, out) == (1, "") and err.startswith("SMT441 the schema with id 99 cannot be used")
        plain = run("schema", "topics", "plain", "--schema-registry", url)
        assert plain == run("schema", "topics", "plain") and "  id BIGINT," in plain[1]
    code, out, _ = run("schema", "topics", "orders")
    assert code == 0 and "name a schema of a registry" in out and "CREATE TABLE" not in out
    code, out, err = run("schema", "topics", "orders", "--schema-registry", f"http://127.0.0.1:{free_port()}")
    assert (code, out) == (1, "") and err.startswith("SMT636 ")


CLIENT_PROPERTIES = """
# as Kafka's own tools take them
security.protocol=PLAINTEXT
sasl.mechanism=PLAIN
sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username="me" password="hunter2";
ssl.key.password=hunter3
"""


def test_properties_with_passwords_are_taken_and_not_shown(run, there, tmp_path):
    (tmp_path / "client.properties").write_text(CLIENT_PROPERTIES)
    servers = there.spec.servers
    code, out, err = run("topics", servers, "--command-config", "client.properties")
    assert code == 0 and "orders" in out and "hunter" not in out + err
    spec = topics_at(servers, tmp_path / "client.properties")
    assert "hunter" not in repr(spec) + str(spec.options)
    assert resolved(spec.options, "")["kafka.ssl.key.password"] == "hunter3"


def test_client_properties_are_read_as_java_reads_them(tmp_path):
    """A part of a secret must not become an option of its own, whose name or value a message may show."""
    text = "sasl.mechanism : PLAIN\nsasl.jaas.config=a.PlainLoginModule required \\\n"
    text += '  username="me" \\\n  password="hunter2";\nssl.endpoint.identification.algorithm=\n'
    file = tmp_path / "client.properties"
    file.write_text(text)
    spec = topics_at("kafka:9092", file)
    assert resolved(spec.options, "") == {
        "kafka.sasl.mechanism": "PLAIN",
        "kafka.sasl.jaas.config": 'a.PlainLoginModule required username="me" password="hunter2";',
        "kafka.ssl.endpoint.identification.algorithm": "",
    }
    assert "hunter2" not in str(spec.options) + repr(spec)
    file.write_text("security.protocol=SSL\nhunter2\n")
    with pytest.raises(ConfigError, match=r"SMT003 client.properties: 1 lines") as raised:
        topics_at("kafka:9092", file)
    assert "hunter2" not in str(raised.value)


@pytest.mark.parametrize(("committed", "lag"), [(3, 12), (10, 5), (12, 3), (15, 0), (17, 0)])
def test_a_group_that_reads_open_transactions_has_less_lag(run, monkeypatch, committed, lag):
    ends = TopicEnds([Range("orders", 0, 0, 10)], waiting=[Waiting("orders", 0, 10, 5)])
    source = SimpleNamespace(topics=lambda: ["orders"], measure=lambda names: ends)
    monkeypatch.setattr("dagster_smt.tables.sources.open_source", lambda topics: source)
    monkeypatch.setattr("dagster_smt.cli.topic_commands._committed", lambda *_: {("orders", 0): committed})
    (row,) = map(json.loads, run("topics", "kafka:9092", "--group", "g", "--json")[1].splitlines())
    assert (row["end"], row["committed"], row["lag"]) == (10, committed, lag)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["topics", "none"], "SMT500"),
        (["topics", "SERVERS", "--pattern", "("], "SMT509"),
        (["topics", "SERVERS", "--command-config", "client.properties"], "SMT003"),
        (["append", "SERVERS", "none", "new.jsonl"], "SMT586"),
        (["topics", "SERVERS", "--group", "none"], "SMT522"),
        (["topics", "topics", "--create", "orders"], "SMT025"),
    ],
)
def test_problems(run, there, tmp_path, arguments, code):
    (tmp_path / "client.properties").write_text("# mine\nssl.key.password=hunter2\nno property\n")
    code_, out, err = run(*(there.spec.servers if a == "SERVERS" else a for a in arguments))
    assert (code_, out) == (1, "") and err.startswith(code) and "hunter2" not in err
