"""Runs a standalone worker of Kafka Connect that copies a topic through a chain. All rounds use the same JVM."""

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from benchmarks.connect.jvm import Jvm, class_path, started, write_properties
from dagster_smt.testing.broker import free_port

TASKS = 2
_SOURCE = Path(__file__).with_name("TopicWriter.java")
_BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"
_JSON = "org.apache.kafka.connect.json.JsonConverter"


class Worker:
    """A running worker of Kafka Connect. Each call of ``round`` copies all records once."""

    def __init__(self, running: Jvm):
        self._running = running

    def opened(self, partitions: int) -> None:
        """Waits until the tasks have shared the partitions equally. At first, a single task has all partitions for a
        moment.
        """
        ready = 0
        while ready < TASKS:
            ready += self._running.line_after("open") == str(partitions // TASKS)

    def round(self) -> float:
        """Copies all records. Returns the seconds until the broker has acknowledged the last record."""
        self._running.begin()
        return float(self._running.line_after("seconds"))


@contextmanager
def worker(
    folder: Path, servers: str, topic: str, partitions: int, chain: Mapping[str, str], records: int
) -> Iterator[Worker]:
    """Starts a worker of Kafka Connect with one sink connector of two tasks, and yields it. Kills the worker at the end
    of the block.

    Args:
        folder: The folder for the compiled classes, the settings and the log.
        servers: The addresses of the broker.
        topic: The topic to read.
        partitions: The number of partitions of the topic.
        chain: The ``transforms`` properties.
        records: The number of records in a round.
    """
    classes = _compiled(folder)
    files = [folder / "worker.properties", folder / "connector.properties"]
    for file, settings in zip(
        files, (_worker(folder, servers), _connector(servers, topic, chain, records)), strict=True
    ):
        write_properties(file, settings)
    main = "org.apache.kafka.connect.cli.ConnectStandalone"
    arguments = ["-Xmx1g", "-cp", f"{class_path()}:{classes}", main, *map(str, files)]
    with started(arguments, folder / "worker.log") as running:
        result = Worker(running)
        result.opened(partitions)
        yield result


def _compiled(folder: Path) -> Path:
    home = os.environ.get("JAVA_HOME")
    compiler = str(Path(home) / "bin" / "javac") if home else "javac"
    if shutil.which(compiler) is None:
        raise RuntimeError("the comparison with Kafka Connect compiles a connector: install a JDK (javac), not a JRE")
    classes = folder / "classes"
    classes.mkdir(parents=True, exist_ok=True)
    command = [compiler, "-d", str(classes), "-cp", class_path(), str(_SOURCE)]
    subprocess.run(command, check=True)
    return classes


def _worker(folder: Path, servers: str) -> dict[str, str]:
    return {
        "bootstrap.servers": servers,
        "listeners": f"http://127.0.0.1:{free_port()}",
        "key.converter": _BYTES,
        "value.converter": _JSON,
        "value.converter.schemas.enable": "false",
        "offset.storage.file.filename": str(folder / "offsets"),
        "offset.flush.interval.ms": "3600000",
        "plugin.discovery": "only_scan",
        "consumer.auto.offset.reset": "earliest",
        "consumer.max.poll.records": "5000",
    }


def _connector(servers: str, topic: str, chain: Mapping[str, str], records: int) -> dict[str, str]:
    writer = {"bootstrap.servers": servers, "linger.ms": "20", "batch.size": "131072"}
    return {
        "name": "benchmark",
        "connector.class": "TopicWriter",
        "tasks.max": str(TASKS),
        "topics": topic,
        "expected.records": str(records),
        **{f"writer.{key}": value for key, value in writer.items()},
        **chain,
    }
