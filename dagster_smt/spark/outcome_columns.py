"""Names the columns that an evaluator adds to a record. Both evaluators add the same columns.

| column | type | meaning |
|---|---|---|
| ``__topic``, ``__partition``, ``__offset`` | | the record's coordinates as read |
| ``__status`` | tinyint | 0 kept, 1 dropped, 2 failed; temporarily ``LEFT``, if Python must still run the record |
| ``__stage`` | int | the stage that dropped or failed the record; -1 none, -2 key converter, -3 value converter |
| ``__problem`` | struct | why the record failed |
| ``__touched`` | array<bigint> | bitmap over the plan's ledger entries, 62 in each element |
| ``__out`` | struct | the output row; null or undefined for records that did not pass |
| ``__element`` | int | only where arrays are rows: the position in the array, -1 for an empty array |
| ``__left`` | struct | only where the JVM lane read columns: the record as it was read, if the lane left it to Python |
| ``__key`` | struct | only if the chain keeps keys: the output key, as its fields or as ``value`` |
| ``__gone`` | boolean | only if the chain keeps keys: true if the value is null, so that ``__out`` has no row |
| ``__timestamp`` | timestamp | only if the chain keeps keys: the record's timestamp as read |
| ``__changes`` | string | only if the chain has foreign stages: their changes (``records.change_texts``) |
| ``__destination`` | string | only if the chain keeps topics: the output topic |
| ``__guessed`` | tinyint | only if schemas were guessed: whether the record names them (``reading.window_forms``) |
"""

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as T

from dagster_smt.errors import Problem
from dagster_smt.model.record import Side
from dagster_smt.spark import sql as F
from dagster_smt.spark.sql import Column
from dagster_smt.values.headers.fields import HEADERS_DDL

LEFT = 3
"""The value of ``__status`` for a record that the JVM lane, the Java evaluator inside Spark, leaves to Python."""
LEFT_RECORD = "__left"
CHANGES = "__changes"
KEY, GONE, TIMESTAMP = "__key", "__gone", "__timestamp"
DESTINATION = "__destination"
IN_TIMESTAMP = "in_timestamp"
"""The name that the column ``__timestamp`` has while the Spark evaluator runs the stages."""
BITS = 62
"""The number of bits that one element of the column ``__touched`` holds. Each bit stands for one ledger entry, which
counts the records that a stage changed in one field.
"""

PROBLEM_FIELDS = ("code", "statement", "hint", "connect_class")
PROBLEM_TYPE = T.StructType([T.StructField(name, T.StringType()) for name in PROBLEM_FIELDS])
_ARROW_PROBLEM = pa.struct([(name, pa.string()) for name in PROBLEM_FIELDS])
RECORD_COLUMNS = {
    "key": "binary",
    "value": "binary",
    "topic": "string",
    "partition": "int",
    "offset": "bigint",
    "timestamp": "timestamp_ltz",
    "timestampType": "int",
    "headers": HEADERS_DDL,
    "source_topic": "string",
}
LEADER_EPOCH = "leaderEpoch"
"""An additional Kafka column, which is present if the chain reads the leader epoch. It is an ``INT``, and null if the
source has no leaders.
"""
TIMESTAMP_TYPES = {-1: "NoTimestampType", 0: "CreateTime", 1: "LogAppendTime"}
"""Maps the values of ``timestampType`` to their names in ``org.apache.kafka.common.record.TimestampType``."""
UNREADABLE_TIMESTAMP = -2
"""The ``timestampType`` of a record whose timestamp Spark cannot hold; its ``timestamp`` is null."""
UNREADABLE = Problem(
    "SMT429",
    "",
    "the record's timestamp is outside Spark's range",
    "send timestamps in milliseconds since 1970",
)
NO_ROW = Problem("", "", "the message holds no row")
"""A marker instead of a problem, for a message that contains no row. The record is then counted as dropped, although no
stage has dropped it.
"""
RECORD_DDL = ", ".join(f"{F.quoted(name)}: {type_}" for name, type_ in RECORD_COLUMNS.items())
TARGET = "target_partition"
"""An additional column of a record, which is present if the chain chooses partitions. If it is null, the producer
chooses the partition.
"""


def schema_column(side: Side) -> str:
    """Returns the name of the column with the bytes that identify the schema of a record's key or value (``side``)."""
    return f"__{side}_schema"


def timestamp_type_name(number: Column) -> Column:
    """Returns a column with the name of a record's timestamp type. ``number`` is the column with the type's number."""
    literals = []
    for pair in TIMESTAMP_TYPES.items():
        for part in pair:
            literals.append(F.lit(part))
    return F.create_map(*literals)[number]


def words(entries: int) -> int:
    """Returns the length that the array ``__touched`` needs for ``entries`` ledger entries (actions that a report
    counts). Each number in the array has one bit for each of 62 entries (``BITS``), so 63 entries need 2 numbers.
    """
    return -(-entries // BITS)


def untouched(words: int = 0) -> Column:
    """Returns the column ``__touched``, with ``words`` elements, for records that no stage has touched."""
    return F.array_repeat(F.lit(0).cast("bigint"), F.lit(words))


def timestamp_micros(batch: pa.RecordBatch) -> pa.Array:
    """Returns the timestamps of ``batch`` in microseconds. The batch has Kafka's columns."""
    # as numbers, because Python's ``datetime`` ends with the year 9999, and Spark's timestamps do not
    return batch.column("timestamp").cast(pa.timestamp("us", tz="UTC")).cast(pa.int64())


def unreadable_timestamps(batch: pa.RecordBatch) -> pa.Array:
    """Returns a flag for each record of ``batch``. The flag is true if the source could not read the record's
    timestamp.
    """
    return pc.fill_null(pc.equal(batch.column("timestampType"), UNREADABLE_TIMESTAMP), False)


def problem_column(problems: dict[int, Problem], size: int) -> pa.Array:
    """Returns the column ``__problem`` of a batch with ``size`` records. ``problems`` maps positions in the batch to
    problems.
    """
    if not problems:
        return pa.nulls(size, _ARROW_PROBLEM)
    rows: list[dict[str, str] | None] = [None] * size
    for number, problem in problems.items():
        rows[number] = {name: getattr(problem, name) for name in PROBLEM_FIELDS}
    return pa.array(rows, _ARROW_PROBLEM)
