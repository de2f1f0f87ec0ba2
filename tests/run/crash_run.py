"""A small run in its own process, which is killed at the point that its argument names. Used by ``test_crash``."""

import os
import signal
import sys
import threading
import time
from pathlib import Path

from dagster_smt.chain import parse_chain
from dagster_smt.run import batch
from dagster_smt.run.batch import RunSpec
from dagster_smt.tables import local
from dagster_smt.tables.commit_log import CommitLog
from dagster_smt.tables.file_topics import TopicWriter
from dagster_smt.tables.spec import FileTopics, ParquetSink, TopicTable, WindowRequest

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
        "sink": ParquetSink(folder / "table"),
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


def while_writing(frame, folder) -> None:
    """Die as soon as Spark has begun to write."""

    def watch():
        while not any(folder.rglob("part-*")):
            time.sleep(0.001)
        die()

    threading.Thread(target=watch).start()
    WRITE(frame, folder)
    time.sleep(60)


def dying_at_commit(temporary, path, *, exclusive):
    if path.parent.name == "commits":
        die()
    PUBLISH(temporary, path, exclusive=exclusive)


WRITE, PUBLISH = batch.write_files, local.publish
POINTS = {
    "with the intent": lambda: setattr(CommitLog, "take", dying_after(CommitLog.take)),
    "while writing": lambda: setattr(batch, "write_files", while_writing),
    "after writing": lambda: setattr(batch, "list_files", dying_after(batch.list_files)),
    "with staged dead letters": lambda: setattr(batch, "dead_letters_of", dying_after(batch.dead_letters_of)),
    "before the commit": lambda: setattr(local, "publish", dying_at_commit),
    "after the commit": lambda: setattr(CommitLog, "commit", dying_after(CommitLog.commit)),
    "after the dead letters": lambda: setattr(TopicWriter, "append", dying_after(TopicWriter.append)),
    "before the end": lambda: setattr(CommitLog, "drop", die),
}

if __name__ == "__main__":
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    POINTS[sys.argv[1]]()
    session = (
        SparkSession.builder.master("local[1]")
        .config("spark.driver.memory", "1g")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    batch.run(spec(Path(sys.argv[2])), session)
