"""OpenLineage events, through the real client: into a file and to a small server."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from dagster_smt.errors import ConfigError
from dagster_smt.lineage.datasets import DatasetName, path_dataset, table_dataset, topic_dataset
from dagster_smt.lineage.edges import Edge
from dagster_smt.lineage.open_lineage import Assertion, Emitter, LineageRun, OpenLineage, RunOutput

RUN = LineageRun(
    id="6f9619ff-8b86-4d01-b42d-00cf4fc964ff",
    job="lake.orders",
    parent=("7f9619ff-8b86-4d01-b42d-00cf4fc964ff", "nightly"),
    inputs=(DatasetName("kafka://broker:9092", "orders"),),
    output=DatasetName("s3://bucket", "lake/orders"),
)
WRITTEN = RunOutput(
    rows=3,
    bytes=100,
    files=1,
    read={"orders": 4},
    schema={"who": "string"},
    edges=(Edge("who", "value.who", "masking", ("hide",)), Edge("id", "value.id", "identity")),
    assertions=(Assertion("dead_mask", True, "error"), Assertion("held_back", False, "warn")),
)


class Server(ThreadingHTTPServer):
    """A server of OpenLineage that keeps what it gets."""

    def __init__(self, status=201):
        self.bodies, self.keys, self.status = [], [], status
        super().__init__(("127.0.0.1", 0), _Handler)
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.bodies.append((self.path, body))
        self.server.keys.append(self.headers.get("Authorization", ""))
        self.send_response(self.server.status)
        self.end_headers()

    def log_message(self, *args):
        """Silent."""


@pytest.fixture
def server():
    one = Server()
    yield one
    one.shutdown()
    one.server_close()


@pytest.mark.parametrize(
    ("dataset", "namespace", "name"),
    [
        (topic_dataset("a:9092,b:9092", "orders"), "kafka://a:9092", "orders"),
        (path_dataset("s3a://bucket/lake/orders/"), "s3://bucket", "lake/orders"),
        (path_dataset("gs://b"), "gs://b", "/"),
        (path_dataset("abfss://c@acc.dfs.core.windows.net/x"), "abfss://c@acc.dfs.core.windows.net", "x"),
        (path_dataset("/lake/orders"), "file", "/lake/orders"),
        (path_dataset("file:///lake/orders"), "file", "/lake/orders"),
        (table_dataset("lake.db.orders", {}), "lake", "db.orders"),
        (table_dataset("lake.db.orders", {"lake": "arn:aws:glue:eu:1"}), "arn:aws:glue:eu:1", "db.orders"),
        (table_dataset("db.orders", {}), "spark_catalog", "db.orders"),
    ],
)
def test_names_of_datasets(dataset, namespace, name):
    assert (dataset.namespace, dataset.name) == (namespace, name)


def test_events_go_to_a_server(server, monkeypatch):
    monkeypatch.setenv("LINEAGE_KEY", "s3cr3t")
    settings = OpenLineage(url=server.url, api_key="${env:LINEAGE_KEY}", namespace="prod")
    emitter = Emitter(settings, RUN)
    emitter.start()
    emitter.complete(WRITTEN)
    assert [path for path, _ in server.bodies] == ["/api/v1/lineage"] * 3
    assert set(server.keys) == {"Bearer s3cr3t"} and "s3cr3t" not in repr(settings)
    start, complete, checks = (body for _, body in server.bodies)
    assert (start["eventType"], complete["eventType"]) == ("START", "COMPLETE")
    assert start["run"]["runId"] == complete["run"]["runId"] == RUN.id
    assert complete["run"]["facets"]["parent"]["run"]["runId"] == RUN.parent[0]
    assert complete["job"]["namespace"] == "prod" and complete["job"]["name"] == "lake.orders"
    (source,), (table,) = complete["inputs"], complete["outputs"]
    assert (source["namespace"], source["name"]) == ("kafka://broker:9092", "orders")
    assert source["inputFacets"]["inputStatistics"]["rowCount"] == 4
    statistics = table["outputFacets"]["outputStatistics"]
    assert (statistics["rowCount"], statistics["size"], statistics["fileCount"]) == (3, 100, 1)
    fields = table["facets"]["columnLineage"]["fields"]
    (who,) = fields["who"]["inputFields"]
    assert (who["namespace"], who["name"], who["field"]) == ("kafka://broker:9092", "orders", "value.who")
    assert who["transformations"] == [
        {"type": "DIRECT", "subtype": "TRANSFORMATION", "description": "hide", "masking": True}
    ]
    (identity,) = fields["id"]["inputFields"][0]["transformations"]
    assert (identity["subtype"], identity["masking"]) == ("IDENTITY", False)
    assert checks["job"]["name"] == "lake.orders.checks" and checks["inputs"][0]["name"] == "lake/orders"
    assertions = checks["inputs"][0]["inputFacets"]["dataQualityAssertions"]["assertions"]
    assert [(one["assertion"], one["success"]) for one in assertions] == [("dead_mask", True), ("held_back", False)]


def test_events_go_into_a_file(tmp_path):
    """The folder of the file does not have to exist."""
    file = tmp_path / "lineage" / "events.jsonl"
    emitter = Emitter(OpenLineage(file=str(file)), RUN)
    emitter.start()
    emitter.fail(["SMT530"])
    start, fail = map(json.loads, file.read_text(encoding="utf-8").splitlines())
    assert (start["eventType"], fail["eventType"]) == ("START", "FAIL")
    assert fail["run"]["facets"]["errorMessage"]["message"] == "SMT530"


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({}, "SMT771"),
        ({"url": "http://x", "file": "y"}, "SMT771"),
        ({"url": "http://x", "api_key": "clear"}, "SMT772"),
        ({"url": "http://user:password@x"}, "SMT772"),
    ],
)
def test_wrong_settings(settings, code):
    with pytest.raises(ConfigError, match=code) as error:
        OpenLineage(**settings)
    assert "clear" not in str(error.value).replace("clear text", "") and "password@" not in str(error.value)
