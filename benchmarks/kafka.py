"""Measures whole runs from a Kafka broker on the same machine. For comparison, Spark alone does the same with its Kafka
source and its Delta writer.
"""

import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from benchmarks.beside_connect import FIVE
from benchmarks.cases import DDL, FLAT, Case, Setting, Taken, Target
from benchmarks.connect.iceberg import IcebergWorker, iceberg_worker
from benchmarks.connect.standalone import Worker, worker
from benchmarks.records import TOPIC, value_schema
from dagster_smt.chain import parse_chain
from dagster_smt.model.topics.format import Format
from dagster_smt.run.batch import run
from dagster_smt.run.run_spec import RunSpec
from dagster_smt.tables.kafka.client import KafkaClient
from dagster_smt.tables.kafka.spec import KafkaTopics, NewTopics
from dagster_smt.tables.sink_options import DeltaSink, IcebergSink, KafkaSink, SinkKind
from dagster_smt.tables.topic_table import TopicTable
from dagster_smt.testing import KafkaBroker

PARTITIONS = 4
_CONNECT = "Kafka Connect, two tasks: Kafka to Kafka"
_ICEBERG = "Kafka Connect, Iceberg's sink, two tasks: Kafka to Iceberg, five stages"
_BARE = "bare Kafka to Delta columns"
_COPY = "bare Kafka to Kafka"
_READER = {"kafka.fetch.max.wait.ms": "50", "kafka.max.poll.records": "5000"}
_WRITER = {"kafka.linger.ms": "20", "kafka.batch.size": "131072"}
_broker: dict[str, KafkaTopics] = {}
_stack = ExitStack()
_worker: list[Worker] = []
_iceberg_worker: list[IcebergWorker] = []


@contextmanager
def broker(folder: Path) -> Iterator[None]:
    """Starts the broker that the cases use. At the end of the block, stops the broker and everything that the cases
    have started.
    """
    with KafkaBroker(folder) as running, _stack:
        _broker["topics"] = KafkaTopics(running.servers, create=NewTopics(PARTITIONS))
        yield


def _topic(setting: Setting) -> KafkaTopics:
    """Returns the broker's topics, among them a topic of four partitions with the records. The first call (in the
    warm-up) writes the records.
    """
    topics = _broker["topics"]
    client = KafkaClient(topics)
    if TOPIC not in client.names():
        client.create([TOPIC], NewTopics(PARTITIONS))
        options = {**_WRITER, "kafka.bootstrap.servers": topics.servers, "topic": TOPIC}
        rows = setting.frame.select(
            "key", "value", (F.pmod("offset", F.lit(PARTITIONS))).cast("int").alias("partition")
        )
        rows.write.format("kafka").options(**options).save()
    return topics


def _read(setting: Setting) -> DataFrame:
    topics = _topic(setting)
    options = {**_READER, "kafka.bootstrap.servers": topics.servers, "subscribe": TOPIC}
    return setting.frame.sparkSession.read.format("kafka").options(**options).load()


def bare_table(setting: Setting) -> None:
    """Copies the topic into a Delta table of columns, with Spark alone."""
    rows = _read(setting).select(F.from_json(F.col("value").cast("string"), DDL).alias("v")).select("v.*")
    rows.write.format("delta").mode("overwrite").save(str(setting.scratch))
    shutil.rmtree(setting.scratch)


def bare_copy(setting: Setting) -> None:
    """Copies the topic into another topic, with Spark alone. Each JSON value is parsed and printed again."""
    value = F.to_json(F.from_json(F.col("value").cast("string"), DDL)).alias("value")
    options = {**_WRITER, "kafka.bootstrap.servers": _topic(setting).servers, "topic": "copies"}
    client = KafkaClient(_broker["topics"])
    if "copies" not in client.names():
        client.create(["copies"], NewTopics(PARTITIONS))
    _read(setting).select("key", value).write.format("kafka").options(**options).save()


def to_table(kind: SinkKind) -> Callable[[Setting], None]:
    """Returns a case that runs the topic through a chain into a Delta table. The time covers the whole run, from
    listing the topic's offsets to the commit.
    """

    def measured(setting: Setting) -> None:
        value = Format("json_schema", value_schema()) if kind == "columns" else Format("json")
        table = TopicTable(_topic(setting), (TOPIC,), value=value)
        _run(setting, RunSpec("benchmark", parse_chain(FLAT), table, DeltaSink(setting.scratch, kind)))
        shutil.rmtree(setting.scratch)

    return measured


def to_topic(setting: Setting) -> None:
    """Runs the topic through a chain into another topic. Each round uses a new consumer group, and therefore reads all
    records.
    """
    table = TopicTable(_topic(setting), (TOPIC,))
    sink = KafkaSink(_broker["topics"], f"benchmark-{time.monotonic_ns()}")
    _run(setting, RunSpec("benchmark", parse_chain(FLAT), table, sink))


def connect_copy(setting: Setting) -> Taken:
    """Copies the topic through the chain into another topic, with Kafka Connect. The worker starts in the warm-up, and
    continues to run for all rounds.
    """
    if not _worker:
        topics = _topic(setting)
        folder = setting.scratch.with_name("connect")
        _worker.append(_stack.enter_context(worker(folder, topics.servers, TOPIC, PARTITIONS, FLAT, setting.records)))
    return Taken(_worker[0].round())


def to_iceberg(setting: Setting) -> None:
    """Runs the topic through a chain into an Iceberg table of columns. The values have a declared schema."""
    table = TopicTable(_topic(setting), (TOPIC,), value=Format("json_schema", value_schema()))
    _run(setting, RunSpec("benchmark", parse_chain(FIVE), table, IcebergSink(setting.scratch, "columns")))
    shutil.rmtree(setting.scratch)


def connect_iceberg(setting: Setting) -> Taken:
    """Copies the topic through a chain into an Iceberg table, with Kafka Connect and the Iceberg project's own sink.
    The time ends when all rows are committed.
    """
    if not _iceberg_worker:
        topics = _topic(setting)
        folder = setting.scratch.with_name("connect-iceberg")
        worker = iceberg_worker(folder, topics.servers, TOPIC, FIVE, setting.records)
        _iceberg_worker.append(_stack.enter_context(worker))
    return Taken(_iceberg_worker[0].round())


def _run(setting: Setting, spec: RunSpec) -> None:
    report = run(spec, setting.frame.sparkSession)
    if report.records_out != setting.records:
        raise RuntimeError(f"{setting.records} records were to come through; {report.records_out} did")
    phases = ", ".join(f"{phase} {spent:.2f} s" for phase, spent in report.seconds.items())
    print(f"  phases: {phases}", file=sys.stderr)


CASES = (
    Case(_BARE, bare_table),
    Case("a run: Kafka to Delta records, six stages", to_table("records"), _BARE),
    Case("a run: Kafka to Delta columns, six stages", to_table("columns"), _BARE, target=Target(bare=0.9)),
    Case(_COPY, bare_copy),
    Case(_CONNECT, connect_copy, _COPY),
    Case("a run: Kafka to Kafka, six stages", to_topic, _COPY, connect=_CONNECT, target=Target(connect=1)),
    Case(_ICEBERG, connect_iceberg),
    Case(
        "a run: Kafka to Iceberg columns, five stages",
        to_iceberg,
        connect=_ICEBERG,
        target=Target(connect=0.5),
    ),
)
