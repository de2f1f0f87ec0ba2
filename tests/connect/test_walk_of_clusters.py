"""A real Connect cluster becomes a project that runs, by the lines of docs/how-to/import-connectors.md."""

import json
import subprocess
import time
from pathlib import Path

import pytest
from deltalake import DeltaTable

from dagster_smt.tables.kafka.spec import KafkaTopics
from dagster_smt.tables.sources.file_writer import NewRecord
from dagster_smt.testing.broker import KafkaBroker, fetch_from_maven, java
from tests.connect.takeover.workers import Worker, iceberg_config
from tests.kafka import Topics
from tests.stores.servers import postgres
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
DEBEZIUM = ("io.debezium", ("debezium-connector-jdbc",), "3.0.0.Final")
ROWS = Path(__file__).parents[1] / "stores" / "java" / "Rows.java"


def connectors(folder, servers, database):
    """An Iceberg sink, a JDBC sink with keys, and a sink with a transform of another vendor."""
    return {
        "lake": {**iceberg_config(folder / "lake", servers, "orders", "shop.orders", "control-lake"), **JSON,
                 **MASK, "transforms.hide.fields": "email"},
        "customers": {
            "connector.class": "io.debezium.connector.jdbc.JdbcSinkConnector",
            "topics": "customers",
            "connection.url": database,
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


def rows_of(database, query):
    """The rows of a query, each as the texts of its columns."""
    (jar,) = fetch_from_maven(*DEBEZIUM).glob("postgresql-*.jar")
    command = [java(), "-cp", str(jar), str(ROWS), database, "sa", query]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return [line.split("\t") for line in done.stdout.splitlines()]


CUSTOMERS = [["1", "Anna"], ["2", "Bob"]]


@pytest.fixture
def cluster(tmp_path):
    """A distributed worker whose three connectors have written, and the address of its broker."""
    common = ("com.github.jcustenborder.kafka.connect", ("kafka-connect-transform-common",), "0.1.0.14")
    jars = tuple(f"{fetch_from_maven(*artifacts)}/*" for artifacts in (common, DEBEZIUM))
    with KafkaBroker(tmp_path / "kafka", {"auto.create.topics.enable": "false"}) as broker, postgres() as database:
        fill(broker.servers)
        with Worker(tmp_path / "worker", broker.servers, jars=jars) as worker:
            configs = connectors(tmp_path, broker.servers, database)
            for name, config in configs.items():
                worker.create(name, config)
            for name in configs:
                worker.until(lambda name=name: works(worker, name))
            worker.until(lambda: rows_of(database, "SELECT id, name FROM customers ORDER BY id") == CUSTOMERS, 300)
            worker.until(lambda: (tmp_path / "lines").exists() and (tmp_path / "lake/shop/orders/data").exists())
            yield worker, broker.servers


def works(worker, name):
    state, tasks = worker.status(name)
    return state == "RUNNING" and set(tasks) == {"RUNNING"}


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
    customers = DeltaTable(tmp_path / "shop" / "lake" / "customers").to_pyarrow_table(columns=["id", "name"])
    assert sorted([str(row["id"]), row["name"]] for row in customers.to_pylist()) == CUSTOMERS
    print(f"the walk: {seconds:.0f} s", flush=True)
    assert seconds < MINUTES * 60


def ids(folder):
    """The ids in a table of Iceberg, read without Spark."""
    from pyiceberg.table import StaticTable

    metadata = folder / "metadata"
    version = (metadata / "version-hint.text").read_text().strip()
    table = StaticTable.from_metadata(str(metadata / f"v{version}.metadata.json"))
    return sorted(table.scan(selected_fields=("id",)).to_arrow()["id"].to_pylist())
