"""Finds the rows of people in Delta and Iceberg tables, and deletes these rows or replaces their ids. The erasure names
the columns with the ids.

No statement contains an id, because the predicate of a ``DELETE`` would stay in the history of a Delta table forever,
in clear text. So the ids are rows of a view, and a ``MERGE`` joins the view with the table.
"""

import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from random import SystemRandom

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import CharType, DataType, IntegerType, LongType, StringType, StructType, VarcharType

from dagster_smt.errors import Problem, TableError
from dagster_smt.spark.sql import parts_of, quoted, text
from dagster_smt.spark.versions import struct_of_ddl
from dagster_smt.spark.workers import map_in_arrow
from dagster_smt.tables.erasure.matching import RECORD_SCHEMA, MatchBatches, RecordMatch
from dagster_smt.tables.erasure.spec import SmtErasure
from dagster_smt.tables.sink_options import SourceColumns
from dagster_smt.tables.sinks.delta import DeltaTable
from dagster_smt.tables.sinks.iceberg import IcebergTable
from dagster_smt.tables.sinks.merge import (
    Clause,
    can_merge_frames,
    merge_frame,
    row_name,
    standard_assignment,
    undisturbed,
    view_of,
)

LakeTable = DeltaTable | IcebergTable
_RANDOM = SystemRandom()
_BYTES = 16
_LENGTH = len("erased-") + 2 * _BYTES
"""The number of characters of a random id in a column of strings."""
_INTEGERS, _LONGS = range(-(2**31), 0), range(-(2**62), 0)
"""The numbers from which the random ids for columns of the types ``INT`` and ``BIGINT`` are drawn."""
_REPLACEABLE = (StringType, IntegerType, LongType)
"""The types of columns in which the mode ``rekey`` can replace an id with a random id."""
_DECLARED = "__CHAR_VARCHAR_TYPE_STRING"
"""Spark shows a column of the type ``VARCHAR(10)`` as ``STRING``, and notes its type in this metadata of the column."""


def column_parts(path: str) -> tuple[str, ...]:
    """Splits a column path into its parts: ``customer.id`` becomes ``("customer", "id")``. A name that contains dots is
    in backticks: ```a.b`.id`` becomes ``("a.b", "id")``.
    """
    return tuple(parts_of(path))


@dataclass(frozen=True)
class RandomIds:
    """The random ids that replace the id of one person in mode ``rekey``. No random id depends on the original id, so
    nobody can compute one from the other.

    Attributes:
        text: The random id in columns of strings, such as ``erased-9c1f…``.
        integer: The random id in columns of the type ``INT``, a negative number.
        long: The random id in columns of the type ``BIGINT``, a negative number.
    """

    text: str
    integer: int
    long: int

    def of_type(self, kind: DataType) -> str:
        """Returns the random id for a column of the type ``kind``, as a string."""
        if isinstance(kind, StringType):
            return self.text
        return str(self.long if isinstance(kind, LongType) else self.integer)


@dataclass
class RowErasure:
    """The rows of one table that belong to the people of an erasure.

    Attributes:
        session: The Spark session.
        table: The table.
        spec: The erasure.
        subjects: Maps each id to the random ids that replace it in mode ``rekey``.
        values: The values of the ``search`` columns in the erased rows, for the residue scan.
    """

    session: SparkSession
    table: LakeTable
    spec: SmtErasure
    subjects: Mapping[str, RandomIds]
    values: set[str] = field(default_factory=set)

    def check_columns(self, schema: StructType) -> None:
        """Raises an error if ``schema`` lacks a column that the erasure names. The mode ``rekey`` replaces the ids in
        some columns with random ids. If a random id does not fit into such a column, this is also an error.

        Raises:
            TableError: SMT758, which lists all of these columns.
        """
        problems = []
        for path in (*self.spec.columns, *self.spec.clear, *self.spec.search):
            if _type_of(schema, column_parts(path)) is None:
                hint = "correct the columns of the erasure; a path leads through structs only"
                problems.append(Problem("SMT758", self.table.spec.place, f"the table has no column {path}", hint))
        for path in self.spec.columns:
            kind = _type_of(schema, column_parts(path))
            if self.spec.mode != "rekey" or kind is None:
                continue
            if not isinstance(kind, _REPLACEABLE):
                problems.append(self._unfit(path))
            elif (length := _length_of(schema, column_parts(path))) is not None and length < _LENGTH:
                problems.append(self._too_short(path, length))
        if problems:
            raise TableError(problems)

    def _unfit(self, path: str) -> Problem:
        """Returns the problem that no random id fits into the column ``path``. In a column of 8 or 16 bits, the random
        ids of two people could be equal.
        """
        hint = "use mode 'delete', or name columns of strings, INT or BIGINT"
        statement = f"the column {path} holds neither strings nor integers of 32 or 64 bits, so no random id fits"
        return Problem("SMT758", self.table.spec.place, statement, hint)

    def _too_short(self, path: str, length: int) -> Problem:
        hint = "use mode 'delete', or widen the column"
        statement = f"the column {path} holds at most {length} characters, and a random id has {_LENGTH}"
        return Problem("SMT758", self.table.spec.place, statement, hint)

    def frame(self) -> DataFrame:
        """Returns a data frame with a row for each person. The column ``subject`` is the id."""
        rows = []
        for subject in sorted(self.subjects):
            rows.append((subject,))
        return self.session.createDataFrame(rows, "subject STRING")

    def matching(self, paths: Sequence[str]) -> DataFrame:
        """Returns the rows in which at least one column of ``paths`` contains the id of one of the people."""
        subjects = self.frame()
        rows = self.table.read()
        condition = F.lit(False)
        for path in paths:
            condition = condition | (_column(path).cast("string") == F.col("subject"))
        # Spark can neither hash nor sort by a condition with OR; with a broadcast, each executor compares its rows with
        # all ids
        return rows.join(F.broadcast(subjects), condition, "left_semi")

    def count(self) -> int:
        """Returns the number of rows that contain the id of one of the people."""
        if not self.spec.columns:
            return 0
        return self.matching(self.spec.columns).count()

    def collect_values(self) -> None:
        """Reads the columns in the option ``search``, such as ``email``, from the rows that will be erased. Adds their
        contents to ``values``, so that the residue scan can search for them.
        """
        if not self.spec.search or not self.spec.columns:
            return
        columns = []
        for n, path in enumerate(self.spec.search):
            columns.append(_column(path).cast("string").alias(f"c{n}"))
        for row in self.matching(self.spec.columns).select(*columns).distinct().collect():
            self.values.update(value for value in row if value is not None)

    def erase(self, schema: StructType) -> int:
        """Deletes the rows of the people, or replaces their ids, and returns the number of these rows. ``schema``
        contains the columns of the table.
        """
        erased = self.count()
        if not erased:
            return 0
        for path in self.spec.columns:
            on = f"CAST({_name('now', path)} AS STRING) = person.subject"
            if self.spec.mode == "rekey":
                action = f"UPDATE SET {self._changes(path, schema)}"
                people = self._people(path, schema)
            else:
                action, people = "DELETE", self.frame()
            with view_of(people) as view, undisturbed(self.session), standard_assignment(self.session):
                statement = (
                    f"MERGE INTO {self.table.name} AS now USING {view} AS person ON {on} WHEN MATCHED THEN {action}"
                )
                self.session.sql(statement).collect()
        return erased

    def _changes(self, path: str, schema: StructType) -> str:
        kind = _type_of(schema, column_parts(path))
        assert kind is not None
        changes = [f"{_name('now', path)} = CAST(person.replacement AS {kind.simpleString()})"]
        changes += [f"{_name('now', column)} = NULL" for column in self.spec.clear]
        return ", ".join(changes)

    def _people(self, path: str, schema: StructType) -> DataFrame:
        """Returns a data frame with a row for each person: ``subject`` is the id, and ``replacement`` is the random id
        for the type of the column ``path``.
        """
        kind = _type_of(schema, column_parts(path))
        assert kind is not None
        rows = []
        for subject in sorted(self.subjects):
            rows.append((subject, self.subjects[subject].of_type(kind)))
        return self.session.createDataFrame(rows, "subject STRING, replacement STRING")


def replacements(subjects: Iterable[str]) -> dict[str, RandomIds]:
    """Returns a dict from each id in ``subjects`` to the random ids that replace it. No two people get the same random
    id. A number may by chance already occur in a table.
    """
    people = sorted(subjects)
    # a column of the type INT has so few numbers that two of 10,000 independent draws would often be equal
    integers, longs = _RANDOM.sample(_INTEGERS, len(people)), _RANDOM.sample(_LONGS, len(people))
    random_ids = {}
    for subject, integer, long in zip(people, integers, longs, strict=True):
        random_ids[subject] = RandomIds(f"erased-{secrets.token_hex(_BYTES)}", integer, long)
    return random_ids


def erase_records(session: SparkSession, table: LakeTable, match: RecordMatch, place: SourceColumns) -> int:
    """Deletes those rows of ``table`` whose record contains the id of a person. The table holds records or dead
    letters.

    Args:
        session: The Spark session.
        table: The table, with ``key``, ``value`` and perhaps ``headers``.
        match: The people, and the paths at which records contain their ids.
        place: The columns with the topic, the partition and the offset of each row's record.

    Returns:
        The number of deleted rows.
    """
    records = matching_records(table, match, place).persist()
    try:
        count = records.count()
        if not count:
            return 0
        names = (*place.names, "key", "value")
        own_names = ("topic", "partition", "offset", "key", "value")
        with undisturbed(session):
            _delete_records(session, table, records.distinct(), dict(zip(names, own_names, strict=True)))
        return count
    finally:
        records.unpersist()


def _delete_records(session: SparkSession, table: LakeTable, records: DataFrame, names: Mapping[str, str]) -> None:
    """Deletes the rows of ``table`` that hold one of ``records``. A row holds a record if it has the same coordinates
    (topic, partition and offset), the same key and the same value.

    Args:
        session: The Spark session.
        table: The table.
        records: The records, with their coordinates, keys and values.
        names: Maps the name of a column of ``table`` to the name of the column of ``records`` that must have the same
            value, such as ``{"_source_topic": "topic"}``.
    """
    if isinstance(table, IcebergTable) and can_merge_frames():
        on = _same_record(row_name(table.name), names)
        merge_frame(table.name, records, "person", on, [Clause("delete")])
        return
    with view_of(records) as view:
        on = _same_record("now", names)
        statement = f"MERGE INTO {table.name} AS now USING {view} AS person ON {on} WHEN MATCHED THEN DELETE"
        session.sql(statement).collect()


def _same_record(now: str, names: Mapping[str, str]) -> str:
    return " AND ".join(f"{_stored(now, name)} <=> person.{quoted(own)}" for name, own in names.items())


def matching_records(table: LakeTable, match: RecordMatch, place: SourceColumns) -> DataFrame:
    """Returns the records in ``table`` that contain the id of a person: their coordinates, keys and values.

    Args:
        table: The table, whose rows hold records or dead letters.
        match: The people, and the paths at which records contain their ids.
        place: The columns with the topic, the partition and the offset of each row's record.
    """
    rows = table.read()
    columns = []
    for name in (*place.names, "key", "value", "headers"):
        if name in rows.columns:
            columns.append(name)
    return map_in_arrow(rows.select(*columns), MatchBatches(match, place.names, sides=True), RECORD_SCHEMA)


def erase_deletions(session: SparkSession, table: LakeTable, erasure: RowErasure) -> int:
    """Removes the entries of erased people from ``table``. This table belongs to a table with keys, and has an entry
    for each row that has been deleted there. The entry contains the key of the row, such as ``{"user_id": "7"}``.

    Args:
        session: The Spark session.
        table: The table with the entries.
        erasure: The people, and the columns that contain their ids.

    Returns:
        The number of removed entries.
    """
    if table.schema() is None:
        return 0
    count = 0
    for path in erasure.spec.columns:
        # get_json_object would interpret a dot or a bracket in the name as a step of the path
        of_row = f"from_json(now.key, 'MAP<STRING, STRING>')[{text(column_parts(path)[-1])}]"
        matching = table.read().alias("now").join(erasure.frame(), F.expr(f"{of_row} = subject"), "left_semi").count()
        if not matching:
            continue
        count += matching
        with view_of(erasure.frame()) as view, undisturbed(session), standard_assignment(session):
            on = f"{of_row} = person.subject"
            statement = f"MERGE INTO {table.name} AS now USING {view} AS person ON {on} WHEN MATCHED THEN DELETE"
            session.sql(statement).collect()
    return count


def _stored(now: str, name: str) -> str:
    """Returns SQL for the column ``name`` of the table with the alias ``now``. The columns ``key`` and ``value`` are
    converted to bytes, because the keys and values of records are bytes.
    """
    column = f"{now}.{quoted(name)}"
    if name in ("key", "value"):
        return f"CAST({column} AS BINARY)"
    return column


def _column(path: str) -> Column:
    return F.col(".".join(map(quoted, column_parts(path))))


def _name(alias: str, path: str) -> str:
    return ".".join([alias, *map(quoted, column_parts(path))])


def _type_of(schema: StructType, parts: Sequence[str]) -> DataType | None:
    kind: DataType = schema
    for part in parts:
        if not isinstance(kind, StructType) or part not in kind.names:
            return None
        kind = kind[part].dataType
    return kind


def _length_of(schema: StructType, parts: Sequence[str]) -> int | None:
    """Returns the largest number of characters that the column at the path ``parts`` can hold: 10 for ``VARCHAR(10)``
    and ``CHAR(10)``. Returns None if the column has no limit.
    """
    declared = schema[parts[0]].metadata.get(_DECLARED)
    if declared is None:
        return None
    kind = _type_of(struct_of_ddl(f"{quoted(parts[0])} {declared}"), parts)
    return kind.length if isinstance(kind, CharType | VarcharType) else None
