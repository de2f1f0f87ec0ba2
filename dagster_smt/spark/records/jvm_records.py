"""Runs the JVM lane on Spark. The lane is Java code, which Spark's generated code calls. It runs a chain on JSON
records without a schema.

The lane leaves difficult records to Python. The row of such a record has the status ``LEFT`` and contains the original
record. Python runs only these records, and only if there are any.
"""

from pyspark.sql import DataFrame, SparkSession

from dagster_smt.interpret.interpreter import reads_keys
from dagster_smt.jvm.availability import has_lane
from dagster_smt.jvm.program import KeptOut, kept_out, program_of
from dagster_smt.spark import sql as F
from dagster_smt.spark.outcome_columns import (
    HEADERS_DDL,
    LEFT,
    LEFT_RECORD,
    RECORD_COLUMNS,
    UNREADABLE_TIMESTAMP,
    untouched,
)
from dagster_smt.spark.records.arrow_map import COMMON, READ_COLUMNS, ArrowMap, changes_column, evaluate_records
from dagster_smt.spark.records.java_calls import call_java, of_call, outcome_columns, record_numbers
from dagster_smt.spark.sql import Column, select

_OTHER_FORMATS = "keys of another format, formats with options, or another format that is written"


def lane_program(session: SparkSession, job: ArrowMap) -> str | None:
    """Returns the chain of ``job`` as a JSON program for the JVM lane, the Java evaluator inside Spark. Returns None if
    the lane cannot run the chain, or if the session has no lane.
    """
    program = program_of_job(job)
    if program is not None and has_lane(session):
        return program
    return None


def program_of_job(job: ArrowMap) -> str | None:
    """Returns the chain of ``job`` as a JSON program for the JVM lane, the Java evaluator inside Spark. Returns None if
    the lane cannot run the chain.
    """
    if _is_plain(job):
        return program_of(job.chain, *_formats(job))
    return None


def why_not(job: ArrowMap) -> KeptOut | None:
    """Returns the reason why the JVM lane (the Java evaluator inside Spark) cannot run ``job``, if the values are JSON
    without a schema. Returns None if the lane can run the job, or if the values have a different format.
    """
    if job.value.kind != "json":
        return None
    if _is_plain(job):
        return kept_out(job.chain, *_formats(job))
    return KeptOut(None, _OTHER_FORMATS)


def _is_plain(job: ArrowMap) -> bool:
    has_options = bool(job.value.options or job.key.options)
    keys = job.key.kind in ("json", "string") or not _is_read(job)
    return job.value.kind == "json" and keys and not has_options and not job.rewritten and not job.registered


def _formats(job: ArrowMap) -> tuple[str, str]:
    """Returns two arguments for the function ``program_of``. The first is the format of the keys; it is empty if the
    chain does not read keys. The second is the destination of the records; it is empty if records are not written to
    topics.
    """
    return job.key.kind if _is_read(job) else "", job.place


def evaluate_in_lane(frame: DataFrame, job: ArrowMap, program: str) -> DataFrame:
    """Runs a chain in the JVM lane, the Java evaluator inside Spark. ``program`` is the chain as a JSON program.
    Returns the columns of ``spark.outcome_columns``. If the lane leaves a record to Python, its row has the status
    ``LEFT`` and contains the original record.
    """
    key = F.col("key") if _is_read(job) else F.lit(None).cast("binary")
    # The lane leaves a record without a topic to Python. So the topic is removed from a record whose timestamp the
    # source could not read.
    readable = F.coalesce(F.col("timestampType") != UNREADABLE_TIMESTAMP, F.lit(True))
    topic = F.when(readable, F.col("topic"))
    if job.chain.reads_headers:
        headers = F.col("headers")
    else:
        headers = F.lit(None).cast(HEADERS_DDL)
    arguments = [key, F.col("value"), topic, *record_numbers(), headers, F.lit(program)]
    return outcome_columns(call_java(frame, "records", arguments), _touched(job), _record(job))


def _is_read(job: ArrowMap) -> bool:
    return reads_keys(job.chain, job.key)


def _touched(job: ArrowMap) -> Column:
    if job.words > 1:
        return of_call("words")
    if job.words:
        return F.array(of_call("touched"))
    return untouched()


def _record(job: ArrowMap) -> Column:
    """Returns a column with the output record of ``job``, with the names and types of ``RECORD_COLUMNS``."""
    out = {}
    for name in RECORD_COLUMNS:
        if name != "source_topic":
            out[name] = F.col(name)
    out |= {"value": of_call("value"), "topic": of_call("topic"), "source_topic": F.col("topic")}
    if _is_read(job):
        out["key"] = of_call("key")
    if job.chain.reads_headers:
        out["headers"] = of_call("headers")
    if job.chain.writes_timestamp:
        out["timestamp"] = F.call_function("timestamp_micros", of_call("timestamp"))
    return F.struct(*(column.alias(name) for name, column in out.items()))


def run_left(lane: DataFrame, job: ArrowMap) -> DataFrame:
    """Runs, in Python, the records that the JVM lane (the Java evaluator inside Spark) could not run. Returns the new
    rows of these records.

    ``lane`` is the lane's result, which may be cached.
    """
    rows = lane.where(f"__status = {LEFT}")
    read = {"topic": "__topic", "partition": "__partition", "offset": "__offset"}
    out = F.col("__out")
    columns = []
    for name in READ_COLUMNS:
        columns.append((F.col(read[name]) if name in read else out.getField(name)).alias(name))
    return evaluate_records(select(rows, *columns), job).select(*COMMON, *changes_column(job), "__out")


def with_left(lane: DataFrame, rest: DataFrame) -> DataFrame:
    """Joins two results. ``lane`` is the result of the JVM lane (the Java evaluator inside Spark); only the rows of
    records that the lane has run are used. ``rest`` contains the rows of all other records, which Python has run.
    """
    if LEFT_RECORD in lane.columns:
        # The filter must not use the status. Spark would move such a filter below all stages, where the expression of
        # each status contains the previous status twice.
        done = lane.where(f"{LEFT_RECORD} IS NULL").drop(LEFT_RECORD)
    else:
        done = lane.where(f"__status <> {LEFT}")
    return done.union(rest.select(*done.columns))
