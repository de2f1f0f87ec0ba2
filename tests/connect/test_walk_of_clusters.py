"""A real Connect cluster becomes a project that runs, by the lines of docs/how-to/import-connectors.md."""

import json
import time

import pytest

from dagster_smt.tables.kafka.spec import KafkaTopics
from dagster_smt.tables.sources.file_writer import NewRecord
from dagster_smt.testing.broker import KafkaBroker, fetch_from_maven
from tests.connect.takeover.workers import Worker, iceberg_config
from tests.kafka import Topics
from tests.stores.servers import H2
from tests.test_tutorial import Shell, check_shown, make_project, part

pytestmark = [pytest.mark.spark, pytest.mark.long]
PAGE = "docs/how-to/import-connectors.md"
KAFKA = "org.apache.kafka.connect."
JSON = {
    "key.converter": f"{KAFKA}storage.StringConverter",
    "value.converter": f"{KAFKA}json.JsonConverter",
    "value.converter.schemas.enable": "false",
}
ENVELOPE = {"key.converter": f"{KAFKA}json.JsonConverter", "value.converter": f"{KAFKA}json.JsonConverter"}
MASK = {"transforms": "hide", "transforms.hide.type": f"{KAFKA}transforms.MaskField$Value"}
FOREIGN = "com.github.jcustenborder.kafka.connect.transform.common.PatternRename$Value"
FIELDS = [{"field": "id", "type": "int32", "optional": False}, {"field": "name", "type": "string", "optional": True}]
MINUTES = 5


def connectors(folder, servers):
    """An Iceberg sink, a JDBC sink with keys (whose task ends, since Debezium upserts into no H2), and a sink with a
    transform of another vendor.
    """
    return {
        "lake": {**iceberg_config(folder / "lake", servers, "orders", "shop.orders", "control-lake"), **JSON,
                 **MASK, "transforms.hide.fields": "email"},
        "customers": {
            "connector.class": "io.debezium.connector.jdbc.JdbcSinkConnector",
            "topics": "customers",
            "connection.url": f"jdbc:h2:file:{folder}/h2;MODE=PostgreSQL",
            "connection.username": "sa",
            "connection.password": "x",
            "insert.mode": "upsert",
            "primary.key.mode": "record_key",
            "primary.key.fields": "id",
            "delete.enabled": "true",
            "schema.evolution": "basic",
            **ENVELOPE,
        },
        "lines": {
            "connector.class": "FileStreamSink",
            "topics": "orders",
            "file": str(folder / "lines"),
            "transforms": "rename",
            "transforms.rename.type": FOREIGN,
            "transforms.rename.field.pattern": "^price$",
            "transforms.rename.field.replacement": "amount",
            **JSON,
        },
    }  # fmt: skip


def struct(fields, payload):
    schema = {"type": "struct", "optional": False, "fields": fields}
    return json.dumps({"schema": schema, "payload": payload}).encode()


def fill(servers):
    """Forty orders; two customers, of whom one changes her name."""
    topics = Topics(KafkaTopics(servers))
    records = []
    for number in range(40):
        value = {"id": number, "email": "a@b.c", "price": number / 4}
        records.append(("orders", number % 2, NewRecord(str(number).encode(), json.dumps(value).encode())))
    for number, name in ((1, "Ann"), (2, "Bob"), (1, "Anna")):
        key = struct(FIELDS[:1], {"id": number})
        records.append(("customers", 0, NewRecord(key, struct(FIELDS, {"id": number, "name": name}))))
    topics.make("control-lake")
    topics.add(records)


@pytest.fixture
def cluster(tmp_path):
    """The address of a distributed worker whose three connectors run, and of its broker."""
    group, artifact, version = H2.split(":")
    common = ("com.github.jcustenborder.kafka.connect", ("kafka-connect-transform-common",), "0.1.0.14")
    debezium = ("io.debezium", ("debezium-connector-jdbc",), "3.0.0.Final")
    jars = []
    for artifacts in (common, debezium, (group, (artifact,), version)):
        jars.append(f"{fetch_from_maven(*artifacts)}/*")
    with KafkaBroker(tmp_path / "kafka", {"auto.create.topics.enable": "false"}) as broker:
        fill(broker.servers)
        with Worker(tmp_path / "worker", broker.servers, jars=tuple(jars)) as worker:
            for name, config in connectors(tmp_path, broker.servers).items():
                worker.create(name, config)
            for name in connectors(tmp_path, broker.servers):
                worker.until(lambda name=name: worker.status(name)[0] == "RUNNING")
            worker.until(lambda: (tmp_path / "lines").exists() and (tmp_path / "lake/shop/orders/data").exists())
            yield worker, broker.servers


def test_a_cluster_becomes_a_project_that_runs(cluster, tmp_path):
    worker, servers = cluster
    make_project(tmp_path, "shop")
    shell = Shell(tmp_path, "shop")
    begin, printed = time.monotonic(), ""
    for language, block in part(PAGE, "## From a cluster to a project that runs", "## A whole cluster"):
        if language == "sh":
            at = time.monotonic()
            here = block.replace("localhost:9092", servers).replace("http://localhost:8083", worker.url)
            printed = shell.run(here.replace(" && pip install -e .", ""))  # the package is on the path already
            print(f"{time.monotonic() - at:.0f} s: {block}{printed}", flush=True)
        else:
            check_shown(block, printed)
    seconds = time.monotonic() - begin
    assert ids(tmp_path / "lake" / "shop" / "orders") == [*range(40)]
    print(f"the walk: {seconds:.0f} s", flush=True)
    assert seconds < MINUTES * 60


def ids(folder):
    """The ids in a table of Iceberg, read without Spark."""
    from pyiceberg.table import StaticTable

    metadata = folder / "metadata"
    version = (metadata / "version-hint.text").read_text().strip()
    table = StaticTable.from_metadata(str(metadata / f"v{version}.metadata.json"))
    return sorted(table.scan(selected_fields=("id",)).to_arrow()["id"].to_pylist())
