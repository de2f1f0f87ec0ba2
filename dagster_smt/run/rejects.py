"""Describes failed records in messages for users: their coordinates, the stage, and the problem."""

from typing import Any

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from dagster_smt.chain import Chain
from dagster_smt.errors import DATA_EXCEPTION, Problem
from dagster_smt.model.reports.run_report import RejectedRecord, TopicCounts
from dagster_smt.run.counts import CONVERTERS, FAILED
from dagster_smt.spark.lookup import lookup
from dagster_smt.spark.outcome_columns import PROBLEM_FIELDS
from dagster_smt.spark.reading.arrays import ELEMENT
from dagster_smt.tables.topic_table import TopicTable

FIRST = 5
COORDINATES = ("topic", "partition", "offset")
_CONVERTER_CLASSES = {
    "string": "org.apache.kafka.connect.storage.StringConverter",
    "bytes": "org.apache.kafka.connect.converters.ByteArrayConverter",
}
_JSON_CONVERTER = "org.apache.kafka.connect.json.JsonConverter"


def rejected_rows(evaluated: DataFrame, chain: Chain, table: TopicTable) -> DataFrame:
    """Returns a row for each failed record in ``evaluated``, with its coordinates, the stage in Connect's terms, and
    the problem.

    If a record has several rows, the result describes the first failed row.
    """
    # the names of Connect's enum Stage: TRANSFORMATION, KEY_CONVERTER, VALUE_CONVERTER
    stages = dict.fromkeys(range(len(chain.stages)), "TRANSFORMATION")
    classes = {}
    for number, stage in enumerate(chain.stages):
        classes[number] = stage.connect_class
    for number, form in zip(CONVERTERS, (table.key, table.value), strict=True):
        stages[number] = CONVERTERS[number].replace(".", "_").upper()
        classes[number] = _CONVERTER_CLASSES.get(form.kind, _JSON_CONVERTER)
    return _one_per_record(evaluated.where(F.col("__status") == FAILED)).select(
        *(F.col(f"__{c}").alias(c) for c in COORDINATES),
        F.col("__stage").alias("stage"),
        lookup(stages, F.col("__stage")).alias("connect_stage"),
        lookup(classes, F.col("__stage")).alias("stage_class"),
        *(F.coalesce(F.col("__problem")[c], F.lit("")).alias(c) for c in PROBLEM_FIELDS),
    )


def _one_per_record(failed: DataFrame) -> DataFrame:
    if ELEMENT not in failed.columns:
        return failed
    record = Window.partitionBy(*(f"__{c}" for c in COORDINATES)).orderBy(ELEMENT)
    return failed.withColumn("number", F.row_number().over(record)).where("number = 1")


def first_rejects(rows: DataFrame, chain: Chain) -> list[RejectedRecord]:
    """Returns the first failed records of each topic, ordered by topic, partition and offset. ``rows`` is the result of
    ``rejected_rows``.
    """
    number = F.row_number().over(Window.partitionBy("topic").orderBy("partition", "offset"))
    first = rows.withColumn("number", number).where(F.col("number") <= FIRST)
    rejects = []
    for r in first.orderBy(*COORDINATES).collect():
        rejects.append(_reject(r.asDict(), chain))
    return rejects


def _reject(row: dict[str, Any], chain: Chain) -> RejectedRecord:
    stage = place = CONVERTERS.get(row["stage"], "")
    if not stage:
        failed_stage = chain.stages[row["stage"]]
        stage, place = failed_stage.alias, failed_stage.place
    problem = Problem(row["code"], place, row["statement"], row["hint"], row["connect_class"])
    return RejectedRecord(row["topic"], row["partition"], row["offset"], stage, problem)


def last_stage(chain: Chain) -> int:
    """Returns the stage to report for a record that fails after the stages of ``chain``. It is the last stage, or the
    value converter if there are no stages.
    """
    if chain.stages:
        return len(chain.stages) - 1
    return min(CONVERTERS)  # -3, the value converter


def with_failed(frame: DataFrame, own: Column, stage: int, problem: Problem, statement: Column) -> DataFrame:
    """Marks as failed the records that satisfy the condition ``own``. Returns the evaluated window with these marks.

    Args:
        frame: The window.
        own: The condition. It applies only to records that passed through the chain.
        stage: The stage to report.
        problem: The problem of these records. Only its code and its hint are used.
        statement: A column with the sentence that describes the problem of each record.
    """
    texts = (F.lit(problem.code), statement, F.lit(problem.hint), F.lit(DATA_EXCEPTION))
    problem_fields = []
    for name, text in zip(PROBLEM_FIELDS, texts, strict=True):
        problem_fields.append(text.alias(name))
    failed: dict[str, Column] = {
        "__status": F.lit(FAILED).cast("tinyint"),
        "__stage": F.lit(stage),
        "__problem": F.struct(*problem_fields),
    }
    passed = F.col("__status") == 0
    columns = []
    for name in frame.columns:
        column = F.col(name)
        if name in failed:
            column = F.when(passed & own, failed[name]).otherwise(column).alias(name)
        columns.append(column)
    return frame.select(*columns)


def not_committed(place: str, counts: TopicCounts, *, whole: bool) -> Problem:
    """Returns the problem of the topic ``place``, which the run does not commit because records failed."""
    what = "nothing" if whole else "nothing of this topic"
    statement = f"{counts.failed_records} of {counts.records} records failed; {what} was committed"
    hint = "fix the chain and run again: the run reads the same offsets; or set errors.tolerance to all"
    return Problem("SMT530", place, statement, hint)


def located(reject: RejectedRecord) -> Problem:
    """Returns the problem of ``reject``, with the coordinates of the record as its location."""
    return reject.problem.at(f"{reject.topic}-{reject.partition}@{reject.offset}")
