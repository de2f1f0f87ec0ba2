"""A process with a warm Spark session that runs commands and assets, until somebody kills it."""

import json
import os
import sys
from pathlib import Path


def serve(lake: str, jars_folder: str, more: str) -> None:
    from dagster_smt.cli import main
    from dagster_smt.connect.iceberg_catalog import catalog_conf
    from dagster_smt.connect.takeover.definition import Definition
    from dagster_smt.connect.takeover.session import take_over_session
    from dagster_smt.errors import SmtError
    from dagster_smt.run.batch import run
    from tests.connect.takeover.workers import iceberg_config

    os.environ["SPARK_LOCAL_DIRS"] = jars_folder
    conf = json.loads(more) or catalog_conf(iceberg_config(Path(lake), "", "", "", ""))
    session, _ = take_over_session({**conf, "spark.sql.shuffle.partitions": "2"}, _any_spec())
    session.sql("SELECT 1").collect()
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    print("READY", file=out, flush=True)
    for line in sys.stdin:
        order = json.loads(line)
        try:
            if order["do"] == "main":
                answer = f"DONE {main(order['argv'])}"
            else:
                report = run(Definition(Path(order["folder"])).spec, session)
                answer = f"DONE {report.status} {report.records_out}"
        except SmtError as error:
            answer = f"ERROR {error.problems[0].code}"
        print(answer, file=out, flush=True)


def _any_spec():
    from dagster_smt.chain import parse_chain
    from dagster_smt.run.run_spec import RunSpec
    from dagster_smt.tables.kafka.spec import KafkaTopics
    from dagster_smt.tables.sink_options import IcebergSink
    from dagster_smt.tables.topic_table import TopicTable

    table = TopicTable(KafkaTopics("127.0.0.1:1"), topics=("t",))
    return RunSpec("t", parse_chain({"transforms": ""}), table, IcebergSink(path="t"))


if __name__ == "__main__":
    serve(*sys.argv[1:])
