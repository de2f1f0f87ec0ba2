"""Runs a standalone worker of Kafka Connect with the Iceberg project's own sink connector. In each round, the worker
writes a topic into a new table.
"""

import json
import shutil
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyspark

from benchmarks.connect.jvm import class_path, started, write_properties
from dagster_smt.testing.broker import fetch_from_maven, free_port

VERSION = "1.10.1"
TASKS = 2
_ARTIFACTS = ("iceberg-kafka-connect", "iceberg-parquet")
_BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"
_JSON = "org.apache.kafka.connect.json.JsonConverter"
_SECONDS = 300
_COMMIT_MILLIS = 5000
_LOGGING = """rootLogger.level = warn
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d %p %c %m%n%ex{3}
"""


class IcebergWorker:
    """A running worker of Kafka Connect. In each round, a new connector writes all records into a new Iceberg table."""

    def __init__(self, url: str, folder: Path, servers: str, topic: str, chain: Mapping[str, str], records: int):
        self._url, self._folder, self._servers = url, folder, servers
        self._topic, self._chain, self._records = topic, chain, records
        self._rounds = 0

    def round(self) -> float:
        """Writes all records into a new table. Returns the seconds from the moment when both tasks are running until
        all records are committed.
        """
        self._rounds += 1
        name = f"iceberg{self._rounds}"
        self._ask("POST", "/connectors", {"name": name, "config": self._config(name)})
        self._wait(lambda: self._running(name) == TASKS)
        began = time.perf_counter()
        self._wait(lambda: self._committed(name) >= self._records)
        seconds = time.perf_counter() - began
        if self._committed(name) != self._records:
            raise RuntimeError(f"{self._records} records were to be committed; {self._committed(name)} were")
        self._ask("DELETE", f"/connectors/{name}")
        shutil.rmtree(self._folder / "lake")
        return seconds

    def ready(self) -> None:
        """Waits until the worker answers requests."""
        self._wait(lambda: self._ask("GET", "/connectors") == [])

    def _wait(self, is_done: Any) -> None:
        end = time.monotonic() + _SECONDS
        while time.monotonic() < end:
            try:
                if is_done():
                    return
            except OSError:
                pass  # the worker does not listen yet
            time.sleep(0.05)
        log = (self._folder / "worker.log").read_text()
        raise RuntimeError(f"Kafka Connect did not come to an end in {_SECONDS} s: {log[-3000:]}")

    def _running(self, name: str) -> int:
        tasks = self._ask("GET", f"/connectors/{name}/status")["tasks"]
        return sum(task["state"] == "RUNNING" for task in tasks)

    def _committed(self, name: str) -> int:
        """Returns the number of records in the current snapshot of the table ``name``; 0 if the table does not exist
        yet.
        """
        metadata = self._folder / "lake" / "bench" / name / "metadata"
        try:
            version = (metadata / "version-hint.text").read_text().strip()
            table = json.loads((metadata / f"v{version}.metadata.json").read_text())
        except (OSError, ValueError):  # the table does not exist yet, or a file is being written
            return 0
        current = table.get("current-snapshot-id")
        summaries = [s["summary"] for s in table.get("snapshots", []) if s["snapshot-id"] == current]
        return int(summaries[0]["total-records"]) if summaries else 0

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._url + path, data, {"Content-Type": "application/json"}, method=method)
        with urllib.request.urlopen(request, timeout=30) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    def _config(self, name: str) -> dict[str, str]:
        return {
            "name": name,
            "connector.class": "org.apache.iceberg.connect.IcebergSinkConnector",
            "tasks.max": str(TASKS),
            "topics": self._topic,
            "iceberg.tables": f"bench.{name}",
            "iceberg.tables.auto-create-enabled": "true",
            "iceberg.control.topic": f"control-{name}",
            "iceberg.control.commit.interval-ms": str(_COMMIT_MILLIS),
            "iceberg.kafka.bootstrap.servers": self._servers,
            "iceberg.catalog.type": "hadoop",
            "iceberg.catalog.warehouse": f"file://{self._folder / 'lake'}",
            **self._chain,
        }


@contextmanager
def iceberg_worker(
    folder: Path, servers: str, topic: str, chain: Mapping[str, str], records: int
) -> Iterator[IcebergWorker]:
    """Starts a worker of Kafka Connect that listens on a port of 127.0.0.1, and yields it. Kills the worker at the end
    of the block.

    Args:
        folder: The folder for the tables, the settings and the log.
        servers: The addresses of the broker.
        topic: The topic to read.
        chain: The ``transforms`` properties.
        records: The number of records in a round.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "log4j2.properties").write_text(_LOGGING)
    port = free_port()
    file = folder / "worker.properties"
    write_properties(file, _worker(folder, servers, port))
    main = "org.apache.kafka.connect.cli.ConnectStandalone"
    # the sink reads the worker's settings from the file that the command line names
    arguments = ["-Xmx2g", f"-Dlog4j2.configurationFile={folder / 'log4j2.properties'}", "-cp", _class_path()]
    with started([*arguments, main, str(file)], folder / "worker.log"):
        worker = IcebergWorker(f"http://127.0.0.1:{port}", folder, servers, topic, chain, records)
        worker.ready()
        yield worker


def _worker(folder: Path, servers: str, port: int) -> dict[str, str]:
    return {
        "bootstrap.servers": servers,
        "listeners": f"http://127.0.0.1:{port}",
        "key.converter": _BYTES,
        "value.converter": _JSON,
        "value.converter.schemas.enable": "false",
        "offset.storage.file.filename": str(folder / "offsets"),
        # a task without new records answers the sink's coordinator only after this time, by default 60 s
        "offset.flush.interval.ms": "500",
        "plugin.discovery": "only_scan",
        "consumer.auto.offset.reset": "earliest",
        "consumer.max.poll.records": "5000",
    }


def _class_path() -> str:
    """Returns the class path: the jars of Kafka Connect, of the Iceberg sink, and of Hadoop. PySpark ships the jars of
    Hadoop.
    """
    ships = Path(pyspark.__file__).parent / "jars"
    names = ("hadoop-client-", "commons-logging-", "log4j-", "slf4j-api-")
    first = [str(jar) for jar in sorted(ships.glob("*.jar")) if jar.name.startswith(names)]
    # before Kafka's jars, whose older slf4j would find no logger, so that no error would be logged
    jars = fetch_from_maven("org.apache.iceberg", _ARTIFACTS, VERSION)
    return ":".join([*first, f"{jars}/*", class_path()])
