"""A small run in its own process, which is killed at the point that its argument names. Used by ``test_crash``."""

import os
import signal
import sys
import threading
import time
from pathlib import Path

from dagster_smt.chain import parse_chain
from dagster_smt.run import batch, dead_letters
from dagster_smt.run.run_spec import RunSpec
from dagster_smt.tables.sink_options import DeltaSink
from dagster_smt.tables.sinks.delta import DeltaTable
from dagster_smt.tables.topic_table import FileTopics, TopicTable
from dagster_smt.tables.window_request import WindowRequest

CHAIN = {
    "transforms": "drop,cast,mask",
    "transforms.drop.type": "org.apache.kafka.connect.transforms.Filter",
    "transforms.drop.predicate": "gone",
    "transforms.cast.type": "org.apache.kafka.connect.transforms.Cast$Value",
    "transforms.cast.spec": "amount:int32",
    "transforms.mask.type": "org.apache.kafka.connect.transforms.MaskField$Value",
    "transforms.mask.fields": "name",
    "predicates": "gone",
    "predicates.gone.type": "org.apache.kafka.connect.transforms.predicates.RecordIsTombstone",
}


def spec(folder: Path, **changes) -> RunSpec:
    """The run over ``folder``: a topic with records that are kept, dropped and refused."""
    values = {
        "name": "orders",
        "chain": parse_chain(CHAIN),
        "table": TopicTable(FileTopics(folder / "topics"), ("orders",)),
        "sink": DeltaSink(folder / "table"),
        "errors_tolerance": "all",
        "dead_letter_topic": "orders.dead",
        "window": WindowRequest(max_records=20),
    }
    return RunSpec(**{**values, **changes})


def die(*args, **kwargs) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def dying_after(function):
    def wrapped(*args, **kwargs):
        function(*args, **kwargs)
        die()

    return wrapped


def while_writing(table, writer) -> None:
    """Die as soon as Spark has begun to write."""

    def watch():
        while not any(Path(table.spec.path).rglob("part-*")):
            time.sleep(0.001)
        die()

    threading.Thread(target=watch).start()
    SAVE(table, writer)
    time.sleep(60)


SAVE = DeltaTable._save
POINTS = {
    "after evaluating": lambda: setattr(batch.Attempt, "verify", die),
    "after the dead letters": lambda: setattr(dead_letters, "append_once", dying_after(dead_letters.append_once)),
    "before the commit": lambda: setattr(DeltaTable, "commit", die),
    "while writing": lambda: setattr(DeltaTable, "_save", while_writing),
    "after the commit": lambda: setattr(DeltaTable, "commit", dying_after(DeltaTable.commit)),
}

if __name__ == "__main__":
    import pyspark
    from pyspark.sql import SparkSession

    from dagster_smt.spark.packages import session_settings, with_fetched_jars

    os.environ["PYSPARK_PYTHON"] = sys.executable
    POINTS[sys.argv[1]]()
    builder = (
        SparkSession.builder.master("local[1]")
        .config("spark.driver.memory", "1g")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.sql.session.timeZone", "UTC")
    )
    for key, setting in with_fetched_jars(session_settings(["delta"], {}, pyspark.__version__)).items():
        builder = builder.config(key, setting)
    batch.run(spec(Path(sys.argv[2])), builder.getOrCreate())
