"""One run of an asset on a played platform, as its page says: ``python -m tests.platforms.trip PAGE FOLDER``."""

import os
import re
import sys
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from unittest import mock

from tests.test_docs import blocks

CODE = re.compile(r"SMT\d{3}")
PAGES = {
    "on-databricks": "committed 3, then SMT501",
    "on-emr": "committed 3",
    "on-emr, serverless": "committed 3",
    "on-glue": "committed 3",
    "on-dataproc": "committed 3",
    "on-kubernetes, a pod": "committed 3",
    "on-kubernetes, the operator": "committed 3",
}
"""Pages, or ways of a page, and how their runs end."""
ASSETS = """
from pathlib import Path

from dagster_smt import DeltaSink, FileTopics, SmtTable, TopicTable, build_smt_asset

HERE = Path(__file__).parents[1]
orders = build_smt_asset(
    SmtTable(
        key=["lake", "orders"],
        chain=[{"alias": "hide", "type": "MaskField$Value", "options": {"fields": ["email"]}}],
        table=TopicTable(FileTopics(HERE / "topics"), topics=("orders",)),
        sink=DeltaSink(HERE / "table"),
    )
)
"""


def make_project(folder: Path) -> None:
    """A code location and a topic with three records."""
    from dagster_smt.tables.sources.file_writer import NewRecord, append_records
    from dagster_smt.tables.topic_table import FileTopics

    package = folder / "lake"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "assets.py").write_text(ASSETS)
    records = [NewRecord(None, b'{"id":%d,"email":"a@b.c"}' % number, (), number) for number in range(3)]
    append_records(FileTopics(folder / "topics"), "orders", records)
    sys.path.insert(0, str(folder))


def make_pythons(folder: Path) -> None:
    """The interpreters that the pages name, which are this one."""
    for place in ("bin/python3.11", "environment/bin/python"):
        path = folder / place
        path.parent.mkdir(parents=True)
        path.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
        path.chmod(0o755)
    os.environ["PATH"] = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"


def resource_of(page: str, folder: Path):
    """The resource ``spark`` of a page, after its driver's script was written and its other code has run."""
    name, _, way = page.partition(", ")
    code = blocks(f"docs/how-to/{name}.md", "python")
    drivers = [text for text in code if "run_external(" in text]
    codes = [text for text in code if text not in drivers and "PipesSpark(" in text]
    if way == "the operator":
        drivers = blocks("docs/how-to/on-emr.md", "python")[:1]
    (folder / "scripts").mkdir()
    (folder / "scripts" / "driver.py").write_text(drivers[0])
    for text in code:
        if ".create_job(" in text or "SparkSessionResource(" in text:
            exec(text, {})
    number = 1 if way in ("serverless", "the operator") else 0
    here = re.sub(r'spark_version="[\d.]+"', f'spark_version="{version("pyspark")}"', codes[number])
    names: dict = {}
    exec(here.replace("/Volumes/main/lake", str(folder / "volumes")), names)
    return names["spark"]


def launch(spark):
    import dagster as dg
    from lake.assets import orders

    instance = dg.DagsterInstance.ephemeral()
    return dg.materialize([orders], resources={"spark": spark}, instance=instance, raise_on_error=False)


def rows_of(folder: Path) -> int:
    """The rows of the table; each has lost its email address."""
    from deltalake import DeltaTable

    values = DeltaTable(folder / "table").to_pyarrow_table().column("value").to_pylist()
    assert all(b"a@b.c" not in value for value in values)
    return len(values)


def failures_of(result) -> str:
    return "\n".join(str(event.event_specific_data.error) for event in result.all_events if event.is_step_failure)


def main(page: str, folder: Path) -> None:
    import boto3
    import pyspark
    from dagster_k8s.client import DagsterKubernetesClient
    from google.cloud import dataproc_v1, storage
    from kubernetes import client, config
    from moto.server import ThreadedMotoServer

    from dagster_smt.jvm.build import JAR
    from dagster_smt.spark.packages import session_settings
    from tests.platforms import services

    import_module("dagster_gcp.pipes")  # it reads the classes of Google's SDK that are replaced below
    make_project(folder)
    make_pythons(folder)
    own = {"spark.driver.memory": "1g", "spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1"}
    if page == "on-kubernetes, a pod" or page.startswith("on-emr"):
        settings = {**own, "spark.jars": str(JAR)}  # the command has all others; its jar is in an object store
    else:
        settings = session_settings(["delta"], {**own, "spark.master": "local[2]"}, pyspark.__version__)
    machine = services.Machine(folder, settings)
    s3 = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    s3.start()
    address = f"http://127.0.0.1:{s3.get_host_and_port()[1]}"
    os.environ |= {
        "AWS_ENDPOINT_URL_S3": address,
        "AWS_DEFAULT_REGION": "us-east-1",
        "BUCKETS": str(folder / "buckets"),
    }
    os.environ |= {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}
    boto3.client("s3").create_bucket(Bucket="lake-pipes")
    workspace = services.Databricks(machine)
    os.environ |= {"DATABRICKS_HOST": f"http://127.0.0.1:{workspace.server_port}", "DATABRICKS_TOKEN": "test"}
    real = boto3.client
    aws = {name: kind(machine) for name, kind in services.AWS.items()}
    with (
        mock.patch.object(boto3, "client", lambda name, **more: aws.get(name) or real(name, **more)),
        mock.patch.object(storage, "Client", services.FolderBucket),
        mock.patch.object(dataproc_v1, "JobControllerClient", lambda **more: services.Dataproc(machine, **more)),
        mock.patch.object(config, "load_kube_config", lambda **_: None),
        mock.patch.object(config, "load_config", lambda **_: None),
        mock.patch.object(client, "CustomObjectsApi", lambda: services.Applications(machine)),
        mock.patch.object(DagsterKubernetesClient, "production_client", lambda: services.Pods(machine)),
    ):
        spark = resource_of(page, folder)
        result = launch(spark)
        assert result.success, f"{failures_of(result)}\n{machine.log()[-4000:]}"
        line = f"committed {rows_of(folder)}"
        if page == "on-databricks":
            (folder / "topics" / "orders").rename(folder / "topics" / "gone")
            line += f", then {CODE.search(failures_of(launch(spark)))[0]}"
    print(line)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
