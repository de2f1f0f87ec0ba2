"""Runs over records with known personal values, in a process of its own that writes everything below one folder.

``python -m tests.leaks.runs FOLDER`` prints a line of JSON: the values, the folders that may hold them, and what the
runs did. ``SMT_PLANT`` puts a leak into one place, for the tests of the judge.
"""

import base64
import contextlib
import io
import json
import os
import sys
import time
from pathlib import Path

import dagster as dg

from dagster_smt import (
    DeltaSink,
    FileTopics,
    FileTopicSink,
    Format,
    IcebergSink,
    OpenLineage,
    SmtErasure,
    SmtTable,
    SparkSessionResource,
    TopicTable,
    build_erasure_asset,
    build_smt_asset,
)
from dagster_smt.chain.plugins import transforms
from dagster_smt.cli import main as command
from dagster_smt.orchestration.resources import need_packages
from dagster_smt.tables.sources.file_writer import NewRecord, append_records
from tests.leaks.hostile import VALUES, hostile
from tests.leaks.own import Raises
from tests.leaks.plants import plant, planted
from tests.leaks.wide import WIDE
from tests.run.personal import People
from tests.run.test_privacy import KEY, SCHEMA, STAGES, chain_of

CAST = {"cast": ("Cast$Value", {"spec": "amount:int32"})}
HEADERS = {"headers": ("DropHeaders", {"headers": "person"})}
CONF = {
    "spark.master": "local[1]",
    "spark.eventLog.enabled": "true",
    "spark.eventLog.compress": "false",
    "spark.sql.ui.explainMode": "extended",
}
PEOPLE = 4 * len(VALUES)
"""As many that each kind of hostile record occurs."""


class Runs:
    """One folder with topics, tables, an instance of Dagster and what commands print.

    Args:
        folder: The folder.
        people: Makes the records.
        count: The number of records of each topic.
    """

    def __init__(self, folder, people=None, count=PEOPLE):
        self.folder, self.people, self.count = folder, people or People(11), count
        self.allowed = [folder / "topics", folder / "letters"]
        self.outcomes, self.records = {}, 0
        self.spark = SparkSessionResource(conf={**CONF, "spark.eventLog.dir": f"file://{folder}/spark"})
        self.instance = dg.DagsterInstance.get()

    def new_records(self, *, broken=True, strange_headers=True):
        """Returns records; with ``broken`` every fourth is hostile."""
        records = []
        for number in range(self.count):
            key, value = self.people.record(number)
            name = self.people.word()
            if broken:
                records.append(hostile(number, key, value, name, strange_headers=strange_headers))
            else:
                records.append(NewRecord(key, value, (("person", name.encode()),), 1700000000000 + number))
        self.records += len(records)
        return records

    def topic(self, name, **more):
        """Writes records into a topic of files."""
        append_records(FileTopics(self.folder / "topics"), name, self.new_records(**more))

    def table(self, name, chain, sink, *, value=None, key=None, tolerance="all", letters=True, source=None, **more):
        """Returns a table over a topic of the same name."""
        topics = source or FileTopics(self.folder / "topics")
        more = {"dead_letter_topic": f"{name}.dead", "dead_letters": FileTopics(self.folder / "letters"), **more}
        if not letters:
            more = {key: one for key, one in more.items() if not key.startswith("dead_letter")}
        return SmtTable(
            key=["lake", name],
            chain=chain_of(chain) if isinstance(chain, dict) and "transforms" not in chain else chain,
            table=TopicTable(topics, (name,), value=value or Format(), key=key or Format("string")),
            sink=sink,
            errors_tolerance=tolerance,
            lineage=OpenLineage(file=str(self.folder / "lineage.jsonl")),
            **more,
        )

    def run(self, name, *assets, config=None, selection=None):
        """Runs assets in the instance, and notes whether they succeeded and how long they took."""
        began = time.monotonic()
        with contextlib.redirect_stdout(sys.stderr):
            result = dg.materialize(
                list(assets), config, instance=self.instance, resources={"spark": self.spark},
                selection=selection, raise_on_error=False,
            )  # fmt: skip
        steps = [event for event in result.all_events if event.event_type_value == "ASSET_CHECK_EVALUATION"]
        self.outcomes[name] = {
            "success": result.success,
            "checks": len(steps),
            "seconds": round(time.monotonic() - began),
        }
        for event in result.get_asset_materialization_events():
            metadata = event.step_materialization_data.materialization.metadata
            counts = {key: metadata[f"dagster_smt/{key}"].value for key in ("records_in", "records_out", "failed")
                      if f"dagster_smt/{key}" in metadata}  # fmt: skip
            self.outcomes[name] |= counts

    def write(self, name, chain, sink, **more):
        """Runs one table over a topic of its own."""
        self.topic(name, broken=more.pop("broken", True), strange_headers=more.pop("strange_headers", True))
        self.run(name, build_smt_asset(self.table(name, chain, sink, **more)))

    def command(self, name, *argv):
        """Runs a command, whose output goes into files."""
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = command([str(one) for one in argv])
        (self.folder / "out").mkdir(exist_ok=True)
        (self.folder / "out" / f"{name}.txt").write_text(out.getvalue() + err.getvalue(), encoding="utf-8")
        self.outcomes[f"command {name}"] = {"code": code}


def masked(runs):
    """Chains that hide all values: their tables are searched, too."""
    folder = runs.folder
    hidden = {**STAGES, **KEY, **HEADERS}
    runs.write("records", hidden, DeltaSink(folder / "records"), broken=False)
    declared = Format("json_schema", SCHEMA)
    runs.write("columns", {**STAGES, **CAST}, DeltaSink(folder / "columns", "columns"), value=declared)
    runs.write("iceberg", {**STAGES, **CAST}, IcebergSink(folder / "iceberg", "columns"), value=declared)
    runs.write("files", hidden, FileTopicSink(folder / "files"), broken=False)
    runs.allowed.append(folder / "letter_table")
    letters = {"dead_letters": DeltaSink(folder / "letter_table"), "dead_letter_topic": "dead"}
    runs.write("lettered", {**STAGES, **CAST}, DeltaSink(folder / "lettered", "columns"), value=declared, **letters)


def one(runs):
    """One table of clear values: the least to see a leak in."""
    runs.allowed.append(runs.folder / "clear")
    runs.write("clear", CAST, DeltaSink(runs.folder / "clear"))


def clear(runs):
    """Chains that hide nothing: their tables hold values, and nothing else does."""
    folder = runs.folder
    runs.allowed += [folder / name for name in ("clear", "clear_columns", "keyed", "constrained", "own")]
    declared = Format("json_schema", SCHEMA)
    runs.write("clear", CAST, DeltaSink(folder / "clear"))
    runs.allowed.append(folder / "partly")
    runs.write("partly", STAGES, DeltaSink(folder / "partly"))  # values in fields that no stage names
    runs.write("clear_columns", CAST, DeltaSink(folder / "clear_columns", "columns"), value=declared)
    keyed = DeltaSink(folder / "keyed", "columns", mode="upsert", keys=("mail",))
    runs.write("keyed", CAST, keyed, value=declared, broken=False)
    runs.write("intolerant", CAST, DeltaSink(folder / "intolerant"), tolerance="none", letters=False)
    runs.write(
        "own",
        [{"alias": "own", "type": "tests.leaks.own.Raises$Value", "options": {"fields": ["mail"]}}],
        DeltaSink(folder / "own"),
    )
    runs.write("router", {"route": ("RegexRouter", {"regex": "(.*)", "replacement": "clean.$1"})},
               FileTopicSink(folder / "letters" / "routed"))  # fmt: skip


def constrained(runs):
    """A table whose constraint Spark checks: its error quotes the row."""
    table = runs.table("constrained", CAST, DeltaSink(runs.folder / "constrained", "columns"),
                       value=Format("json_schema", SCHEMA))  # fmt: skip
    runs.topic("constrained", broken=False)
    runs.run("constrained", build_smt_asset(table))
    session = runs.spark.spark_session
    session.sql(f"ALTER TABLE delta.`{runs.folder}/constrained` ADD CONSTRAINT few CHECK (id < 10000)")
    key, value = runs.people.record(20000)
    append_records(FileTopics(runs.folder / "topics"), "constrained", [NewRecord(key, value)])
    runs.run("constraint", build_smt_asset(table))


def erasures(runs):
    """A person is erased: ids come from a file, and the record is a file."""
    erasure = SmtErasure(
        register_table=DeltaSink(runs.folder / "register"),
        key_ring=["e1=${env:EXAMPLE_KEY}"],
        records=["value.mail"],
        columns=["mail"],
    )
    runs.topic("erased", broken=False)
    runs.allowed += [runs.folder / "erased", runs.folder / "ids.txt"]
    orders = build_smt_asset(
        runs.table("erased", CAST, DeltaSink(runs.folder / "erased", "columns"),
                   value=Format("json_schema", SCHEMA), erasure=erasure)
    )  # fmt: skip
    runs.run("erased", orders)
    mails = [row.mail for row in runs.spark.spark_session.read.format("delta").load(f"{runs.folder}/erased").collect()]
    (runs.folder / "ids.txt").write_text("\n".join(mails[:5]))
    persons = build_erasure_asset([orders], records=str(runs.folder / "erasures"))
    config = {"ops": {"erasures": {"config": {"subjects": {"file": str(runs.folder / "ids.txt")}}}}}
    runs.run("erasure", orders, persons, config=config, selection=[persons])


def commands(runs):
    """Commands that read records and print what they saw, and pages."""
    folder = runs.folder
    chain = folder / "chain.properties"
    chain.write_text("\n".join(f"{name}={text}" for name, text in chain_of({**STAGES, **CAST}).items()))
    topics = folder / "topics"
    runs.command("explain", "explain", chain, "--html", folder / "explain.html")
    runs.command("lint", "lint", chain)
    runs.command("scan", "scan", topics, "--topic", "clear", "--write", folder / "scanned.yaml")
    runs.command(
        "certify", "certify", chain, topics, "--topic", "clear", "--sample", "40", "--out", folder / "certificate.html"
    )
    runs.command("schema", "schema", topics, "clear")


SCENARIOS = {
    "masked": masked,
    "one": one,
    "clear": clear,
    "constrained": constrained,
    "erasures": erasures,
    "commands": commands,
    "planted": planted,
    **WIDE,
}


def prepare(folder):
    """Makes the folders of Dagster's instance and of Spark's event log, and the key of the chains."""
    os.environ.setdefault("EXAMPLE_KEY", base64.b64encode(b"e" * 32).decode())
    for name in ("home", "spark"):
        (folder / name).mkdir(parents=True)
    os.environ["DAGSTER_HOME"] = str(folder / "home")


def main(folder):
    folder = Path(folder)
    prepare(folder)
    need_packages(["delta", "iceberg", "kafka"])
    runs = Runs(folder, count=int(os.environ.get("SMT_LEAK_COUNT", PEOPLE)))
    transforms()[Raises.connect_class] = Raises
    plant(os.environ.get("SMT_PLANT", ""), runs)
    chosen = os.environ.get("SMT_LEAK_RUNS", "masked,clear,constrained,erasures,commands").split(",")
    for name in chosen:
        SCENARIOS[name](runs)
    runs.spark.spark_session.stop()
    print(json.dumps({"values": sorted(runs.people.values), "allowed": list(map(str, runs.allowed)),
                      "outcomes": runs.outcomes}))  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1])
