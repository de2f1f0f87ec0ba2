"""A whole cluster becomes a project: plug-ins, groups, schedules, sensors, an index, resources of Kubernetes."""

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import ClassVar

import dagster as dg
import pytest
from dagster.components.testing import create_defs_folder_sandbox

from dagster_smt.cli import main
from dagster_smt.connect import connectors_at
from tests.connect.shapes import AVRO, JSON, SECRET, SHAPES, STRING_KEY

ICEBERG = {
    "connector.class": "org.apache.iceberg.connect.IcebergSinkConnector",
    "topics": "orders",
    "iceberg.tables": "shop.orders",
    "iceberg.control.commit.interval-ms": "300000",
    "errors.tolerance": "all",
    "errors.deadletterqueue.topic.name": "orders.dead",
    **AVRO,
    **STRING_KEY,
}
CLUSTER = {
    "orders.lake": {"info": {"config": ICEBERG}, "status": {"connector": {"state": "RUNNING"}}},
    "orders-lake": {"info": {"config": {**SHAPES["OpenSearch"][0], "own|typo`": SECRET}}},
    "files": {"info": {"config": {"connector.class": "FileStreamSink", "topics": "t", **JSON, **STRING_KEY}}},
}
SESSION = """import dagster as dg

from dagster_smt import SparkSessionResource

defs = dg.Definitions(resources={"spark": SparkSessionResource()})
"""
PLUGINS = [{"class": ICEBERG["connector.class"], "type": "sink", "version": "1.10.1"}, {"class": "x"}, 7]


class Connect(BaseHTTPRequestHandler):
    answers: ClassVar[dict[str, object]] = {
        "/": {"version": "4.3.1", "commit": "c", "kafka_cluster_id": "k"},
        "/connectors?expand=info&expand=status": CLUSTER,
        "/connector-plugins?connectorsOnly=false": PLUGINS,
    }

    def do_GET(self):
        answer = self.answers.get(self.path)
        self.send_response(200 if answer is not None else 404)
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())

    def log_message(self, *arguments):
        pass


@pytest.fixture
def rest():
    server = HTTPServer(("127.0.0.1", 0), Connect)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_a_cluster_becomes_a_project(rest, capsys, monkeypatch):
    monkeypatch.setenv("KAFKA_SERVERS", "127.0.0.1:1")
    with create_defs_folder_sandbox() as sandbox:
        root = sandbox.defs_folder_path
        (root / "spark.py").write_text(SESSION)
        assert main(["import", rest, "--sample", "0", "--to", str(root)]) == 1
        folders = {p.name for p in root.iterdir() if p.is_dir()}
        assert {"orders_lake", "orders_lake_2", "files"} <= folders
        index = (root / "import.md").read_text()
        assert "2 of 3 connectors are complete." in index
        assert "Kafka Connect 4.3.1" in index and "2 plug-ins" in index
        assert "| [orders.lake](orders_lake/import.md) | running | a table (iceberg, append) | yes |" in index
        assert "topics for the connector" in index and "own|typo`" in index
        assert "own\\|typo`" in (root / "orders_lake_2" / "import.md").read_text()
        assert "installed: 1.10.1" in (root / "orders_lake" / "import.md").read_text()
        data = json.loads((root / "import.json").read_text())
        assert [c["complete"] for c in data["connectors"]] == [True, False, True]
        assert SECRET not in index + (root / "orders_lake_2" / "import.md").read_text() + capsys.readouterr().out
        with sandbox.load_component_and_build_defs(defs_path="orders_lake") as (component, defs):
            assert isinstance(defs, dg.Definitions)
            assert component.schedule == "*/5 * * * *"
            specs = [spec for asset in defs.assets for spec in getattr(asset, "specs", [asset])]
            assert {spec.group_name for spec in specs} == {"connect"}
            assert any(spec.key.path[-1].endswith("dead_letters") for spec in specs)
        with sandbox.load_component_and_build_defs(defs_path="files") as (component, _):
            assert component.lag_sensor.min_records == 1


def test_a_worker_that_lists_no_plug_ins_is_read_all_the_same(rest, monkeypatch, tmp_path):
    monkeypatch.setattr(Connect, "answers", {"/connectors?expand=info&expand=status": {"files": CLUSTER["files"]}})
    assert main(["import", rest, "--sample", "0", "--to", str(tmp_path / "defs")]) == 0


def test_strict_refuses_what_is_changed(tmp_path):
    (tmp_path / "c.json").write_text(json.dumps({"name": "c", "config": CLUSTER["files"]["info"]["config"]}))
    assert main(["import", str(tmp_path / "c.json"), "--sample", "0"]) == 0
    assert main(["import", str(tmp_path / "c.json"), "--sample", "0", "--strict"]) == 1


def test_the_worker_of_a_file(tmp_path, capsys):
    (tmp_path / "c.json").write_text(json.dumps({"name": "c", "config": {"topics": "t"}}))
    (tmp_path / "worker.properties").write_text("".join(f"{k}={v}\n" for k, v in {**AVRO, **STRING_KEY}.items()))
    arguments = ["import", str(tmp_path / "c.json"), "--sample", "0", "--worker", str(tmp_path / "worker.properties")]
    assert main(arguments) == 0
    out = capsys.readouterr().out
    assert "2 exact" in out and SECRET not in out


RESOURCES = """
apiVersion: kafka.strimzi.io/v1beta2
kind: KafkaConnect
metadata: {name: cluster}
spec:
  config:
    key.converter: org.apache.kafka.connect.storage.StringConverter
    value.converter: org.apache.kafka.connect.json.JsonConverter
    value.converter.schemas.enable: false
---
apiVersion: kafka.strimzi.io/v1beta2
kind: KafkaConnector
metadata: {name: files, labels: {strimzi.io/cluster: cluster}}
spec: {class: FileStreamSink, tasksMax: 2, config: {topics: orders}}
---
apiVersion: platform.confluent.io/v1beta1
kind: Connector
metadata: {name: search}
spec:
  class: io.confluent.connect.elasticsearch.ElasticsearchSinkConnector
  taskMax: 4
  connectClusterRef: {name: connect}
  configs: {topics: orders, key.ignore: true}
"""


def test_resources_of_strimzi_and_confluent(tmp_path):
    (tmp_path / "c.yaml").write_text(RESOURCES)
    files, search = connectors_at(str(tmp_path))
    assert files.config["value.converter.schemas.enable"] == "false"
    assert (search.name, search.config["tasks.max"], search.config["key.ignore"]) == ("search", "4", "true")
    assert "value.converter" not in search.config
