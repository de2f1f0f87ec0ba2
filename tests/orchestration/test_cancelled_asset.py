"""Terminating an asset's run between and within its partitions: nothing half done, nothing forgotten."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RECORDS = 200_000

RUN = """
import json, os, signal, sys, threading, time, uuid
from pathlib import Path
import dagster as dg
from dagster_smt.orchestration import SmtTable, SparkSessionResource, build_smt_asset
from dagster_smt.tables.sinks import open_table
from dagster_smt.tables.topic_table import FileTopics, TopicTable
from dagster_smt.tables.sink_options import DeltaSink

HERE = Path(__file__).parent
SINK = DeltaSink(HERE / "lake")
people = build_smt_asset(SmtTable(
    key="people",
    chain=[{"alias": "hide", "type": "MaskField$Value", "options": {"fields": ["name"], "replacement": "*"}}],
    table=TopicTable(FileTopics(HERE / "topics"), topics=("a", "b")),
    sink=SINK,
    partitions_def=dg.DynamicPartitionsDefinition(name="topics"),
))
resource = SparkSessionResource(conf={"spark.master": "local[2]", "spark.log.level": "ERROR"})

def terminate(instance, run_id):
    tracker = resource.spark_session.sparkContext.statusTracker()
    while not tracker.getActiveJobsIds():
        time.sleep(0.02)
    time.sleep(0.3)
    instance.report_run_canceling(instance.get_run_by_id(run_id))
    os.kill(os.getpid(), signal.SIGTERM)

def run(instance, stop):
    tags = {"dagster/asset_partition_range_start": "a", "dagster/asset_partition_range_end": "b"}
    defs = dg.Definitions([people], resources={"spark": resource}, jobs=[dg.define_asset_job("all")])
    run_id = str(uuid.uuid4())
    if stop:
        _ = resource.spark_session
        threading.Thread(target=terminate, args=(instance, run_id), daemon=True).start()
    try:
        defs.resolve_job_def("all").execute_in_process(
            instance=instance, tags=tags, run_id=run_id, raise_on_error=False
        )
    except BaseException as error:
        print("raised", type(error).__name__, file=sys.stderr)
    known = sorted(instance.get_materialized_partitions(dg.AssetKey("people")))
    state = open_table(resource.spark_session, SINK).state()
    status = instance.get_run_by_id(run_id).status.value
    held = [sum(state.rows.values()), sorted(state.ends())] if state else [0, []]
    print("RESULT", json.dumps([status, known, *held]), flush=True)

with dg.instance_for_test() as instance:
    instance.add_dynamic_partitions("topics", ["a", "b"])
    run(instance, stop=True)
    run(instance, stop=False)
"""


def write_topic(root, topic, count):
    folder = root / "topics" / topic / "0"
    folder.mkdir(parents=True)
    with (folder / f"{0:020d}.jsonl").open("w") as file:
        for offset in range(count):
            row = {"topic": topic, "partition": 0, "offset": offset, "timestamp": 0, "key": None}
            file.write(json.dumps({**row, "value": '{"name":"x","more":{"a":[1,2,3]}}'}) + "\n")


@pytest.mark.long  # CI terminates a run in test_guard
@pytest.mark.spark
def test_a_terminated_run_commits_nothing_and_the_next_one_takes_its_window(tmp_path):
    write_topic(tmp_path, "a", 3)
    write_topic(tmp_path, "b", RECORDS)
    script = tmp_path / "terminated.py"
    script.write_text(RUN)
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, env=env, timeout=500)
    results = [json.loads(line[7:]) for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    terminated, following = results
    assert terminated == ["CANCELED", [], 0, []], done.stderr[-3000:]
    assert following == ["SUCCESS", ["a", "b"], RECORDS + 3, ["a", "b"]], done.stderr[-3000:]
