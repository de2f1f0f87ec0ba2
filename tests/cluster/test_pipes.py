"""Runs by ``spark-submit`` on a cluster, through Dagster Pipes: what they report, and how they are stopped."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from tests.cluster import cluster

pytestmark = [pytest.mark.spark, pytest.mark.long]

DEFINITIONS = """
import os
from pathlib import Path

import dagster as dg

from dagster_smt import (
    DeltaSink, FileTopics, PipesSpark, SmtTable, SparkSubmit, TopicTable, build_maintenance_job, build_smt_asset,
)

HERE = Path(__file__).parent
PARTITIONS = dg.DynamicPartitionsDefinition(name="topics")
people = build_smt_asset(
    SmtTable(
        key="people",
        chain=[{"alias": "hide", "type": "MaskField$Value", "options": {"fields": ["name"], "replacement": "*"}}],
        table=TopicTable(FileTopics(HERE / "topics"), topics=("a", "b")),
        sink=DeltaSink(HERE / "lake"),
        partitions_def=PARTITIONS,
    )
)
submit = SparkSubmit(
    options={"master": os.environ["SPARK_MASTER"]},
    conf={"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1", "spark.log.level": "ERROR",
          "spark.ui.enabled": "false", "spark.executor.memory": "512m"},
    program=(os.environ["SPARK_SUBMIT"],),
)
spark = PipesSpark(dg.PipesSubprocessClient(), "people_defs", submit)
defs = dg.Definitions([people], jobs=[build_maintenance_job(people)], resources={"spark": spark})
"""
RUN = """
import json, os, sys
import dagster as dg
import people_defs

with dg.instance_for_test() as instance:
    instance.add_dynamic_partitions("topics", ["a", "b"])
    print("BEGIN", flush=True)
    tags = {"dagster/asset_partition_range_start": "a", "dagster/asset_partition_range_end": "b"}
    try:
        result = dg.materialize(
            [people_defs.people], instance=instance, tags=tags, raise_on_error=False,
            resources={"spark": people_defs.spark},
        )
    finally:
        known = sorted(instance.get_materialized_partitions(dg.AssetKey("people")))
        print("RESULT", json.dumps(known), flush=True)
    print("SUCCESS", json.dumps(result.success), flush=True)
"""


@pytest.fixture
def project(tmp_path):
    (tmp_path / "people_defs.py").write_text(DEFINITIONS)
    (tmp_path / "run.py").write_text(RUN)
    return tmp_path


def write_topic(root, topic, count):
    folder = root / "topics" / topic / "0"
    folder.mkdir(parents=True)
    with (folder / f"{0:020d}.jsonl").open("w") as file:
        for offset in range(count):
            row = {"topic": topic, "partition": 0, "offset": offset, "timestamp": 0, "key": None}
            file.write(json.dumps({**row, "value": '{"name":"x","more":{"a":[1,2,3]}}'}) + "\n")


def started(project, master):
    env = {
        **os.environ,
        "PYTHONPATH": f"{cluster.ROOT}:{project}",
        "SPARK_MASTER": master,
        "SPARK_SUBMIT": str(cluster.spark_home() / "bin" / "spark-submit"),
        "PYSPARK_PYTHON": sys.executable,
    }
    with (project / "log").open("wb") as log:
        return subprocess.Popen([sys.executable, "run.py"], cwd=project, env=env, stdout=log, stderr=log)


def results(project):
    """Returns the lines of the log that the script prints itself."""
    lines = (project / "log").read_text().splitlines()
    return [line for line in lines if line.startswith(("RESULT", "SUCCESS"))]


def test_an_asset_runs_on_a_cluster_by_spark_submit(project, tmp_path, spark):
    write_topic(project, "a", 3)
    write_topic(project, "b", 5)
    with cluster.standalone(tmp_path / "cluster") as master:
        assert started(project, master).wait(300) == 0
    log = (project / "log").read_text()
    assert results(project) == ['RESULT ["a", "b"]', "SUCCESS true"], log[-3000:]
    assert "people: committed, 8 records in, 8 out" in log
    assert spark.read.format("delta").load(str(project / "lake")).count() == 8


def test_a_terminated_run_ends_the_process_and_commits_nothing(project, spark):
    write_topic(project, "a", 3)
    write_topic(project, "b", 200_000)
    process = started(project, "local[2]")
    wait_for(project, "evaluating")
    os.kill(process.pid, signal.SIGTERM)
    process.wait(120)
    log = (project / "log").read_text()
    assert "[pipes] execution interrupted" in log, log[-3000:]
    assert results(project)[:1] == ["RESULT []"]
    assert not (project / "lake" / "_delta_log" / f"{1:020d}.json").exists()
    assert process_count(project) == 0


def wait_for(project, text):
    end = time.monotonic() + 120
    while time.monotonic() < end:
        if text in (project / "log").read_text():
            return
        time.sleep(0.2)
    raise AssertionError((project / "log").read_text()[-3000:])


def process_count(project):
    """Returns the number of processes of this project that are left, after a few seconds."""
    time.sleep(5)
    lines = subprocess.run(["ps", "axww", "-o", "args"], capture_output=True, text=True, check=True).stdout
    return sum("pipes/submit/script.py" in line and str(project) in line for line in lines.splitlines())
