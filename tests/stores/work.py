"""One process with a Spark session of its own: runs of an asset into S3, as the how-to page defines session and sinks.

``python -m tests.stores.work SECTION FOLDER runs``, or ``race ME ROUNDS`` beside another such process. It prints a
line of JSON. The variable LOG_STORE is the class of Delta's log store, instead of the session's own choice.
"""

import json
import os
import re
import sys
import time
from pathlib import Path

import dagster as dg

from dagster_smt.chain import parse_chain
from dagster_smt.errors import SmtError
from dagster_smt.model.topics.format import Format
from dagster_smt.orchestration import SmtTable, SparkSessionResource, build_smt_asset
from dagster_smt.run.batch import run
from dagster_smt.run.maintenance import maintain
from dagster_smt.run.run_spec import RunSpec
from dagster_smt.spark.packages import LOG_STORE
from dagster_smt.tables.ddl import parse_ddl
from dagster_smt.tables.maintenance.maintenance_options import SmtMaintenance
from dagster_smt.tables.sinks import open_table
from dagster_smt.tables.sources.file_writer import append_records
from dagster_smt.tables.topic_table import FileTopics, TopicTable
from tests.run.world import CHAIN, SECRET, order

PAGE = Path(__file__).parents[2] / "docs/how-to/object-store.md"
COLUMNS = Format("json_schema", parse_ddl("id INT, name STRING, nickname STRING, amount STRING"))
CLEAN = SmtMaintenance(retention_hours=0, allow_short_retention=True, retain_last=5)


def section(title: str, language: str) -> str:
    """The first block of a language below a heading of the page."""
    _, _, text = PAGE.read_text("utf-8").partition(f"\n## {title}\n")
    match = re.search(rf"```{language}\n(.*?)```", text.partition("\n## ")[0], re.DOTALL)
    assert match is not None, (title, language)
    return match[1]


class Lake:
    """The asset over the page's session, sink and place of dead letters."""

    def __init__(self, title: str, folder: Path):
        self.names: dict = {}
        exec(section(title, "python"), self.names)
        if "LOG_STORE" in os.environ:
            conf = {**self.names["spark"].conf, LOG_STORE: os.environ["LOG_STORE"]}
            self.names["spark"] = SparkSessionResource(conf=conf)
        self.folder, self.topics = folder, FileTopics(folder / "topics")
        self.sink, self.letters = self.names["sink"], self.names["letters"]
        self.table = TopicTable(self.topics, ("orders",), value=COLUMNS)
        options = {"errors_tolerance": "all", "dead_letters": self.letters, "dead_letter_topic": "orders.dead"}
        self.asset = build_smt_asset(SmtTable(chain=CHAIN, table=self.table, sink=self.sink, key="orders", **options))
        self.spec = RunSpec("orders", parse_chain(CHAIN), self.table, self.sink, **options)

    @property
    def session(self):
        return self.names["spark"].spark_session

    def make_namespace(self) -> None:
        if self.sink.table:
            self.session.sql(section("Iceberg with a REST catalog", "sql"))

    def add(self, *numbers: int, bad: tuple[int, ...] = ()) -> None:
        records = [order(n, SECRET if n in bad else str(n)) for n in numbers]
        append_records(self.topics, "orders", records, 0)

    def materialize(self, instance) -> str:
        result = dg.materialize([self.asset], instance=instance, resources={"spark": self.names["spark"]})
        for event in result.get_asset_materialization_events():
            return event.step_materialization_data.materialization.metadata["dagster_smt/status"].value
        return "empty"

    def content(self) -> dict:
        table = open_table(self.session, self.sink)
        letters = open_table(self.session, self.letters).read().collect()
        state = table.state()
        return {
            "offsets": sorted(row._source_offset for row in table.read().collect()),
            "letters": sorted(row.source_offset for row in letters),
            "number": state.number,
            "held": [str(state.held)],
        }


def runs(lake: Lake) -> dict:
    """Runs that go on where the last one ended, with maintenance in between."""
    (lake.folder / "dagster").mkdir()
    lake.make_namespace()
    with dg.DagsterInstance.local_temp(str(lake.folder / "dagster")) as instance:
        lake.add(0, 1, 2, 3, 4, bad=(2,))
        statuses = [lake.materialize(instance)]
        lake.add(5, 6, 7, bad=(6,))
        statuses += [lake.materialize(instance), lake.materialize(instance)]
        lines: list[str] = []
        maintained = maintain(lake.sink, CLEAN, lake.session, lines.append)
        lake.add(8)
        statuses.append(lake.materialize(instance))
    again = run(lake.spec, lake.session)
    warnings = [problem.code for problem in again.warnings]
    return {**lake.content(), "statuses": statuses, "maintained": str(maintained), "warnings": warnings}


def race(lake: Lake, me: str, rounds: str) -> dict:
    """Runs that begin at the same time as those of another process."""
    outcomes = []
    _ = lake.session
    for turn in range(int(rounds)):
        if me == "0":
            lake.make_namespace()
            lake.add(*range(4 * turn, 4 * turn + 4), bad=(4 * turn + 1,))
        _meet(lake.folder, f"round{turn}", me)
        try:
            outcomes.append(run(lake.spec, lake.session).status)
        except SmtError as error:
            outcomes.append(error.problems[0].code)
        _meet(lake.folder, f"after{turn}", me)
    return {**lake.content(), "outcomes": outcomes}


def _meet(folder: Path, name: str, me: str) -> None:
    (folder / f"{name}.{me}").touch()
    until = time.monotonic() + 400
    while not all((folder / f"{name}.{other}").exists() for other in "01"):
        if time.monotonic() > until:
            raise TimeoutError(name)
        time.sleep(0.02)


if __name__ == "__main__":
    title, folder, action, *arguments = sys.argv[1:]
    result = globals()[action](Lake(title, Path(folder)), *arguments)
    print("RESULT", json.dumps(result))
