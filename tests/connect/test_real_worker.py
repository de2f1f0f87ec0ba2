"""A real Connect worker, asked over its REST API: three connectors become a project, and one goes on with its patch."""

import json
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from dagster.components.testing import create_defs_folder_sandbox

from benchmarks.connect.iceberg import iceberg_worker
from benchmarks.connect.jvm import class_path
from dagster_smt.cli import main
from dagster_smt.testing.broker import fetch_from_maven, fetch_jars
from tests.connect.test_cluster_import import SESSION

pytestmark = [pytest.mark.spark, pytest.mark.long]
KAFKA = "org.apache.kafka.connect."
PLAIN = {
    "key.converter": f"{KAFKA}storage.StringConverter",
    "value.converter": f"{KAFKA}json.JsonConverter",
    "value.converter.schemas.enable": "false",
}
MASK = {"transforms": "m", "transforms.m.type": f"{KAFKA}transforms.MaskField$Value", "transforms.m.fields": "email"}
GROUP = "com.github.jcustenborder.kafka.connect"
FOREIGN = "com.github.jcustenborder.kafka.connect.transform.common."


def connectors(servers, lake):
    return {
        "lake": {
            "connector.class": "org.apache.iceberg.connect.IcebergSinkConnector",
            "topics": "orders",
            "iceberg.tables": "shop.orders",
            "iceberg.tables.default-partition-by": "day(at)",
            "iceberg.control.commit.interval-ms": "300000",
            "iceberg.kafka.bootstrap.servers": servers,
            "iceberg.catalog.type": "hadoop",
            "iceberg.catalog.warehouse": f"file://{lake}",
            **MASK,
            **PLAIN,
        },
        "lines": {"connector.class": "FileStreamSink", "topics": "orders", "file": str(lake / "a"), **MASK, **PLAIN},
        "foreign": {
            "connector.class": "FileStreamSink",
            "topics": "orders",
            "file": str(lake / "lines"),
            "transforms": "t",
            "transforms.t.type": f"{FOREIGN}ToJSON$Value",
            **PLAIN,
        },
    }


def asked(method, address, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(address, data, {"Content-Type": "application/json"}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.loads(answer.read() or b"null")
    except urllib.error.HTTPError as error:
        raise AssertionError(f"{method} {address}: {error.read().decode()}") from None


@pytest.fixture(scope="module")
def worker(broker, tmp_path_factory):
    """The address of a worker with three connectors."""
    folder = tmp_path_factory.mktemp("connect")
    more = [
        fetch_jars("connect-file"),
        fetch_from_maven("com.github.jcustenborder.kafka.connect", ("kafka-connect-transform-common",), "0.1.0.14"),
    ]
    with pytest.MonkeyPatch.context() as patch:
        own = ":".join([class_path(), *(f"{jars}/*" for jars in more)])
        patch.setattr("benchmarks.connect.iceberg.class_path", lambda: own)
        with iceberg_worker(folder, broker.servers, "orders", {}, 0) as running:
            for name, config in connectors(broker.servers, folder).items():
                asked("POST", f"{running._url}/connectors", {"name": name, "config": config})
            yield running._url


def states(address):
    result = asked("GET", f"{address}/connectors?expand=status")
    return {name: about["status"]["connector"]["state"] for name, about in result.items()}


def test_a_cluster_becomes_a_project(worker, broker, monkeypatch):
    monkeypatch.setenv("KAFKA_SERVERS", broker.servers)
    begin = time.monotonic()
    with create_defs_folder_sandbox() as sandbox:
        root = Path(sandbox.defs_folder_path)
        (root / "spark.py").write_text(SESSION)
        assert main(["import", worker, "--sample", "0", "--to", str(root)]) == 1
        index = json.loads((root / "import.json").read_text())
        assert {c["connector"]: c["becomes"] for c in index["connectors"]} == {
            "foreign": "a table (delta, append)",
            "lake": "a table (iceberg, append)",
            "lines": "a table (delta, append)",
        }
        about = {c["connector"]: c["about"] for c in index["connectors"]}
        assert "installed: 1.10.1" in about["lake"]
        foreign = (root / "foreign" / "import.md").read_text()
        assert "jcustenborder/kafka-connect-transform-common" in foreign
        with sandbox.load_component_and_build_defs(defs_path="lake") as (component, _):
            assert component.schedule == "*/5 * * * *"
    assert time.monotonic() - begin < 300


def test_a_connector_goes_on_with_its_patch(worker, broker, monkeypatch, tmp_path):
    monkeypatch.setenv("KAFKA_SERVERS", broker.servers)
    main(["import", worker, "--sample", "0", "--into", "topic", "--to", str(tmp_path)])
    patch = json.loads((tmp_path / "lines" / "connector.patch.json").read_text())
    config = asked("PATCH", f"{worker}/connectors/lines/config", patch)["config"]
    assert (config["topics"], config["transforms"]) == ("orders.lines", "topicBefore")
    assert "transforms.m.type" not in config and config["connector.class"] == "FileStreamSink"
    until = time.monotonic() + 30
    while states(worker).get("lines") != "RUNNING" and time.monotonic() < until:
        time.sleep(0.2)
    assert states(worker)["lines"] == "RUNNING"
