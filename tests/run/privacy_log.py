"""Runs chains with keys in a session with an event log: a process of its own. It prints the plans."""

import sys
from pathlib import Path

from dagster_smt.model.topics.format import Format
from dagster_smt.orchestration.resources import SparkSessionResource, need_packages
from dagster_smt.tables.ddl import parse_ddl
from dagster_smt.tables.sources.file_writer import NewRecord
from tests.run.test_privacy import KEY, STAGES, chain_of
from tests.run.world import World

CONF = {
    "spark.master": "local[1]",
    "spark.eventLog.enabled": "true",
    "spark.eventLog.compress": "false",
    "spark.sql.ui.explainMode": "extended",
}


def main(folder: str) -> None:
    need_packages(["delta"])
    (Path(folder) / "log").mkdir()
    session = SparkSessionResource(conf={**CONF, "spark.eventLog.dir": f"file://{folder}/log"}).spark_session
    nested = parse_ddl("mail STRING, deep STRUCT<mail: STRING>, contacts ARRAY<STRUCT<mail: STRING>>")
    text = b'{"mail":"a@example.org","deep":{"mail":"b@example.org"},"contacts":[{"mail":"c@example.org"}]}'
    mail = {"mail": STAGES["mail"]}
    chains = (
        (STAGES, "records", None),
        (STAGES | KEY, "records", None),
        (mail, "columns", Format("json_schema", nested)),
    )
    for number, (stages, kind, value) in enumerate(chains):
        world = World(Path(folder) / str(number), session)
        world.add(NewRecord(b"k", text, (), 1700000000000))
        world.run(chain_of(stages), kind, value)
    session.stop()


if __name__ == "__main__":
    main(sys.argv[1])
