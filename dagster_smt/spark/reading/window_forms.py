"""Collects the schemas that the records of a window (the run's range of offsets) contain or name. The plan of the chain
needs these schemas.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import and_

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F

from dagster_smt.chain.forms import Form
from dagster_smt.errors import Problem, problem_of_record
from dagster_smt.formats.registry.versions import header_of
from dagster_smt.formats.sides import self_described
from dagster_smt.jvm.availability import CATALOG, has_lane
from dagster_smt.model.reports.run_report import SchemaUse
from dagster_smt.model.schema_size import MAX_SCHEMAS, MAX_TEXT
from dagster_smt.model.topics.format import SELF_DESCRIBED, Format, SideFormats
from dagster_smt.spark.schema_counts import most_frequent
from dagster_smt.spark.workers import map_in_arrow

_SEEN = {
    "topic": pa.string(),
    "partition": pa.int32(),
    "offset": pa.int64(),
    "key": pa.binary(),
    "value": pa.binary(),
}
_TEXTS = {**_SEEN, "records": pa.int64()}
# Confluent's wire format: the byte 0, then the schema id in four bytes.
_AVRO_HEADER = "CASE WHEN length({0}) >= 5 AND substring({0}, 1, 1) = X'00' THEN substring({0}, 1, 5) END"
"""An SQL expression for the header of an Avro value. The header identifies the schema."""
_TEXTS_IN_SQL = {"avro-confluent": _AVRO_HEADER, "envelope": f"{CATALOG}.envelope_schema({{0}}, {MAX_TEXT})"}
"""Maps a format to the SQL expression for the text that identifies the schema of a key or value. With SQL, the records
need not travel to Python and back.
"""
_ODD = b""
"""A marker: the empty text. The JVM lane (the Java reader inside Spark) returns the marker if it cannot extract the
schema of an envelope. Python must then read the envelope.
"""
_TEXTS_DDL = "`topic` string, `partition` int, `offset` bigint, `key` binary, `value` binary, `records` bigint"
IN_GUESSED, GUESSED = "in_guessed", "__guessed"
"""The two names of the column that the function ``as_guessed`` returns: its name inside an evaluator, and its name in
the evaluator's result.
"""
AS_GUESSED, OTHER = 1, 2
_WORDS = {"as_guessed": AS_GUESSED, "other": OTHER}


@dataclass(frozen=True)
class WindowForms:
    """The schemas that the records of a window (the run's range of offsets) name.

    Attributes:
        forms: The combinations of topic, key schema and value schema that occur in the records. Each one is a ``Form``.
        uses: For each topic and schema, the number of records that name the schema.
        nulls: True if values may be null.
        guessed: True if only one record has been read. The run then assumes that all records have the same schemas, and
            checks this with ``as_guessed``.
        texts: Maps ``("value", "7")`` to bytes: the bytes by which values name the schema 7. Also has such entries for
            keys.
        problem: The problem of the first record whose schema cannot be read; None if there is no such record.
    """

    forms: tuple[Form, ...]
    uses: tuple[SchemaUse, ...]
    nulls: bool = True
    guessed: bool = False
    texts: Mapping[tuple[str, str], bytes] = field(default_factory=dict, hash=False)
    problem: Problem | None = None


def window_forms(frame: DataFrame, table: SideFormats) -> WindowForms:
    """Returns the combinations of topic, key schema and value schema that occur in ``frame``. Such a combination is
    called a form. The forms are in the order of their first records: by topic, partition and offset. Keys and
    values are not decoded.

    The function ignores records without a readable schema. If there are too many schemas (``MAX_SCHEMAS``), the least
    frequent schemas are left out. A record with such a schema becomes a dead letter, unless the record fits the columns
    of the other schemas.

    Args:
        frame: Kafka's columns.
        table: The topic table of the records. The format of the values is one of ``SELF_DESCRIBED``.
    """
    rows, cut = _most_used(schema_texts(frame, table))
    # Only SQL's rows show nulls: the Python function skips nulls, and a list that reaches the limit may lack them. So
    # ``nulls`` is computed before Python counts again.
    nulls = cut or not _in_sql(frame, table) or any(row.value is None for row in rows)
    # One row with the marker is enough to count again in Python, because the marker does not name a schema.
    if any(_ODD in (row.key, row.value) for row in rows):
        rows, _ = _most_used(schema_texts(frame, table, lane=False))
    return replace(_forms_of_rows(rows, table), nulls=nulls)


def _most_used(texts: DataFrame) -> tuple[list[Row], bool]:
    """Returns two items: the most frequent rows of ``texts``, in the order of their first records; and True if
    ``texts`` may contain more. ``texts`` is a result of ``schema_texts``, which counts records by the schemas that they
    name.
    """
    rows = most_frequent(texts, ("key", "value"), MAX_SCHEMAS)
    return rows, len(rows) == MAX_SCHEMAS


def guessed_forms(frame: DataFrame, table: SideFormats) -> WindowForms | None:
    """Reads one record of ``frame``, and guesses that all records have the same topic, key schema and value schema. If
    the guess is right, the run need not read all records only to collect their schemas.

    Returns:
        The guess, which ``as_guessed`` must check. None if no record names a readable schema, or if the check would
        need Python.
    """
    # the check of a guess compares Avro headers; for any other format it would need Python
    if not _all_avro(table):
        return None
    described = table.key.kind in SELF_DESCRIBED
    texts = schema_texts(frame, table).where("value IS NOT NULL").limit(1).collect()
    forms = _forms_of_rows(texts, table)
    # a null key names no schema, so there would be no header with which ``as_guessed`` could compare other keys
    if not forms.forms or (described and texts[0].key is None):
        return None
    return replace(forms, guessed=True)


def as_guessed(table: SideFormats, guess: WindowForms) -> Column:
    """Returns a column that shows which schema a record names: the guessed schema, a different schema, or none.

    The value is ``AS_GUESSED`` for the schema in ``guess``, ``OTHER`` for a different schema, and 0 for none. A record
    with the value ``OTHER`` may have been read with the wrong schema. If there is such a record, no result of the
    window (the run's range of offsets) may be used.
    """
    headers = {use.side: F.lit(header_of(int(use.schema))) for use in guess.uses}
    same = [F.startswith(F.col(side), header) for side, header in headers.items()]
    _, readable = _described(table)
    return F.when(reduce(and_, same), AS_GUESSED).when(readable, OTHER).otherwise(0).cast("tinyint")


def guess_columns() -> list[Column]:
    """Returns two aggregates, which count the values ``AS_GUESSED`` and ``OTHER`` in the column ``GUESSED``. The
    aggregates are named ``as_guessed`` and ``other``.
    """
    columns = []
    for name, word in _WORDS.items():
        columns.append(F.count_if(F.col(GUESSED) == word).alias(name))
    return columns


def _forms_of_rows(rows: Sequence[Row], table: SideFormats) -> WindowForms:
    """Returns the schemas for the rows of ``schema_texts``. Each row has a topic, the bytes that name the schemas of
    key and value, and the number of records with these schemas. The rows are in the order of their first records.
    """
    key_describes = table.key.kind in SELF_DESCRIBED
    keys, values = self_described(table.key, "key"), self_described(table.value)
    forms: dict[Form, None] = {}
    uses: Counter[tuple[str, str, str]] = Counter()
    texts: dict[tuple[str, str], bytes] = {}
    problem: Problem | None = None
    for row in rows:
        if row.value is None:
            continue
        # One value schema may occur with several key schemas, in several rows, so the numbers are added up.
        name = values.schema_id(bytes(row.value))
        uses[row.topic, "value", name] += row.records
        texts["value", name] = bytes(row.value)
        if key_describes and row.key is not None:
            name = keys.schema_id(bytes(row.key))
            uses[row.topic, "key", name] += row.records
            texts["key", name] = bytes(row.key)
        try:
            value, key = values.schema(bytes(row.value), row.topic), table.key.known_schema
            if key_describes and row.key is not None:
                key = keys.schema(bytes(row.key), row.topic)
        except Exception as error:  # noqa: BLE001 the reader of such a record reports its problem
            problem_of_row = problem_of_record(error)
            problem = problem or problem_of_row
            continue
        free_key = key is None and (row.key is not None or table.key.kind == "json")
        if value is not None:
            forms[Form(row.topic, key, value, free_key)] = None
    schema_uses = []
    for use, records in uses.items():
        schema_uses.append(SchemaUse(*use, records))
    return WindowForms(tuple(forms), tuple(schema_uses), texts=texts, problem=problem)


def _all_avro(table: SideFormats) -> bool:
    """Returns True if all keys and values in ``table`` that name schemas are Avro with a registry (``avro-confluent``).
    Then their headers contain the ids of the schemas.
    """
    return all(kind == "avro-confluent" for kind in (table.key.kind, table.value.kind) if kind in SELF_DESCRIBED)


def _in_sql(frame: DataFrame, table: SideFormats) -> bool:
    """Returns True if SQL can extract the bytes that name the schemas of the records, without Python. SQL can extract
    Avro's headers. It can extract the schemas of envelopes only if the session has the JVM lane (Java code inside
    Spark).
    """
    kinds = set()
    for kind in (table.key.kind, table.value.kind):
        if kind in SELF_DESCRIBED:
            kinds.add(kind)
    return kinds <= _TEXTS_IN_SQL.keys() and ("envelope" not in kinds or has_lane(frame.sparkSession))


def schema_texts(frame: DataFrame, table: SideFormats, *, lane: bool = True) -> DataFrame:
    """Counts the records in ``frame`` by the schemas that they name. A row of the result has the bytes that name the
    schemas of key and value, a number of records, and the coordinates of the first of these records. Several rows may
    name the same schemas.

    ``lane`` is False if Python must extract the schemas of envelopes. If it is True, the JVM lane (Java code inside
    Spark) extracts them, and returns ``_ODD`` for a schema that it cannot extract.
    """
    if not _all_avro(table) and not (lane and _in_sql(frame, table)):
        return map_in_arrow(frame.select(*_SEEN), SchemaTexts(table.key, table.value), _TEXTS_DDL)
    descriptions, readable = _described(table)
    # a key that names no schema is null here, so that all keys fall into one group
    key = descriptions.get("key", F.lit(None).cast("binary"))
    places = "topic", "partition", "offset", F.lit(1).cast("bigint").alias("records")
    value = descriptions["value"].alias("value")
    return frame.where(readable | F.col("value").isNull()).select(*places, key.alias("key"), value)


def schema_text(side: str, kind: str) -> Column:
    """Returns a column with the bytes that name the schema of the key or value ``side``. For Avro, these bytes are the
    header. For envelopes, they are the text of the schema. ``kind`` is the format.
    """
    return F.expr(_TEXTS_IN_SQL[kind].format(side))


def _described(table: SideFormats) -> tuple[dict[str, Column], Column]:
    """Returns a dict and a boolean column. The dict maps ``key`` to the column with the bytes that name the key's
    schema, and ``value`` in the same way. A key or value whose format names no schema is not in the dict. The boolean
    column is true for a record that has all these bytes. A null key needs no bytes.
    """
    sides = {"key": table.key.kind, "value": table.value.kind}
    columns = {}
    for side, kind in sides.items():
        if kind in SELF_DESCRIBED:
            columns[side] = schema_text(side, kind)
    readable = columns["value"].isNotNull()
    if "key" in columns:
        readable &= F.col("key").isNull() | columns["key"].isNotNull()
    return columns, readable


@dataclass(frozen=True)
class SchemaTexts:
    """A picklable function for ``DataFrame.mapInArrow`` that counts records by the schemas that they name. Each
    combination of schemas appears once per task.

    ``key`` and ``value`` are the formats of keys and values.
    """

    key: Format
    value: Format

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        if self.key.kind in SELF_DESCRIBED:
            key_text = self_described(self.key).schema_text
        else:
            key_text = None
        value_text = self_described(self.value).schema_text
        first: dict[tuple[str, bytes | None, bytes], tuple[int, int]] = {}
        records: Counter[tuple[str, bytes | None, bytes]] = Counter()
        for batch in batches:
            for topic, partition, offset, key, value in zip(*(batch.column(n).to_pylist() for n in _SEEN), strict=True):
                try:
                    text = value_text(value)
                    if text is None:
                        form = None
                    else:
                        form = (topic, key_text(key) if key_text else None, text)
                except Exception as error:  # noqa: BLE001 the reader of the record reports its problem
                    problem_of_record(error)
                    continue
                # The limit bounds the memory of a task. A producer may use a new schema in each record.
                if form is not None and (form in first or len(first) < MAX_SCHEMAS):
                    # a task may read several partitions, in any order
                    first[form] = min(first.get(form, (partition, offset)), (partition, offset))
                    records[form] += 1
        rows = [(form[0], *place, *form[1:], records[form]) for form, place in first.items()]
        columns = zip(*rows, strict=True) if rows else [[]] * len(_TEXTS)
        arrays = [pa.array(column, kind) for column, kind in zip(columns, _TEXTS.values(), strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, names=list(_TEXTS))
