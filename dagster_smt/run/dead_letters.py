"""Writes dead letters to a separate topic or table. A dead letter is an original record with Connect's context headers.

A run publishes dead letters before it commits the window. If an earlier attempt crashed, or if a window is read again,
some dead letters exist already. The run finds them by connector name and coordinates, and does not write them again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from dagster_smt.errors import DATA_EXCEPTION, Problem, TableError
from dagster_smt.model.windows.offsets import OffsetSet, offsets_of, topics_in
from dagster_smt.model.windows.window import Range, number_of_records
from dagster_smt.run.commits import Draft
from dagster_smt.run.rejects import COORDINATES
from dagster_smt.run.run_spec import Progress
from dagster_smt.spark.lookup import lookup
from dagster_smt.tables.kafka.spec import KafkaTopics
from dagster_smt.tables.sink_options import TableSink
from dagster_smt.tables.sinks import open_table, open_topics
from dagster_smt.tables.sinks.append_once import Trace, append_once, last_header
from dagster_smt.tables.topic_table import FileTopics, TableSource
from dagster_smt.values.headers.fields import HEADERS_DDL, no_headers

WINDOW_HEADER = "dagster_smt.window"
COMMIT_HEADER = "dagster_smt.commit"
IDENTITY_HEADER = "dagster_smt.topic.id"
_CONTEXT = "__connect.errors."
CONNECTOR_HEADER = f"{_CONTEXT}connector.name"
SOURCE_HEADERS = tuple(f"{_CONTEXT}{c}" for c in COORDINATES)
_IDENTIFYING = (CONNECTOR_HEADER, *SOURCE_HEADERS, IDENTITY_HEADER)


@dataclass(frozen=True)
class Published:
    """The outcome of publishing the dead letters of a window.

    Attributes:
        ends: For each partition of the dead-letter topic, the offset at which the next run starts to search for dead
            letters. The next state stores these offsets.
        unwritten: The records without a dead letter, because the topic rejects even its shortest form.
        problems: The warnings about these records.
    """

    ends: Mapping[str, int] = field(default_factory=dict)
    unwritten: tuple[Range, ...] = ()
    problems: tuple[Problem, ...] = ()


def _not_published(topic: str, records: Sequence[Range]) -> Problem:
    """Returns the problem of dead letters that ``topic`` rejects even in their shortest form, without key and value.
    The original records, which are in ``records``, stay listed as failed.
    """
    count = number_of_records(records)
    statement = f"{count} dead letters were not written: the topic rejects them, even without key and value"
    hint = (
        "raise max.message.bytes of the topic; one whose records need keys (cleanup.policy=compact) is none for dead "
        "letters; then launch with window.redrive: true: it writes the letters of the records that fail again"
    )
    return Problem("SMT640", topic, statement, hint)


def publish(draft: Draft, rows: DataFrame, originals: DataFrame, count: int, say: Progress) -> Published:
    """Publishes the dead letters of a window that the dead-letter topic or table does not contain yet.

    The run searches the dead-letter topic for existing dead letters. The last commit of the asset has stored the
    offsets at which the search starts. In three cases, the search starts at the beginning of the dead-letter topic: the
    asset has no commit yet, the run rebuilds the table, or the run has a fixed window. In the last two cases, earlier
    runs may have read the same records.

    In a dead-letter table, a dead letter exists if a row has the same name of an asset, and the same topic id and
    coordinates of the original record.

    Args:
        draft: The commit that the run is preparing.
        rows: The failed records, from ``rejected_rows``.
        originals: The records of the window before the chain.
        count: The expected number of dead letters.
        say: Receives lines about the progress.

    Raises:
        TableError: SMT532, a second reading of the window has a different number of failed records.
    """
    spec, session = draft.spec, rows.sparkSession
    # the letters are counted and then written: without the cache, Spark would read the topics twice
    letters = _letters(draft, rows, originals).persist()
    try:
        actual = letters.count()
        if actual != count:
            statement = f"{count} records failed, but the second pass found {actual} of them"
            raise TableError(Problem("SMT532", spec.name, statement, "the topic changed while it was read: run again"))
        place = spec.dead_letters or spec.table.source
        if isinstance(place, TableSink):
            _into_table(session, place, draft, letters)
            return Published()
        assert not isinstance(place, TableSource)
        return _into_topic(session, place, draft, letters, say)
    finally:
        letters.unpersist()


def _into_topic(
    session: SparkSession, place: FileTopics | KafkaTopics, draft: Draft, letters: DataFrame, say: Progress
) -> Published:
    spec, order = draft.spec, [f"source_{c}" for c in COORDINATES]
    since = {} if draft.before is None or spec.rebuild or spec.window.fixed else draft.before.dead_letters
    trace = Trace(_IDENTIFYING, (CONNECTOR_HEADER, spec.name), list(map(last_header, SOURCE_HEADERS)))
    ends, appended = append_once(
        open_topics(session, place), letters, [spec.dead_letter_topic], trace, since, _taken_in(draft), order, say
    )
    say(f"published {appended.count} dead letters")
    records = (Range(topic, partition, offset, offset + 1) for topic, partition, offset in appended.unwritten)
    unwritten = tuple(offsets_of(records).ranges())
    problems = (_not_published(spec.dead_letter_topic, unwritten),) if unwritten else ()
    return Published(ends, unwritten, problems)


def _taken_in(draft: Draft) -> OffsetSet:
    """Returns the offsets that the table will hold after the commit of ``draft``: the offsets before the commit, and
    the offsets of the window. For a topic that is rebuilt, only the offsets of the window are included.
    """
    spec, window = draft.spec, draft.window
    covered = draft.before.covered if draft.before is not None else OffsetSet()
    if spec.rebuild:
        covered = covered.without(window.topics if spec.window.topics else topics_in(covered.parts))
    return covered | offsets_of(window)


def _into_table(session: SparkSession, place: TableSink, draft: Draft, letters: DataFrame) -> None:
    table = open_table(session, place)
    rows = letters.select(
        "key",
        "value",
        "topic",
        F.timestamp_millis("timestamp_ms").alias("timestamp"),
        "timestampType",
        "headers",
        *(f"source_{c}" for c in COORDINATES),
        F.lit(draft.spec.name).alias("connector"),
        *(last_header(name).alias(column) for column, name in _TABLE_COLUMNS.items()),
    )
    table.append_new(rows, _LETTER)


def _letters(draft: Draft, rows: DataFrame, originals: DataFrame) -> DataFrame:
    """Returns the dead letters for ``rows``, with Kafka's columns, and with the coordinates of the original record as
    ``source_…``.
    """
    # The executors sort and merge both inputs of the join. Otherwise, Spark would send an input that it considers small
    # through the driver.
    joined = originals.join(rows.hint("merge"), list(COORDINATES))
    # A separate select is needed: if the same select created a column "topic", Spark would use that column instead of
    # the record's topic.
    joined = joined.withColumn("context", _context(draft))
    return joined.select(
        "key",
        "value",
        F.lit(draft.spec.dead_letter_topic or draft.spec.name).alias("topic"),
        F.lit(0).alias("partition"),
        # -1 is Kafka's timestamp of a record without a timestamp (RecordBatch.NO_TIMESTAMP)
        F.coalesce(F.unix_millis("timestamp"), F.lit(-1).cast("bigint")).alias("timestamp_ms"),
        # 1 is Kafka's LogAppendTime, and 0 is CreateTime
        F.when(F.col("timestampType") == 1, 1).otherwise(0).alias("timestampType"),
        F.concat(F.coalesce("headers", no_headers(F)), "context").alias("headers"),
        *(F.col(c).alias(f"source_{c}") for c in COORDINATES),
    )


def _context(draft: Draft) -> Column:
    """Returns a column with headers for each dead letter: Connect's headers about the failure of the record, and this
    package's headers about the window of ``draft``.
    """
    identity = lookup(draft.identities, F.col("topic"))
    texts: dict[str, Column] = {
        f"{_CONTEXT}topic": F.col("topic"),
        f"{_CONTEXT}partition": F.col("partition").cast("string"),
        f"{_CONTEXT}offset": F.col("offset").cast("string"),
        CONNECTOR_HEADER: F.lit(draft.spec.name),
        # Connect always writes the number of the task, and a run has no tasks
        f"{_CONTEXT}task.id": F.lit("0"),
        f"{_CONTEXT}stage": F.col("connect_stage"),
        f"{_CONTEXT}class.name": F.col("stage_class"),
        f"{_CONTEXT}exception.class.name": F.when(F.col("connect_class") == "", F.lit(DATA_EXCEPTION)).otherwise(
            F.col("connect_class")
        ),
        f"{_CONTEXT}exception.message": F.concat_ws(" ", "code", "statement"),
        WINDOW_HEADER: F.lit(draft.window.id),
        COMMIT_HEADER: F.lit(draft.attempt),
        IDENTITY_HEADER: F.coalesce(identity, F.lit("")),
    }
    pairs = []
    for k, v in texts.items():
        pairs.append(F.struct(F.lit(k).alias("key"), v.cast("binary").alias("value")))
    return F.array(*pairs).cast(HEADERS_DDL)


_LETTER = ("connector", *(f"source_{c}" for c in COORDINATES), "topic_id")
_TABLE_COLUMNS = {
    "topic_id": IDENTITY_HEADER,
    "stage": f"{_CONTEXT}stage",
    "class": f"{_CONTEXT}class.name",
    "exception_class": f"{_CONTEXT}exception.class.name",
    "message": f"{_CONTEXT}exception.message",
    "window": WINDOW_HEADER,
    "commit": COMMIT_HEADER,
}
