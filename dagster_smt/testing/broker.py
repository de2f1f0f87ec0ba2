"""Starts one Kafka broker (KRaft) on free ports of 127.0.0.1, for tests and experiments. Only Java is required.

``python -m dagster_smt.testing`` starts a broker in the background, and ``--stop`` stops it. The broker's jars are
fetched only once: from Maven Central, through the Ivy that PySpark ships, into a cache folder
(``$XDG_CACHE_HOME/dagster_smt``).
"""

import argparse
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType

from dagster_smt.errors import EngineError, Problem, UnsupportedError
from dagster_smt.foreign.maven import cache_folder as cache_folder
from dagster_smt.foreign.maven import fetch_from_maven as fetch_from_maven
from dagster_smt.foreign.maven import java as java

KAFKA = "4.3.1"
_CLUSTER_ID = "c210LXRlc3QtY2x1c3Rlcg"  # any UUID in Kafka's spelling
_PROPERTIES = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "inter.broker.listener.name": "PLAINTEXT",
    # the internal topics have 3 replicas by default, and one broker can have only 1
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "4",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    # by default, the first member of a group waits 3 s for others
    "group.initial.rebalance.delay.ms": "0",
    "log.cleaner.backoff.ms": "500",
    "log.retention.ms": "-1",  # the records of tests and demos have old timestamps
}
_SECONDS = 60


def fetch_jars(*artifacts: str, folder: Path | None = None) -> Path:
    """Fetches artifacts of Apache Kafka with their dependencies.

    Args:
        artifacts: The names of the artifacts, such as ``connect-json``. By default, the artifacts that a broker needs.
        folder: The folder for the jars.

    Returns:
        A folder of jars.

    Raises:
        UnsupportedError: SMT960 if the jars cannot be fetched.
    """
    return fetch_from_maven("org.apache.kafka", artifacts or ("kafka_2.13",), KAFKA, folder)


def free_port() -> int:
    """Returns the number of a port on 127.0.0.1 that no process uses."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class KafkaBroker:
    """A private broker that a ``with`` statement starts and stops.

    Example:
        .. code-block:: python

            with KafkaBroker(tmp_path) as broker:
                topics = KafkaTopics(broker.servers)

    Args:
        folder: The folder of the broker's log and data. The folder stays when the broker stops, so the broker can
            continue later.
        properties: Additional settings of the broker.
        listeners: More listeners by name, such as ``SASL_SSL``; their settings are in ``properties``.
        port: The port of the plain listener; by default a free port.
        outlives: True if the broker continues to run when this process or its terminal is interrupted.
    """

    def __init__(
        self,
        folder: Path,
        properties: Mapping[str, str] | None = None,
        listeners: Sequence[str] = (),
        port: int = 0,
        *,
        outlives: bool = False,
    ):
        self.folder = folder
        self.ports = {"PLAINTEXT": port or free_port(), **{name: free_port() for name in listeners}}
        self._controller = free_port()
        self._properties = dict(properties or {})
        self._process: subprocess.Popen[bytes] | None = None
        self._outlives = outlives

    @property
    def servers(self) -> str:
        """The ``bootstrap.servers`` of the plain listener."""
        return self.servers_of("PLAINTEXT")

    def servers_of(self, listener: str) -> str:
        """Returns the ``bootstrap.servers`` of the listener with the name ``listener``, such as ``SASL_SSL``."""
        return f"127.0.0.1:{self.ports[listener]}"

    @property
    def pid(self) -> int:
        """The process id while the broker is running."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> "KafkaBroker":
        """Starts the broker, and returns when it accepts requests. A broker that was stopped continues with the same
        ports and data.

        Raises:
            UnsupportedError: SMT960 if the jars cannot be fetched.
            EngineError: SMT961 if the broker does not start.
        """
        jars = fetch_jars()
        self.folder.mkdir(parents=True, exist_ok=True)
        properties = self.folder / "server.properties"
        lines = []
        for key, value in self._settings().items():
            lines.append(f"{key}={value}\n")
        properties.write_text("".join(lines))
        # the storage of a broker that was stopped has a format already: StorageTool refuses to format it again
        if not (self.folder / "data" / "meta.properties").exists():
            arguments = ["format", "--standalone", "-t", _CLUSTER_ID, "-c", str(properties)]
            self._java(jars, "kafka.tools.StorageTool", *arguments).wait()
        self._process = self._java(jars, "kafka.Kafka", str(properties))
        self._wait()
        return self

    def _settings(self) -> dict[str, str]:
        names = []
        for name, port in self.ports.items():
            names.append(f"{name}://127.0.0.1:{port}")
        controller = f"127.0.0.1:{self._controller}"
        return {
            **_PROPERTIES,
            "listeners": ",".join([*names, f"CONTROLLER://{controller}"]),
            "advertised.listeners": ",".join(names),
            "controller.quorum.bootstrap.servers": controller,
            "log.dirs": str(self.folder / "data"),
            **self._properties,
        }

    def _java(self, jars: Path, main: str, *arguments: str) -> "subprocess.Popen[bytes]":
        command = [java(), "-Xmx768m", "-cp", f"{jars}/*", main, *arguments]
        with (self.folder / "broker.log").open("ab") as log:
            # Ctrl-C interrupts the process group of the terminal, so a broker that outlives it gets its own session
            return subprocess.Popen(
                command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=self._outlives
            )

    def _wait(self) -> None:
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import AdminClient

        assert self._process is not None
        # log_level 0: until the broker listens, librdkafka would log every refused connection
        admin = AdminClient({"bootstrap.servers": self.servers, "log_level": 0})
        until = time.monotonic() + _SECONDS
        while time.monotonic() < until and self._process.poll() is None:
            with contextlib.suppress(KafkaException):
                if admin.list_topics(timeout=1).brokers:
                    return
            time.sleep(0.1)
        self.kill()
        hint = "look into that file; is another process on its port?"
        raise EngineError(Problem("SMT961", str(self.folder / "broker.log"), "the Kafka broker does not start", hint))

    def stop(self) -> None:
        """Stops the broker cleanly."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """Kills the broker process. The broker gets no time to stop cleanly."""
        self._end(signal.SIGKILL)

    def _end(self, how: signal.Signals) -> None:
        if self._process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(how)
        try:
            self._process.wait(_SECONDS / 2)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    def __enter__(self) -> "KafkaBroker":
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()


def running(folder: Path) -> tuple[str, int] | None:
    """Returns the servers and the process id of the background broker for ``folder``, which ``ensure_running`` has
    started. Returns None if this broker is not running.
    """
    try:
        known = json.loads((folder / "broker.json").read_text())
        servers, pid = str(known["servers"]), int(known["pid"])
    except (OSError, ValueError, KeyError):
        return None
    # The id may belong to another process by now, but only this broker has this file in its command line. Without -ww,
    # ps would cut the line to the width of the terminal.
    processes = subprocess.run(
        ["ps", "-ww", "-o", "args=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    if str(folder / "server.properties") in processes.stdout:
        return (servers, pid)
    return None


def ensure_running(folder: Path, say: Callable[[str], None] = print) -> str:
    """Starts a broker that outlives this process, unless a broker already runs for ``folder``.

    Args:
        folder: The folder for the data of the broker. Its files ``broker.json`` and ``servers`` contain the address of
            the broker.
        say: Receives a line about each step.

    Returns:
        The ``bootstrap.servers`` of the broker.

    Raises:
        UnsupportedError: SMT960 if the jars cannot be fetched.
        EngineError: SMT961 if the broker does not start.
    """
    folder = folder.absolute()
    started = running(folder)
    if started is not None:
        return started[0]
    if not (cache_folder() / f"kafka-{KAFKA}-kafka_2.13").is_dir():
        say(f"fetching Kafka {KAFKA} from Maven Central (44 MB, once)")
    broker = KafkaBroker(folder, outlives=True).start()
    (folder / "broker.json").write_text(json.dumps({"servers": broker.servers, "pid": broker.pid}))
    (folder / "servers").write_text(broker.servers)
    return broker.servers


def main(arguments: Sequence[str] | None = None) -> int:
    """Starts a broker in the background, or stops it, depending on the command-line ``arguments``. Returns the exit
    code.
    """
    parser = argparse.ArgumentParser(prog="python -m dagster_smt.testing", description=__doc__)
    parser.add_argument(
        "--folder", type=Path, default=Path(".kafka"), help="folder for the data of the broker (default: .kafka)"
    )
    parser.add_argument("--stop", action="store_true", help="stop the broker that runs for this folder")
    options = parser.parse_args(arguments)
    folder = options.folder.absolute()
    if options.stop:
        broker = running(folder)
        if broker is not None:
            os.kill(broker[1], signal.SIGTERM)
            until = time.monotonic() + _SECONDS
            while running(folder) and time.monotonic() < until:
                time.sleep(0.1)
        print(f"stopped process {broker[1]}" if broker else "no broker runs for this folder")
        return 0
    try:
        ensure_running(folder)
    except (EngineError, UnsupportedError) as error:
        print(error, file=sys.stderr)
        return 1
    broker = running(folder)
    assert broker is not None
    print(f"Kafka {KAFKA} on {broker[0]}, process {broker[1]}, data in {options.folder}")
    print(f"topics:   dagster-smt topics {broker[0]}")
    print("stop it:  make kafka-stop", flush=True)
    return 0
