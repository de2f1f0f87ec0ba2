"""Runs foreign stages inside Spark's JVM. These are either Kafka's own transform classes, or classes from jars if the
chain has ``stage.process: spark`` (decision 35).

Other foreign stages run in the host, a separate Java process, because a stage may end its process or never return.
Kafka's classes do neither, so Spark calls them from its generated code. No record travels to Python. If a converter
rejects a record, the record's row gets the status ``LEFT``. Python then runs this record with the same classes in the
host.
"""

import base64
import json

from pyspark.sql import DataFrame, SparkSession

from dagster_smt.chain.plan import first_entries
from dagster_smt.foreign.check import classes_for
from dagster_smt.foreign.kafkas_classes import only_kafkas, runs_in_jvm
from dagster_smt.foreign.segment import Classes, operation, thrown
from dagster_smt.foreign.wire import encoder
from dagster_smt.jvm.availability import has_lane
from dagster_smt.jvm.program import topic_names
from dagster_smt.spark import sql as F
from dagster_smt.spark.executors import has_remote_executors
from dagster_smt.spark.java_classes import java_class
from dagster_smt.spark.outcome_columns import (
    BITS,
    CHANGES,
    PROBLEM_TYPE,
    RECORD_COLUMNS,
    TARGET,
    UNREADABLE_TIMESTAMP,
    untouched,
)
from dagster_smt.spark.records.arrow_map import ArrowMap
from dagster_smt.spark.records.java_calls import call_java, of_call, outcome_columns, record_numbers
from dagster_smt.spark.sql import Column

# Kafka Connect 4 needs Java 17, and Spark 3.5 also runs on Java 11.
_OLDEST_JAVA = 17


def connect_setup(session: SparkSession, job: ArrowMap) -> str | None:
    """Returns the setup for the Java class ``ConnectStages``: a text with the stages, the formats, the names of topics
    and the paths of the jars. Returns None if the stages must run in a separate Java process, the host.
    """
    if not runs_in_jvm(job.chain, job.key, job.value) or job.rewritten or job.registered or not _takes(session):
        return None
    classes = classes_for(job.chain.foreign)
    # in the setup, newlines separate the paths
    if any("\n" in str(jar) for jar in classes.connect):
        return None
    return _setup(job, classes)


def _takes(session: SparkSession) -> bool:
    """Returns True if ``session`` can run Kafka Connect's classes in its JVM. The session needs the jar of this
    package. Its executors must run on this machine, with Java 17 or later.
    """
    if has_remote_executors(session) or not has_lane(session):
        return False
    version = java_class(session, "java.lang.System").getProperty("java.specification.version")
    return version.isdigit() and int(version) >= _OLDEST_JAVA


def _setup(job: ArrowMap, classes: Classes) -> str:
    settings, plugins = job.chain.foreign, classes.plugins
    operations = [operation(index, stage, plugins) for index, stage in enumerate(job.chain.stages)]
    jars = [list(map(str, plugin.jars)) for plugin in plugins]
    retries = [settings.retry_timeout_ms, settings.retry_delay_max_ms]
    stages = encoder.encode([job.key.kind, job.value.kind, jars, *retries, operations])
    numbers = [BITS, job.words, *first_entries(job.chain)]
    topics = json.dumps(topic_names(job.place) if job.place else None)
    lines = [base64.b64encode(stages).decode(), ",".join(map(str, numbers)), topics, *map(str, classes.connect)]
    return "\n".join(lines)


def evaluate_in_connect(frame: DataFrame, job: ArrowMap, setup: str) -> DataFrame:
    """Runs the chain of ``job`` in Spark's JVM, with ``setup`` from ``connect_setup``. Returns the columns of
    ``spark.outcome_columns``. If Java leaves a record to Python, its row has the status ``LEFT`` and contains the
    original record.
    """
    kind = F.coalesce(F.col("timestampType"), F.lit(-1))
    # Java leaves a record without a topic to Python. So the topic is removed from a record whose timestamp the source
    # could not read.
    topic = F.when(kind != UNREADABLE_TIMESTAMP, F.col("topic"))
    arguments = [F.col("key"), F.col("value"), topic, *record_numbers(), F.col("headers"), kind, F.lit(setup)]
    touched = F.coalesce(of_call("words"), untouched(job.words))
    # a class from a jar may have state, so Spark must call it exactly once per record
    function = "connect_records" if only_kafkas(job.chain) else "foreign_records"
    called = call_java(frame, function, arguments)
    changes = of_call("changes").alias(CHANGES)
    return outcome_columns(called, touched, _record(job), changes, problem=_problem())


def _problem() -> Column:
    """Returns a column with the problem of a record whose stage threw an exception. For other records, the column is
    null.
    """
    words = thrown("", None)
    parts = {
        "code": F.lit(words.code),
        "statement": F.concat(F.lit(words.statement), of_call("thrown")),
        "hint": F.lit(words.hint),
        "connect_class": of_call("thrown"),
    }
    problem = F.struct(*(column.alias(name) for name, column in parts.items()))
    return F.when(of_call("thrown").isNotNull(), problem).cast(PROBLEM_TYPE)


def _record(job: ArrowMap) -> Column:
    """Returns a struct column with the record after the stages of ``job``: key, value, topic, headers and so on."""
    out = {name: F.col(name) for name in RECORD_COLUMNS if name != "source_topic"}
    for name in ("key", "value", "topic"):
        out[name] = of_call(name)
    out["source_topic"] = F.col("topic")
    out["timestamp"] = F.call_function("timestamp_micros", of_call("timestamp"))
    out["headers"] = F.coalesce(of_call("headers"), F.col("headers"))
    if job.chain.writes_partition:
        out[TARGET] = of_call("partition")
    return F.struct(*(column.alias(name) for name, column in out.items()))
