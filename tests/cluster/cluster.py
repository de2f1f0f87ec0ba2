"""Spark standalone clusters and Connect servers of a test's own, on 127.0.0.1, each process in a folder of its own."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]
SECONDS = 60


def spark_home() -> Path:
    import pyspark

    return Path(pyspark.__file__).parent


def environment(folder: Path, **changes: str) -> dict[str, str]:
    """The environment of a process that knows of Python and of this project only what it is told."""
    results = {k: v for k, v in os.environ.items() if k in ("PATH", "HOME", "JAVA_HOME", "LANG")}
    temporary = folder / "tmp"
    temporary.mkdir(parents=True, exist_ok=True)
    # one folder per process for whatever it writes
    return {**results, "TMPDIR": str(temporary), "TZ": "UTC", "SPARK_LOCAL_IP": "127.0.0.1", **changes}


def start(folder: Path, program: str, arguments: Sequence[str], **changes: str) -> subprocess.Popen:
    """Start one of Spark's programs in a folder of its own; what it says goes into ``log``."""
    folder.mkdir(parents=True, exist_ok=True)
    import pyspark

    from dagster_smt.spark.versions import VERSIONS, minor_of

    scala = VERSIONS[minor_of(pyspark.__version__)].scala
    env = environment(folder, SPARK_HOME=str(spark_home()), SPARK_SCALA_VERSION=scala, **changes)
    env["JDK_JAVA_OPTIONS"] = f"-Djava.io.tmpdir={env['TMPDIR']}"
    command = [str(spark_home() / "bin" / program), *arguments]
    with (folder / "log").open("wb") as log:
        return subprocess.Popen(command, cwd=folder, env=env, stdout=log, stderr=log, stdin=subprocess.DEVNULL)


def said(process: subprocess.Popen, folder: Path, pattern: str, times: int = 1) -> re.Match:
    """Wait until a process has said something."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end and process.poll() is None:
        results = list(re.finditer(pattern, (folder / "log").read_text()))
        if len(results) >= times:
            return results[0]
        time.sleep(0.05)
    raise AssertionError(f"no {pattern!r}: {(folder / 'log').read_text()[-3000:]}")


@contextmanager
def ended(processes: list[subprocess.Popen]) -> Iterator[None]:
    """End processes, the youngest first."""
    try:
        yield
    finally:
        for process in reversed(processes):
            process.terminate()
        for process in reversed(processes):
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@contextmanager
def standalone(folder: Path, workers: int = 2) -> Iterator[str]:
    """A master and workers with one core and one GiB each; gives the master's address.

    Each worker has a working folder and a ``spark.local.dir`` of its own below ``folder``.
    """
    deploy, started = "org.apache.spark.deploy", []
    with ended(started):
        place, memory = folder / "master", {"SPARK_DAEMON_MEMORY": "512m"}
        address = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
        started.append(start(place, "spark-class", [f"{deploy}.master.Master", *address], **memory))
        master = said(started[0], place, r"Starting Spark master at (spark://127\.0\.0\.1:\d+)")[1]
        for number in range(workers):
            own = folder / f"worker{number}"
            size = ("--cores", "1", "--memory", "1g", "--work-dir", str(own / "work"))
            arguments = [f"{deploy}.worker.Worker", *address, *size, master]
            started.append(start(own, "spark-class", arguments, SPARK_LOCAL_DIRS=str(own / "local"), **memory))
        said(started[0], place, "Registering worker", workers)
        yield master


@contextmanager
def connect_server(folder: Path, conf: Mapping[str, str], **changes: str) -> Iterator[str]:
    """A Connect server with a session's settings; gives its address."""
    import pyspark

    own = {"spark.connect.grpc.binding.address": "127.0.0.1", "spark.connect.grpc.binding.port": "0"}
    if pyspark.__version__.startswith("3."):  # its server is a package; Spark 4 brings the server along
        server = f"org.apache.spark:spark-connect_2.12:{pyspark.__version__}"
        own["spark.jars.packages"] = ",".join(filter(None, [conf.get("spark.jars.packages"), server]))
    settings = [f"--conf={key}={value}" for key, value in {**conf, **own}.items()]
    arguments = ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer", *settings, "spark-internal"]
    started: list[subprocess.Popen] = []
    with ended(started):
        started.append(start(folder, "spark-submit", arguments, **changes))
        result = said(started[0], folder, r"Connect server started at: \S+:(\d+)")
        yield f"sc://127.0.0.1:{result[1]}"


def python(folder: Path, script: Path, *arguments: str, **changes: str) -> subprocess.CompletedProcess:
    """Run a script that sees this project, in a folder of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH", "")])])
    env = environment(folder, **{"PYTHONPATH": path, **changes})
    command = [sys.executable, str(script), *arguments]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=600)


def files(folder: Path) -> Mapping[str, tuple[int, int]]:
    """Every file below a folder, with its time and size."""
    results = {}
    for path in folder.rglob("*"):
        if path.is_file():
            stat = path.stat()
            results[path.relative_to(folder).as_posix()] = (stat.st_mtime_ns, stat.st_size)
    return results
