"""A Dagster with its web interface on a free port, and a browser: Debian's Chromium, or the one that Playwright has."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

import pytest

from dagster_smt.tables.kafka.spec import KafkaTopics, NewTopics
from dagster_smt.tables.sources.file_writer import NewRecord, append_records
from dagster_smt.tables.topic_table import FileTopics
from dagster_smt.testing.broker import free_port
from tests.kafka import Topics

HERE = Path(__file__).parent
MASK = "org.apache.kafka.connect.transforms.MaskField$Value"
CHAIN = f"""\
transforms=hide
transforms.hide.type={MASK}
transforms.hide.field.syntax.version=V2
transforms.hide.fields=customer.name,customer.email
transforms.hide.replacement=***
"""
INSTANCE = """\
telemetry: {enabled: false}
nux: {enabled: false}
run_monitoring: {enabled: true, poll_interval_seconds: 2, cancel_timeout_seconds: 60}
"""


def order(number):
    value = {"id": number, "amount": 5, "customer": {"name": f"name-{number}", "email": f"mail{number}@example.org"}}
    return NewRecord(b"%d" % number, json.dumps(value).encode(), (), 1_700_000_000_000 + number)


class Shop:
    """The folder of the code location, and the server that shows it."""

    def __init__(self, folder, screenshots, servers):
        self.folder, self.screenshots, self.servers = folder, screenshots, servers
        self.topics = FileTopics(folder / "topics")
        self.url = f"http://127.0.0.1:{free_port()}"

    def add(self, topic, records):
        append_records(self.topics, topic, [order(n) for n in range(records)])

    def visit(self, day, records, good=True):
        """Records of a day of November 2023, at noon in UTC."""
        noon = round(datetime(2023, 11, day, 12, tzinfo=timezone.utc).timestamp() * 1000)
        results = [replace(order(n), timestamp=noon + n) for n in range(records)]
        if not good:
            results = [replace(record, value=b"no json") for record in results]
        append_records(self.topics, "visits", results)

    def send(self, topic, records):
        Topics(KafkaTopics(self.servers, create=NewTopics())).add((topic, 0, order(n)) for n in range(records))

    def chain(self, text, name="orders"):
        (self.folder / f"{name}.properties").write_text(text)

    def environment(self):
        home = self.folder / "home"
        home.mkdir(exist_ok=True)
        (home / "dagster.yaml").write_text(INSTANCE)
        return {
            **os.environ,
            "DAGSTER_HOME": str(home),
            "SMT_UI_FOLDER": str(self.folder),
            "SMT_UI_KAFKA": self.servers,
            "SPARK_LOCAL_IP": "127.0.0.1",
            "PYSPARK_PYTHON": sys.executable,
            "DAGSTER_DISABLE_TELEMETRY": "1",
        }

    def start(self):
        port = self.url.rsplit(":", 1)[1]
        command = [
            sys.executable,
            "-m",
            "dagster",
            "dev",
            "-f",
            str(HERE / "project.py"),
            "-h",
            "127.0.0.1",
            "-p",
            port,
        ]
        with (self.folder / "server.log").open("ab") as log:
            self.process = subprocess.Popen(
                command, env=self.environment(), stdout=log, stderr=log, cwd=self.folder, start_new_session=True
            )
        until = time.monotonic() + 120
        while time.monotonic() < until:
            try:
                with urllib.request.urlopen(f"{self.url}/server_info", timeout=2):
                    return
            except OSError:
                time.sleep(0.5)
        raise TimeoutError((self.folder / "server.log").read_text()[-2000:])

    def stop(self):
        os.killpg(self.process.pid, signal.SIGTERM)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)

    def ask(self, query, **variables):
        """GraphQL, as the browser asks it: to wait for what the screen will show."""
        data = json.dumps({"query": query, "variables": variables}).encode()
        request = urllib.request.Request(f"{self.url}/graphql", data, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)["data"]

    def location(self):
        """The name of the code location, as addresses have it."""
        result = self.ask("{repositoriesOrError {... on RepositoryConnection {nodes {name location {name}}}}}")
        (node,) = result["repositoriesOrError"]["nodes"]
        return f"{node['name']}@{node['location']['name']}"

    def runs(self):
        """Status, tags and assets of all runs, newest first."""
        result = self.ask("{runsOrError {... on Runs {results {runId status tags {key value} assetSelection {path}}}}}")
        return result["runsOrError"]["results"]

    def wait_for_run(self, *statuses, known=(), seconds=240):
        """The newest run that is not known yet, once it has one of the statuses."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            new = [r for r in self.runs() if r["runId"] not in known]
            if new and new[0]["status"] in statuses:
                return new[0]
            if new and new[0]["status"] in ("FAILURE", "CANCELED", "SUCCESS"):
                raise AssertionError(f"the run is {new[0]['status']}, not {statuses}")
            time.sleep(0.5)
        raise TimeoutError(f"no run is {statuses}: {self.runs()[:3]}")

    def launch(self, *path, config, **tags):
        """Launch an asset with a run config, as the Launchpad does."""
        query = """mutation($params: ExecutionParams!) { launchPipelineExecution(executionParams: $params) {
            __typename ... on LaunchRunSuccess { run { runId } } ... on PythonError { message }
            ... on RunConfigValidationInvalid { errors { message } } } }"""
        result = self.ask("{repositoriesOrError {... on RepositoryConnection {nodes {name location {name}}}}}")
        (node,) = result["repositoriesOrError"]["nodes"]
        selector = {
            "repositoryName": node["name"],
            "repositoryLocationName": node["location"]["name"],
            "pipelineName": "__ASSET_JOB",
            "assetSelection": [{"path": list(path)}],
        }
        params = {"selector": selector, "runConfigData": config, "mode": "default"}
        params["executionMetadata"] = {"tags": [{"key": key, "value": value} for key, value in tags.items()]}
        answer = self.ask(query, params=params)
        launched = answer["launchPipelineExecution"]
        assert "run" in launched, launched
        return launched["run"]["runId"]

    def wait_for_log(self, run_id, text, seconds=180):
        """Until a run has said something."""
        query = """query($id: ID!) { logsForRun(runId: $id) { ... on EventConnection {
            events { ... on LogMessageEvent { message } } } } }"""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            events = self.ask(query, id=run_id)["logsForRun"]["events"]
            if any(text in event.get("message", "") for event in events):
                return
            time.sleep(0.5)
        raise TimeoutError(f"the run did not say {text!r}")

    def rows(self, table):
        """How many rows a table has, read without Spark."""
        from deltalake import DeltaTable

        return DeltaTable(str(self.folder / "lake" / table)).to_pyarrow_table().num_rows


@pytest.fixture(scope="session")
def shop(tmp_path_factory, broker):
    folder = tmp_path_factory.mktemp("shop")
    screenshots = Path(os.environ.get("SMT_UI_SCREENSHOTS") or folder / "screenshots")
    screenshots.mkdir(parents=True, exist_ok=True)
    shop = Shop(folder, screenshots, broker.servers)
    for number in range(20):
        shop.add(f"shop.t{number:02}", 50)
    shop.add("orders", 20)
    shop.add("history", 20_000)
    shop.send("clicks", 40)
    shop.visit(13, 3)
    shop.visit(14, 5)
    shop.visit(15, 2, good=False)
    shop.chain(CHAIN, "masked")
    shop.chain(CHAIN.replace("customer.name", "customer.nmae"))
    shop.start()
    yield shop
    shop.stop()


@pytest.fixture(scope="session")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="`make test-ui` installs Playwright")
    result = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=result, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def page(browser, shop, request):
    page = browser.new_page(viewport={"width": 1500, "height": 950})
    page.set_default_timeout(60_000)
    yield page
    page.screenshot(path=shop.screenshots / f"{request.node.name}.png")
    page.close()
