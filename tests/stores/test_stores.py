"""Tables in S3 and in catalogs of Iceberg, with real servers: runs, maintenance, dead letters, secrets, two drivers."""

import json
import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pyspark
import pytest

from dagster_smt.spark.packages import JARS, LARGE, PACKAGES
from dagster_smt.spark.versions import VERSIONS, minor_of
from tests.stores import servers
from tests.test_docs import blocks

pytestmark = [pytest.mark.spark, pytest.mark.long]
ROOT = Path(__file__).parents[2]
SECRET = "hunter2-"
"""Each secret begins so."""
KEYS = {"AWS_ACCESS_KEY_ID": SECRET + "id", "AWS_SECRET_ACCESS_KEY": SECRET + "key", "AWS_REGION": "us-east-1"}
DELTA, REST, JDBC = "Delta on S3", "Iceberg with a REST catalog", "Iceberg with a JDBC catalog"
HIVE = "Iceberg with a Hive metastore"
DEFAULTS = """\
spark.master local[2]
spark.driver.memory 1g
spark.log.level WARN
spark.eventLog.enabled true
spark.eventLog.compress false
spark.eventLog.dir {folder}/events
spark.sql.shuffle.partitions 2
spark.sql.codegen.wholeStage false
spark.sql.codegen.factoryMode NO_CODEGEN
spark.sql.adaptive.enabled false
spark.sql.defaultCatalog spark_catalog
"""


class Stores:
    """The servers of a section of the page, and processes with Spark that use them."""

    def __init__(self, title: str, folder: Path, stack: ExitStack, hold: str = ""):
        self.title, self.folder = title, folder
        self.s3 = stack.enter_context(servers.s3(folder / "servers", hold))
        self.client().create_bucket(Bucket="lake")
        self.environment = {"S3_ENDPOINT": self.s3}
        if title == DELTA:
            self.environment |= {"S3_KEY": SECRET + "id", "S3_SECRET": SECRET + "key"}
        else:
            self.environment |= KEYS
        if title == REST:
            uri = stack.enter_context(servers.rest(folder / "servers", self.s3, **KEYS))
            self.environment |= {"CATALOG_URI": uri, "CATALOG_CREDENTIAL": f"smt:{SECRET}credential"}
        if title == JDBC:
            self.environment["CATALOG_URI"] = stack.enter_context(servers.h2(folder / "servers"))
            self.environment["CATALOG_PASSWORD"] = SECRET + "password"
        if title == HIVE:
            self.environment["CATALOG_URI"] = stack.enter_context(servers.hive(folder / "servers", self.s3, **KEYS))

    def client(self):
        import boto3

        keys = {"aws_access_key_id": "any", "aws_secret_access_key": "any", "region_name": "us-east-1"}
        return boto3.client("s3", endpoint_url=self.s3, **keys)

    def start(self, *arguments: str, name: str = "work", **more: str) -> "subprocess.Popen[str]":
        conf = self.folder / "conf"
        (self.folder / "events").mkdir(exist_ok=True)
        conf.mkdir(exist_ok=True)
        (conf / "spark-defaults.conf").write_text(DEFAULTS.format(folder=self.folder))
        environment = {key: value for key, value in os.environ.items() if not key.startswith("AWS_")}
        environment |= {"SPARK_CONF_DIR": str(conf), "PYTHONPATH": str(ROOT), **self.environment, **more}
        command = [sys.executable, "-m", "tests.stores.work", self.title, str(self.folder), *arguments]
        out = (self.folder / f"{name}.out").open("w")
        return subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, env=environment, cwd=self.folder)

    def result(self, process, name: str = "work") -> dict:
        process.wait(580)
        text = (self.folder / f"{name}.out").read_text()
        lines = [line for line in text.splitlines() if line.startswith("RESULT ")]
        assert process.returncode == 0 and lines, text[-6000:]
        return json.loads(lines[-1].removeprefix("RESULT "))

    def overwritten(self) -> list[str]:
        """The commits of Delta that another driver has overwritten."""
        log = (self.folder / "servers" / "s3.log").read_text()
        return [line.split()[1] for line in log.splitlines() if line.startswith("OVERWRITTEN ")]

    def shown(self) -> dict[str, bytes]:
        """All that runs leave behind: their output, Spark's event log, Dagster's storage, and the objects in S3."""
        files = [p for p in self.folder.rglob("*") if p.is_file() and "servers" not in p.parts]
        contents = {str(path.relative_to(self.folder)): path.read_bytes() for path in files}
        client = self.client()
        for item in client.list_objects_v2(Bucket="lake")["Contents"]:
            contents["s3:" + item["Key"]] = client.get_object(Bucket="lake", Key=item["Key"])["Body"].read()
        return contents


COMMITS = r"_delta_log/\d+\.json"
OFFSETS = [0, 2, 3, 4, 6, 7, 8, 10, 11]
"""Of three rounds with four records each, of which one fails."""


def raced(lake: Stores) -> list[dict]:
    """The results of two processes that run at the same time, three times."""
    names = ("0", "1")
    processes = [lake.start("race", me, "3", name=me) for me in names]
    return [lake.result(process, me) for process, me in zip(processes, names, strict=True)]


@pytest.fixture
def stores(tmp_path):
    with ExitStack() as stack:
        yield lambda title, hold="": Stores(title, tmp_path, stack, hold)


@pytest.mark.parametrize("title", [DELTA, REST, JDBC, HIVE])
def test_runs_go_on_and_no_secret_is_shown(stores, title):
    lake = stores(title)
    result = lake.result(lake.start("runs"))
    assert result["statuses"] == ["committed", "committed", "empty", "committed"]
    assert result["offsets"] == [0, 1, 3, 4, 5, 7, 8] and result["letters"] == [2, 6]
    assert result["warnings"] == []
    shown = lake.shown()
    assert any(name.startswith("events/") for name in shown) and any(name.startswith("dagster/") for name in shown)
    assert [name for name in shown if name.startswith("s3:")]
    assert [name for name, content in shown.items() if SECRET.encode() in content] == []


@pytest.mark.parametrize("title", [DELTA, REST, JDBC, HIVE])
def test_each_row_is_there_once_after_two_drivers_at_once(stores, title):
    """The S3 server lets the two writes of a commit of Delta go on together: both drivers have seen no such file."""
    lake = stores(title, COMMITS)
    results = raced(lake)
    for result in results:
        assert result["offsets"] == OFFSETS and result["letters"] == [1, 5, 9]
    for pair in zip(*(result["outcomes"] for result in results), strict=True):
        assert "committed" in pair and set(pair) <= {"committed", "SMT528", "empty"}
    assert lake.overwritten() == []


def test_deltas_own_log_store_overwrites_commits(stores):
    """What the page says of it; and the server makes the drivers meet, or the test above would show nothing."""
    lake = stores(DELTA, COMMITS)
    lake.environment["LOG_STORE"] = "io.delta.storage.S3SingleDriverLogStore"
    raced(lake)
    assert lake.overwritten()


def test_the_command_of_the_page_fetches_the_jars():
    (command,) = blocks("docs/how-to/object-store.md", "sh")
    assert subprocess.run(f"{Path(sys.executable).parent}/{command}", shell=True).returncode == 0
    home = Path.home() / VERSIONS[minor_of(pyspark.__version__)].ivy / "jars"
    for package in LARGE:
        for name in JARS[PACKAGES[minor_of(pyspark.__version__)][package]].split():
            assert (home / f"{name}.jar").is_file()
