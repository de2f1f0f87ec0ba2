"""Workers of Kafka Connect for tests of take-overs: distributed and standalone, which tests may kill."""

import json
import time
import urllib.error
import urllib.request
from pathlib import Path
from subprocess import DEVNULL, Popen

from benchmarks.connect.iceberg import _LOGGING, _class_path
from benchmarks.connect.jvm import write_properties
from dagster_smt.testing.broker import fetch_jars, free_port, java

_SECONDS = 90
PLAIN = {
    "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
}


class Worker:
    """A worker on a port of its own; its state is in topics, or in memory if it is standalone."""

    def __init__(
        self, folder: Path, servers: str, *, standalone: bool = False, name: str = "connect", jars: tuple[str, ...] = ()
    ):
        self.folder, self.servers, self.standalone, self.name, self.jars = folder, servers, standalone, name, jars
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.process: Popen | None = None

    def start(self) -> "Worker":
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "log4j2.properties").write_text(_LOGGING)
        write_properties(self.folder / "worker.properties", self._settings())
        kind = "ConnectStandalone" if self.standalone else "ConnectDistributed"
        classes = ":".join([_class_path(), f"{fetch_jars('connect-file')}/*", *self.jars])
        logging = f"-Dlog4j2.configurationFile={self.folder / 'log4j2.properties'}"
        memory = ("-Xmx512m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
        command = [java(), *memory, logging, "-cp", classes, f"org.apache.kafka.connect.cli.{kind}"]
        with (self.folder / "worker.log").open("ab") as log:
            self.process = Popen(
                [*command, str(self.folder / "worker.properties")], stdin=DEVNULL, stdout=log, stderr=log
            )
        self.until(lambda: isinstance(self.ask("GET", "/connectors"), list))
        return self

    def _settings(self) -> dict[str, str]:
        common = {
            "bootstrap.servers": self.servers,
            "listeners": self.url,
            "plugin.discovery": "only_scan",
            "offset.flush.interval.ms": "500",
            "consumer.auto.offset.reset": "earliest",
            "connector.client.config.override.policy": "All",
            **PLAIN,
        }
        if self.standalone:
            return {**common, "offset.storage.file.filename": str(self.folder / "offsets")}
        topics = {f"{what}.storage.topic": f"{self.name}-{what}" for what in ("config", "offset", "status")}
        factors = {f"{what}.storage.replication.factor": "1" for what in ("config", "offset", "status")}
        few = {"offset.storage.partitions": "1", "status.storage.partitions": "1"}
        pace = {"scheduled.rebalance.max.delay.ms": "0", "session.timeout.ms": "6000", "heartbeat.interval.ms": "1000"}
        return {**common, "group.id": self.name, **topics, **factors, **few, **pace}

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def __enter__(self) -> "Worker":
        return self.start()

    def __exit__(self, *error: object) -> None:
        self.kill()

    def ask(self, method: str, path: str, body: object = None) -> object:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"Content-Type": "application/json"}, method=method)
        with urllib.request.urlopen(request, timeout=30) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    def create(self, name: str, config: dict[str, str]) -> None:
        self.until(lambda: self.ask("PUT", f"/connectors/{name}/config", config))

    def status(self, name: str) -> tuple[str, list[str]]:
        about = self.ask("GET", f"/connectors/{name}/status")
        return about["connector"]["state"], [task["state"] for task in about["tasks"]]

    def until(self, is_done, seconds: float = _SECONDS) -> None:
        end = time.monotonic() + seconds
        last: object = None
        while time.monotonic() < end:
            try:
                if is_done():
                    return
            except (OSError, urllib.error.HTTPError) as error:
                last = error.read() if isinstance(error, urllib.error.HTTPError) else error
            time.sleep(0.1)
        log = (self.folder / "worker.log").read_text()
        raise AssertionError(f"not within {seconds} s: {last} {log[-3000:]}")


def iceberg_config(lake: Path, servers: str, topics: str, table: str, control: str, **more: str) -> dict[str, str]:
    """The configuration of Apache's Iceberg sink with a Hadoop catalog in a folder."""
    return {
        "connector.class": "org.apache.iceberg.connect.IcebergSinkConnector",
        "tasks.max": "2",
        "topics": topics,
        "iceberg.tables": table,
        "iceberg.tables.auto-create-enabled": "true",
        "iceberg.control.topic": control,
        "iceberg.control.commit.interval-ms": "1500",
        "iceberg.control.commit.timeout-ms": "3000",
        "iceberg.kafka.bootstrap.servers": servers,
        "iceberg.catalog.type": "hadoop",
        "iceberg.catalog.warehouse": f"file://{lake}",
        **{name.replace("_", "."): value for name, value in more.items()},
    }
