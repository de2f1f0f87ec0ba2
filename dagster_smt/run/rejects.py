"""Records that failed: named to the user, or made into dead letters with Connect's context headers.

Dead letters are staged beside the data, named in the commit and published after it. Whoever finds them still staged,
after a crash, looks into the topic first: every dead letter carries the id of its commit.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from dagster_smt.chain import Chain
from dagster_smt.errors import DATA_EXCEPTION, Problem, TableError
from dagster_smt.model.report import Reject
from dagster_smt.run.counts import CONVERTERS, FAILED
from dagster_smt.spark.columns import PROBLEM_FIELDS
from dagster_smt.tables import local
from dagster_smt.tables.commit_log import Commit, CommitLog, DeadLetters
from dagster_smt.tables.file_topics import NewRecord, writing
from dagster_smt.tables.spec import FileTopics, TopicTable

FIRST = 5
WINDOW_HEADER = "dagster_smt.window"
COMMIT_HEADER = "dagster_smt.commit"
STAGED = "_dead_letters"
PROBLEMS = "_problems"
_CONTEXT = "__connect.errors."
_COORDINATES = ("topic", "partition", "offset")
_CONVERTER_CLASSES = {
    "string": "org.apache.kafka.connect.storage.StringConverter",
    "bytes": "org.apache.kafka.connect.converters.ByteArrayConverter",
}
_JSON_CONVERTER = "org.apache.kafka.connect.json.JsonConverter"


def rejected_rows(evaluated: DataFrame, chain: Chain, table: TopicTable) -> DataFrame:
    """Where each failed record is, what refused it there in Connect's words, and its problem."""
    stages = dict.fromkeys(range(len(chain.stages)), "TRANSFORMATION")
    classes = {number: stage.connect_class for number, stage in enumerate(chain.stages)}
    for number, form in zip(CONVERTERS, (table.key, table.value), strict=True):
        stages[number] = CONVERTERS[number].replace(".", "_").upper()
        classes[number] = _CONVERTER_CLASSES.get(form.kind, _JSON_CONVERTER)
    return evaluated.where(F.col("__status") == FAILED).select(
        *(F.col(f"__{c}").alias(c) for c in _COORDINATES),
        F.col("__stage").alias("stage"),
        _named(stages).alias("connect_stage"),
        _named(classes).alias("stage_class"),
        *(F.coalesce(F.col("__problem")[c], F.lit("")).alias(c) for c in PROBLEM_FIELDS),
    )


def _named(names: dict[int, str]) -> Column:
    return F.create_map(*(F.lit(x) for pair in names.items() for x in pair))[F.col("__stage")]


def first_rejects(rows: DataFrame, chain: Chain) -> list[Reject]:
    """The first few of ``rejected_rows``, in order of topic, partition and offset."""
    return [_reject(r.asDict(), chain) for r in rows.orderBy(*_COORDINATES).limit(FIRST).collect()]


def _reject(row: dict[str, Any], chain: Chain) -> Reject:
    converter = CONVERTERS.get(row["stage"])
    stage, place = (converter, converter) if converter else _stage_names(chain, row["stage"])
    problem = Problem(row["code"], place, row["statement"], row["hint"], row["connect_class"])
    return Reject(row["topic"], row["partition"], row["offset"], stage, problem)


def _stage_names(chain: Chain, index: int) -> tuple[str, str]:
    return chain.stages[index].alias, chain.stages[index].place


def located(reject: Reject) -> Problem:
    """The problem of a rejected record, with its coordinates in front."""
    return reject.problem.at(f"{reject.topic}-{reject.partition}@{reject.offset}")


def stage_dead_letters(rows: DataFrame, frame: DataFrame, folder: Path, failed: int) -> DataFrame:
    """Write the failed records as they were read, with their problems, sorted, below ``folder``.

    The problems are written first: their size is known then, and few of them are broadcast to the records.

    Args:
        rows: ``rejected_rows`` of the window.
        frame: The window as read.
        folder: The attempt's data folder.
        failed: How many there must be.

    Returns:
        The problems, to be read again cheaply.

    Raises:
        TableError: SMT532, the second pass over the window found another number of them.
    """
    path, staged = folder / PROBLEMS, folder / STAGED
    rows.write.parquet("file://" + str(path))
    problems = rows.sparkSession.read.schema(rows.schema).parquet(local.spark_path(path))
    originals = frame.withColumn("timestamp", F.unix_millis("timestamp"))
    originals.join(problems, list(_COORDINATES)).orderBy(*_COORDINATES).write.parquet("file://" + str(staged))
    count = sum(1 for _ in _staged_rows(staged, ["offset"]))
    if count != failed:
        statement = f"{failed} records failed, but the second pass found {count} of them"
        raise TableError(Problem("SMT532", folder.name, statement, "the topic changed while it was read: run again"))
    for file in staged.iterdir():
        local.sync(file)
    local.sync(staged)
    return problems


def dead_letters_of(
    source: FileTopics, topic: str, name: str, failed: int, log: CommitLog, attempt: str
) -> DeadLetters:
    """What a commit says of its dead letters. ``name`` is the connector's name in their headers. Creates the topic."""
    with writing(source, topic) as writer:
        since = writer.end()
    staged = (log.data_folder(attempt) / STAGED).relative_to(log.root)
    return DeadLetters(str(local.local_folder(source.root)), topic, name, since, failed, str(staged))


def publish_dead_letters(log: CommitLog, commit: Commit) -> int:
    """Append a commit's staged dead letters to their topic, unless they are there. Returns how many it appended."""
    letters = commit.dead_letters
    if letters is None or not (log.root / letters.staged).is_dir():
        return 0
    staged = log.root / letters.staged
    appended = 0
    with writing(FileTopics(Path(letters.root)), letters.topic) as writer:
        if not writer.find_header(COMMIT_HEADER, commit.attempt, letters.since):
            appended = writer.append(_dead_letter(row, letters, commit) for row in _staged_rows(staged)).records
    # renamed first: a folder half removed must not look like one still to be published
    shutil.rmtree(staged.rename(staged.with_name("_published")))
    return appended


def _staged_rows(folder: Path, columns: list[str] | None = None) -> Iterator[dict[str, Any]]:
    for path in sorted(folder.glob("part-*.parquet")):
        for batch in pq.ParquetFile(path).iter_batches(1000, columns=columns):
            yield from batch.to_pylist()


def _dead_letter(row: dict[str, Any], letters: DeadLetters, commit: Commit) -> NewRecord:
    context = {
        "topic": row["topic"],
        "partition": str(row["partition"]),
        "offset": str(row["offset"]),
        "connector.name": letters.connector,
        "task.id": "0",
        "stage": row["connect_stage"],
        "class.name": row["stage_class"],
        "exception.class.name": row["connect_class"] or DATA_EXCEPTION,
        "exception.message": f"{row['code']} {row['statement']}",
    }
    headers = [(h["key"], h["value"]) for h in row["headers"] or ()]
    headers += [(_CONTEXT + key, text.encode()) for key, text in context.items()]
    headers += [(WINDOW_HEADER, commit.window.id.encode()), (COMMIT_HEADER, commit.attempt.encode())]
    return NewRecord(row["key"], row["value"], tuple(headers), row["timestamp"], row["timestampType"])
