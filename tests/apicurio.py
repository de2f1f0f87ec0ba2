"""One schema registry with Confluent's REST interface (Apicurio, in memory) on a free port of 127.0.0.1, for tests.

Java is all it takes. The archive comes from Maven Central through the Ivy that PySpark ships, once, into a cache
folder.
"""

import contextlib
import fcntl
import re
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from dagster_smt.testing.broker import java

VERSION = "2.6.13.Final"
_NAME = "apicurio-registry-app"
_IVY_FILE = f"""\
<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">
  <info organisation="local" module="registry"/>
  <configurations><conf name="default"/></configurations>
  <dependencies>
    <dependency org="io.apicurio" name="{_NAME}" rev="{VERSION}" conf="default->master" transitive="false">
      <artifact name="{_NAME}" type="tar.gz" ext="tar.gz" m:classifier="all"/>
    </dependency>
  </dependencies>
</ivy-module>
"""
_PROPERTIES = {
    "quarkus.http.host": "127.0.0.1",
    "quarkus.http.port": "0",  # it takes a free one and says which
    "registry.ccompat.use-canonical-hash": "true",  # like Confluent's, one id however the JSON is spaced
    "quarkus.datasource.jdbc.min-size": "1",
    "quarkus.datasource.jdbc.initial-size": "1",
    "quarkus.datasource.jdbc.max-size": "8",
}
_OPTIONS = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
_LISTENS = re.compile(r"Listening on: (http://127\.0\.0\.1:\d+)")
_SECONDS = 60


class RegistryError(Exception):
    """The registry cannot be had, or does not start."""


def fetch(cache: Path) -> Path:
    """Fetch the registry, unless the cache has it.

    Args:
        cache: Folder where it is kept between runs; 146 MB.

    Returns:
        The jar to start; its libraries lie in ``lib`` beside it.

    Raises:
        RegistryError: It cannot be fetched.
    """
    home = cache / f"{_NAME}-{VERSION}"
    if not home.is_dir():
        cache.mkdir(parents=True, exist_ok=True)
        with (cache / "lock").open("w") as lock:  # Ivy's cache takes one process at a time
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not home.is_dir():
                with tempfile.TemporaryDirectory(dir=cache) as result:
                    _retrieve(Path(result))
                    (Path(result) / "app").rename(home)
    return home / f"{_NAME}-{VERSION}-runner.jar"


def _retrieve(into: Path) -> None:
    """Download the archive and unpack it into ``app``; Ivy's own copy goes with the folder."""
    import pyspark

    ivy_file = into / "ivy.xml"
    ivy_file.write_text(_IVY_FILE)
    ships = Path(pyspark.__file__).parent / "jars" / "*"
    pattern = f"{into}/[artifact]-[revision](-[classifier]).[ext]"
    what = ["-ivy", str(ivy_file), "-confs", "default", "-retrieve", pattern]
    command = [java(), "-cp", str(ships), "org.apache.ivy.Main", "-cache", str(into / "ivy"), *what]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    archive = into / f"{_NAME}-{VERSION}-all.tar.gz"
    if done.returncode or not archive.is_file():
        raise RegistryError(f"{_NAME} {VERSION} could not be fetched from Maven Central: {done.stdout[-500:]}")
    with tarfile.open(archive) as opened:
        opened.extractall(
            into / "app", **({"filter": "data"} if hasattr(tarfile, "data_filter") else {})
        )  # not before Python 3.11.4


@contextlib.contextmanager
def registry(cache: Path, folder: Path, properties: Mapping[str, str] | None = None) -> Iterator[str]:
    """Run a registry of its own, empty at first; it forgets everything when it stops.

    Example:
        .. code-block:: python

            with registry(cache, tmp_path) as url:
                client = SchemaRegistryClient({"url": url})

    Args:
        cache: Folder where the program is kept between runs.
        folder: Where its log ``registry.log`` goes.
        properties: Settings of Quarkus and Apicurio beside its own.

    Yields:
        The URL for ``SchemaRegistryClient``.

    Raises:
        RegistryError: It cannot be fetched, or does not start.
    """
    jar = fetch(cache.absolute())
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "registry.log"
    settings = [f"-D{key}={value}" for key, value in {**_PROPERTIES, **(properties or {})}.items()]
    command = [java(), *_OPTIONS, *settings, "-jar", str(jar)]
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, cwd=folder)
    try:
        yield f"{_address(process, log)}/apis/ccompat/v7"
    finally:
        process.terminate()
        try:
            process.wait(_SECONDS / 4)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _address(process: "subprocess.Popen[bytes]", log: Path) -> str:
    """Where it listens; it says so once it takes requests."""
    until = time.monotonic() + _SECONDS
    while time.monotonic() < until and process.poll() is None:
        if match := _LISTENS.search(log.read_text(errors="replace")):
            return match[1]
        time.sleep(0.1)
    raise RegistryError(f"the schema registry does not start; look into {log}")
