"""The runs that a cluster and a local session must agree on; as a script, a driver process that does them."""

import json
import os
import random
import sys
from pathlib import Path

from dagster_smt.chain import parse_chain
from dagster_smt.errors import SmtError
from dagster_smt.model.reports.run_report import RunReport
from dagster_smt.model.topics.format import Format
from dagster_smt.model.windows.window import Window
from dagster_smt.run.batch import run
from dagster_smt.run.run_spec import RunSpec
from dagster_smt.tables.sink_options import DeltaSink
from dagster_smt.tables.sources import open_source
from dagster_smt.tables.sources.file_writer import NewRecord, append_records
from dagster_smt.tables.topic_table import FileTopics, TableSource, TopicTable
from dagster_smt.tables.window_request import WindowRequest
from tests.run.world import CHAIN, COLUMNS

RECORDS = 2000
CONF = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "768m",
    "spark.executor.memory": "512m",
    "spark.ui.enabled": "false",
    "spark.log.level": "ERROR",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    # records or dead letters that came to the driver would not fit: they hold 8 MB and 700 kB of random digits
    "spark.driver.maxResultSize": "256k",
}
RUNS = {
    "table-records": ("table", "records"),
    "files-columns": ("files", "columns"),
    "keyed": ("files", "columns"),
    "keyed again": ("files", "columns"),
    "foreign": ("files", "records"),
    "foreign-in-spark": ("files", "records"),
}
"""What runs read and write. Those with keys make a table, and merge into it; foreign ones run classes of jars."""
JAR = "acme.jar"
"""The jar of ``tests/foreign/java``, in the folder of the topics."""


def value(number: int) -> bytes | None:
    """Every 7th record has no value, every 11th fails; 4 kB each, which compress to half of that."""
    if number % 7 == 4:
        return None
    amount = "none" if number % 11 == 3 else number
    name = random.Random(number).randbytes(2000).hex()
    return json.dumps({"id": number, "name": name, "amount": amount}).encode()


def make_topics(folder: Path, session) -> None:
    """The records, as file topics and as a Delta table."""
    topics = FileTopics(folder / "topics")
    for partition in (0, 1):
        numbers = range(partition, RECORDS, 2)
        append_records(topics, "orders", [NewRecord(b"%d" % n, value(n), (), 10 + n) for n in numbers], partition)
    source = open_source(topics, session)
    frame = source.read(Window(tuple(source.ranges(["orders"]))))
    frame.write.format("delta").save(str(folder / "bronze"))


def chain_of(folder: Path, name: str):
    """Returns the chain of a run. Foreign ones have two stages of Kafka, and one of a jar."""
    if not name.startswith("foreign"):
        return parse_chain({**CHAIN, "transforms.mask.fields": "name"})
    upper = {"transforms.mask.type": "acme.Upper", "transforms.mask.option": "name"}
    stages = {key: text for key, text in CHAIN.items() if not key.startswith("transforms.mask.")}
    process = "spark" if name == "foreign-in-spark" else "own"
    settings = {"engine": "connect", "stage.process": process}
    return parse_chain({**stages, **upper, **settings}, smt_jars=[folder / JAR])


def spec(folder: Path, lake: Path, name: str) -> RunSpec:
    """A run over the records below ``folder``, whose tables lie in ``lake``."""
    read, kind = RUNS[name]
    source = FileTopics(folder / "topics") if read == "files" else TableSource(path=str(folder / "bronze"))
    place = place_of(name)
    keyed = {"mode": "upsert", "keys": ["id"]} if place == "keyed" else {}
    return RunSpec(
        place,
        chain_of(folder, name),
        TopicTable(source, ("orders",), value=Format() if place.startswith("foreign") else COLUMNS),
        DeltaSink(lake / place, kind, **keyed),
        WindowRequest(max_records=300) if name == "keyed" else WindowRequest(),
        errors_tolerance="all",
        dead_letters=DeltaSink(lake / f"{place}-dead"),
    )


def place_of(name: str) -> str:
    """The folder of a run's table below the lake."""
    return name.partition(" ")[0]


def did(report: RunReport) -> list[object]:
    """What a run says of itself, but for the time it took."""
    return [report.status, report.records_in, report.records_out, report.dropped, report.failed, *report.rejects]


def outcome_of(folder: Path, lake: Path, name: str, session) -> str:
    """One of the runs, and in a line how that ended."""
    return ended(name, spec(folder, lake, name), session)


def ended(name: str, asked: RunSpec, session) -> str:
    """Run, and say in a line how that ended."""
    try:
        return f"{name} {did(run(asked, session))}"
    except SmtError as error:
        return f"{name} {type(error).__name__} {error.problems[0].code} {error.problems[0].statement}"


def collected(path: Path, session) -> str:
    """Whether the rows of a table would fit into what the driver takes."""
    try:
        return f"{path.name} {len(session.read.format('delta').load(str(path)).collect())} rows came"
    except Exception as error:  # noqa: BLE001 - of Py4J
        return f"{path.name} {'too big' if 'spark.driver.maxResultSize' in str(error) else error}"


def make_session(conf: dict[str, str]):
    import pyspark
    from pyspark.sql import SparkSession

    from dagster_smt.spark.packages import session_settings, with_fetched_jars

    builder = SparkSession.builder
    for key, setting in with_fetched_jars(session_settings(["delta"], conf, pyspark.__version__)).items():
        builder = builder.config(key, setting)
    return builder.getOrCreate()


def main(folder: Path, asked: list[dict]) -> None:
    """Do the runs of each session: its settings, its executors' Python, what is shipped, the lake, the runs."""
    for one in asked:
        os.environ["PYSPARK_PYTHON"] = one["python"]
        session = make_session(one["conf"])
        if one.get("ship"):
            session.sparkContext.addPyFile(one["ship"])
        for name in one["runs"]:
            print(outcome_of(folder, Path(one["lake"]), name, session), flush=True)
        for name in one["runs"] if one.get("ship") else ():
            for table in (folder / "bronze", Path(one["lake"]) / f"{place_of(name)}-dead"):
                print(collected(table, session), flush=True)
        session.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), json.loads(sys.argv[2]))
