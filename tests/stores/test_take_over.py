"""Parquet files of a connector in S3 become a Delta table there: moto's server, a real broker, a played connector."""

import json
import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from dagster_smt.testing.broker import KafkaBroker
from tests.connect.takeover.played import PlayedWorker
from tests.connect.takeover.test_played_connectors import Files
from tests.stores import servers
from tests.stores.test_stores import KEYS

pytestmark = [pytest.mark.spark, pytest.mark.long]
ROOT = Path(__file__).parents[2]
RUN = """
import json, sys
from pathlib import Path
from dagster_smt.connect.takeover.definition import Definition
from dagster_smt.connect.takeover.session import take_over_session
from dagster_smt.run.batch import run

spec = Definition(Path(sys.argv[1])).spec
session, _ = take_over_session(json.loads(sys.argv[2]), spec)
report = run(spec, session)
rows = session.read.format("delta").load(spec.sink.path)
ids = sorted(row.id for row in rows.select("id").collect())
before = rows.where("_source_offset IS NULL").count()
print("RESULT", json.dumps({"status": report.status, "out": report.records_out, "ids": ids, "before": before}))
"""


class Lake(Files):
    """The files of a connector, in a bucket."""

    def __init__(self, root, servers_of_kafka, s3):
        super().__init__(root, servers_of_kafka, "orders", "day=2026-11-0{partition}")
        self.s3 = s3
        self.conf = {
            "spark.hadoop.fs.s3a.endpoint": s3,
            "spark.hadoop.fs.s3a.path.style.access": "true",
            "spark.hadoop.fs.s3a.connection.ssl.enabled": "false",
            "spark.master": "local[2]",
            "spark.sql.shuffle.partitions": "2",
        }

    def client(self):
        import boto3

        keys = {"aws_access_key_id": "any", "aws_secret_access_key": "any", "region_name": "us-east-1"}
        return boto3.client("s3", endpoint_url=self.s3, **keys)

    def write(self, partition, start, rows):
        file = super().write(partition, start, rows)
        key = str(file.relative_to(self.root))
        self.client().upload_file(str(file), "lake", key)
        return key

    def keys(self):
        return [one["Key"] for one in self.client().list_objects_v2(Bucket="lake").get("Contents", [])]

    def process(self, *arguments):
        environment = {key: value for key, value in os.environ.items() if not key.startswith("AWS_")} | KEYS
        command = [sys.executable, *map(str, arguments)]
        done = subprocess.run(
            command, cwd=ROOT, env={**environment, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True,
            check=False, timeout=400,
        )  # fmt: skip
        return done.returncode, done.stdout, done.stderr

    def smt(self, command, worker, *more):
        conf = [word for name, value in self.conf.items() for word in ("--conf", f"{name}={value}")]
        return self.process("-m", "dagster_smt.cli", *self.command(command, worker.url, *conf, *more))


def test_files_in_s3_become_a_table(tmp_path):
    with ExitStack() as stack:
        s3 = stack.enter_context(servers.s3(tmp_path / "servers", ""))
        broker = stack.enter_context(KafkaBroker(tmp_path / "kafka", {"auto.create.topics.enable": "false"}))
        world = Lake(tmp_path, broker.servers, s3)
        world.client().create_bucket(Bucket="lake")
        world.produce(50)
        source = tmp_path / "connector.json"
        source.write_text(json.dumps({"name": world.name, "config": world.config_of_connector}))
        place = ["--lake", "s3a://lake/topics", "--bootstrap-servers", world.servers]
        code, _, said = world.process("-m", "dagster_smt.cli", "import", source, "--to", world.defs, *place)
        assert code == 0, said
        for partition in (0, 1):
            for start in (0, 10):
                world.write(partition, start, 10)
        worker = stack.enter_context(PlayedWorker(broker.servers, world.name, world.config_of_connector))
        worker.commit({(world.name, 0): 20, (world.name, 1): 20})

        ahead = world.write(1, 20, 3)  # written, and its offset is not committed
        code, _, said = world.smt("takeover", worker, "--accept-columns")
        assert code == 1 and "SMT797" in said and worker.state == "RUNNING", said
        assert not [key for key in world.keys() if "_delta_log" in key]
        world.client().delete_object(Bucket="lake", Key=ahead)

        code, out, said = world.smt("takeover", worker, "--accept-columns")
        assert code == 0 and worker.state == "STOPPED", said
        assert [key for key in world.keys() if key.endswith("_delta_log/00000000000000000000.json")]
        files = [key for key in world.keys() if key.endswith(".parquet") and "_delta_log" not in key]
        assert len(files) == 4, "no file of the connector is changed"

        code, out, said = world.process("-c", RUN, world.defs / world.name, json.dumps(world.conf))
        assert code == 0, said[-4000:]
        (line,) = [line for line in out.splitlines() if line.startswith("RESULT ")]
        result = json.loads(line.removeprefix("RESULT "))
        assert result == {"status": "committed", "out": 10, "ids": list(range(50)), "before": 40}
