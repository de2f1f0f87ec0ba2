"""A process that carries out runs as they are ordered on its input, and may die at a point named there.

It says on its output how far it is: whoever kills it knows where.
"""

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from dagster_smt.chain import parse_chain
from dagster_smt.errors import SmtError
from dagster_smt.model.topics.format import Format
from dagster_smt.model.windows.window import Range, Window
from dagster_smt.run import batch
from dagster_smt.run.batch import run
from dagster_smt.run.micro_batch import MicroBatches, run_batches
from dagster_smt.run.run_spec import RunSpec
from dagster_smt.tables.ddl import parse_ddl
from dagster_smt.tables.kafka.spec import KafkaTopics, NewTopics
from dagster_smt.tables.sink_options import DeltaSink, IcebergSink, KafkaSink, Sink
from dagster_smt.tables.sinks import kafka_topics, topics
from dagster_smt.tables.sinks.delta import DeltaTable
from dagster_smt.tables.sinks.iceberg import IcebergTable
from dagster_smt.tables.sinks.kafka import KafkaTable
from dagster_smt.tables.topic_table import FileTopics, TopicTable
from dagster_smt.tables.window_request import WindowRequest
from tests.run.kill_topics import GROUP
from tests.run.world import CHAIN, TRANSFORMS

ROUTE = {
    "transforms.route.type": TRANSFORMS + "RegexRouter",
    "transforms.route.regex": "(.*)",
    "transforms.route.replacement": "clean.$1",
}
TOPICS = ("audit", "orders", "people")
KEY = Format("json_schema", parse_ddl("id INT"))
VALUE = Format("json_schema", parse_ddl("id INT, name STRING, note STRING, seq BIGINT, __deleted STRING"))
LETTERS = "orders.dead"


class Armed(threading.local):
    """Where the order of a thread is to die, and the lane to which the order belongs."""

    point: Any = None
    statement: int | None = None
    lane = ""


armed = Armed()


def say(line: str) -> None:
    """Say a line, in one write: several orders may be under way."""
    sys.stdout.write(f"{armed.lane}{line}\n")
    sys.stdout.flush()


def reach(point: str) -> None:
    """Die here if that was asked for."""
    if armed.point == point:
        os.killpg(0, signal.SIGKILL)
        time.sleep(60)


def around(owner: Any, name: str, before: str, after: str) -> None:
    """Make a function one that may die before or after."""
    function = getattr(owner, name)

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        reach(before)
        say(f"PHASE in {name.strip('_')}")
        result = function(*args, **kwargs)
        reach(after)
        say(f"PHASE after {name.strip('_')}")
        return result

    setattr(owner, name, wrapped)


def count_statements() -> None:
    """Have the session die before the statement of a given number within a commit."""
    sql = SparkSession.sql

    def counted(self: Any, text: Any, *rest: Any, **more: Any) -> Any:
        if armed.statement is not None:
            if armed.statement == 0:
                os.killpg(0, signal.SIGKILL)
                time.sleep(60)
            armed.statement -= 1
        result = sql(self, text, *rest, **more)
        if "fast_forward" in str(text):
            say("PHASE after fast_forward")
        return result

    SparkSession.sql = counted


def arm_commit(table: type, name: str) -> None:
    """Statements are counted from the beginning of a commit on."""
    commit = getattr(table, name)

    def armed_commit(*args: Any, **kwargs: Any) -> Any:
        if str(armed.point).startswith("statement "):
            armed.statement = int(armed.point.split()[1])
        try:
            return commit(*args, **kwargs)
        finally:
            armed.statement = None

    setattr(table, name, armed_commit)


def prepare() -> None:
    """Put the points into the code."""
    around(batch.Attempt, "verify", "after evaluating", "after counting")
    around(topics, "append_frame", "before the letters", "after the letters")
    around(kafka_topics.KafkaPlace, "append", "before the letters", "after the letters")
    around(KafkaTable, "_write", "before saving", "after saving")
    around(DeltaTable, "_save", "before saving", "after saving")
    around(IcebergTable, "_write", "before saving", "after saving")
    around(IcebergTable, "_keep", "before the property", "after the property")
    around(DeltaTable, "_repeat_state", "before the property", "after the property")
    for table in (DeltaTable, IcebergTable, KafkaTable):
        for name in ("commit", "merge"):
            if hasattr(table, name):
                arm_commit(table, name)
                around(table, name, "before the commit", "after the commit")
    count_statements()


def spec_of(order: dict[str, Any]) -> RunSpec:
    """The run that an order asks for."""
    folder, kind, run_key = Path(order["folder"]), order["kind"], order.get("key", "")
    explicit = Window(tuple(Range(*part) for part in order["window"])) if order.get("window") else None
    times = {name: order.get(name) for name in ("since", "until", "max_records")} if kind != "micro" else {}
    window = WindowRequest(topics=tuple(order.get("topics", ())), explicit=explicit, **times)
    chain, sink = CHAIN, order["sink"].removeprefix("kafka-").removeprefix("keyed-")
    source: FileTopics | KafkaTopics = FileTopics(folder / "topics")
    if "servers" in order:
        source = KafkaTopics(order["servers"], create=NewTopics())
    into: Sink = DeltaSink(folder / "table")
    if isinstance(source, KafkaTopics) and sink == "kafka":
        chain = {**CHAIN, **ROUTE, "transforms": "drop,cast,mask,route"}
        into = KafkaSink(source, GROUP)
    elif sink == "iceberg":
        into = IcebergSink(folder / "table")
    if order["sink"] == "many":
        rows = Format("json_schema", parse_ddl("id INT, amount BIGINT"))
        topics = TopicTable(source, pattern="events.*", value=rows)
        return RunSpec("events", parse_chain([]), topics, DeltaSink(folder / "lake" / "{topic}", "columns"))
    if order["sink"].startswith("keyed-"):
        of_format = {"delta": DeltaSink, "iceberg": IcebergSink}[sink]
        into = of_format(folder / "table", "columns", mode="upsert")
        table = TopicTable(source, ("people",), key=KEY, value=VALUE)
        return RunSpec("people", parse_chain([]), table, into, window=window, rebuild=kind == "rebuild", key=run_key)
    return RunSpec(
        "orders",
        parse_chain(chain),
        TopicTable(source, TOPICS),
        into,
        window=window,
        errors_tolerance="none" if kind == "rejected" else "all",
        dead_letter_topic=LETTERS,
        rebuild=kind == "rebuild",
        key=run_key,
    )


def carry_out(order: dict[str, Any], session: SparkSession) -> str:
    """Run what is ordered; tells how it ended."""
    armed.point = order.get("point")
    try:
        if order["kind"] == "micro":
            batches = MicroBatches(order["max_records"], order["max_batches"])
            return run_batches(spec_of(order), session, batches, say)[-1].status
        return run(spec_of(order), session, say).status
    except SmtError as error:
        return f"refused {error}".replace("\n", " ")
    finally:
        armed.point = None


def carry_out_beside(order: dict[str, Any], session: SparkSession) -> None:
    """Run what is ordered, while other orders of the process are under way."""
    armed.lane = f"{order['lane']} "
    say("DONE " + carry_out(order, session))


def start(jars: str, cores: int = 1) -> SparkSession:
    """A session with both formats that has worked once. Jars of an earlier session save looking for them."""
    import pyspark

    from dagster_smt.spark.packages import session_settings, with_fetched_jars

    os.environ["PYSPARK_PYTHON"] = sys.executable
    conf = {
        "spark.master": f"local[{cores}]",
        "spark.python.daemon.module": "tests.run.kill_daemon",
        "spark.driver.memory": f"{cores}g",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        # One compiler alone reserves 48 MB for its code. Several runs beside each other fill them, and the JVM exits.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=256m",
        "spark.executor.heartbeatInterval": "300s",  # a machine with other work may stop for a minute
        "spark.network.timeout": "3000s",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.parquet.compression.codec": "uncompressed",  # raw values in a file would be seen
        "spark.sql.iceberg.compression-codec": "uncompressed",
    }
    if jars:
        conf["spark.driver.extraClassPath"] = jars
    builder = SparkSession.builder
    settings = session_settings(["delta", "iceberg", "kafka"], conf, pyspark.__version__)
    for key, value in with_fetched_jars(settings).items():  # Ivy of Spark 3.5 would print to standard output
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.range(2).mapInArrow(lambda batches: batches, "id BIGINT").collect()
    return session


def main() -> None:
    jars = sys.argv[1]
    session = start(jars, int(sys.argv[2]))
    prepare()
    copy = session.conf.get("spark.jars", "").replace("file://", "").replace(",", ":")
    say("READY " + json.dumps(jars or copy))
    for line in sys.stdin:
        order = json.loads(line)
        if "lane" in order:
            threading.Thread(target=carry_out_beside, args=(order, session), daemon=True).start()
        else:
            say("DONE " + carry_out(order, session))


if __name__ == "__main__":
    main()
