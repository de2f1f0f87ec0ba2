"""Reads records from a table with Kafka's columns, such as a lake's bronze table. Runs select the records of the table
by topic, partition and offset, as in Kafka.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import Window as Frame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from dagster_smt.errors import Problem, TableError
from dagster_smt.model.windows.offsets import OffsetSet, offsets_of
from dagster_smt.model.windows.window import Range, Window, ends_of
from dagster_smt.spark.sql import quoted, sql_try_cast
from dagster_smt.spark.types import types_by_name
from dagster_smt.spark.versions import condition_of
from dagster_smt.tables.sources.base import BaseSource
from dagster_smt.tables.sources.groups import no_groups
from dagster_smt.tables.sources.kafka_columns import KAFKA_COLUMNS, KAFKA_SCHEMA
from dagster_smt.tables.sources.window_rows import within
from dagster_smt.tables.sql import name_of_folder
from dagster_smt.tables.topic_table import TableSource
from dagster_smt.values.headers.fields import no_headers

_PLACE = ("topic", "partition")
_OPTIONAL = ("timestampType", "headers")
_SIDES = (T.BinaryType, T.StringType)
_WHOLE = (T.ByteType, T.ShortType, T.IntegerType, T.LongType)
_TYPES: dict[str, tuple[type[T.DataType], ...]] = {
    "key": (*_SIDES, T.NullType),
    "value": (*_SIDES, T.NullType),
    "topic": (T.StringType,),
    "partition": _WHOLE,
    "offset": _WHOLE,
    "timestamp": (T.TimestampType, T.TimestampNTZType),
    "timestampType": _WHOLE,
}


class TableReader(BaseSource):
    """A table with Kafka's columns, opened as a source.

    Each call of a method reads the table's current version. A data frame that a method has returned still reads the
    version that was current when the method was called.
    """

    knows_times = False
    lacks_offsets = True

    def __init__(self, spec: TableSource, session: SparkSession):
        self.spec = spec
        self.session = session

    def topics(self) -> list[str]:
        """Returns the topics whose records the table contains, sorted."""
        rows = self._frame().select("topic").distinct().collect()
        names = []
        for row in rows:
            if row[0] is not None:
                names.append(row[0])
        return sorted(names)

    def identities(self, topics: Iterable[str]) -> dict[str, str]:
        """Returns the id of the Delta or Iceberg table as the identity of each topic. A Parquet table has no id, so the
        identity is an empty string.
        """
        topics = self._existing(topics)
        identity = self._delta_id() or self._iceberg_id()
        return dict.fromkeys(topics, identity)

    def ranges(self, topics: Iterable[str]) -> list[Range]:
        """Returns a range for each partition of ``topics``: from its smallest to its greatest offset in the table.

        Raises:
            TableError: SMT501: the table does not have a topic; SMT546: the table does not exist; SMT547: the columns
                are wrong; SMT549: a record has no partition or no offset.
        """
        topics = self._existing(topics)
        incomplete = F.count_if(F.col("partition").isNull() | F.col("offset").isNull())
        rows = (
            self._frame()
            .where(F.col("topic").isin(*topics))
            .groupBy(*_PLACE)
            .agg(F.min("offset"), F.max("offset") + 1, incomplete)
            .collect()
        )
        lost = dict.fromkeys(topics, 0)
        for row in rows:
            lost[row[0]] += row[4]
        problems = []
        for topic, count in lost.items():
            if count:
                problems.append(
                    Problem(
                        "SMT549", topic, f"{count} records have no partition or no offset", "fix or remove these rows"
                    )
                )
        if problems:
            raise TableError(problems)
        rows_as_ranges = []
        for row in rows:
            rows_as_ranges.append(Range(*row[:4]))
        return sorted(rows_as_ranges)

    def present(self, offsets: OffsetSet) -> OffsetSet:
        """Returns the subset of ``offsets`` that the table contains; see ``Source``.

        Executors read only the coordinates, and combine neighbouring offsets into ranges such as ``orders-0 [10, 20)``.
        """
        places = within(self._frame(), Window(tuple(offsets.ranges()))).select(*_PLACE, "offset")
        # in a range without gaps, offset minus number is constant: the offsets 5, 6, 6, 9 have the numbers 1, 2, 2, 3
        # and the differences 4, 4, 4, 6
        number = F.dense_rank().over(Frame.partitionBy(*_PLACE).orderBy("offset")).alias("number")
        numbered = places.select(*_PLACE, "offset", number)
        bounds = F.min("offset").alias("start"), (F.max("offset") + 1).alias("end")
        rows = numbered.groupBy(*_PLACE, F.col("offset") - F.col("number")).agg(*bounds)
        return offsets_of(Range(*row) for row in rows.select(*_PLACE, "start", "end").collect())

    def offsets_at(self, topics: Iterable[str], millis: int) -> dict[tuple[str, int], int]:
        """Returns the first offset of each topic-partition of ``topics`` at or after the time ``millis``. See
        ``Source``.
        """
        return self.offsets_at_each(topics, [millis])[0]

    def offsets_at_each(self, topics: Iterable[str], moments: Sequence[int]) -> list[dict[tuple[str, int], int]]:
        """Returns one mapping for each time in ``moments``: from each topic-partition to its first offset at or after
        this time. See ``Source``.

        One query finds the offsets for all times.
        """
        topics = tuple(topics)
        ends = ends_of(self.ranges(topics))
        stamp = F.unix_micros("timestamp")
        firsts = []
        for millis in moments:
            firsts.append(F.min(F.when(stamp >= millis * 1000, F.col("offset"))))
        # lets Spark skip files whose records are all older than the first time
        late = self._frame().where(F.col("topic").isin(*topics) & (stamp >= min(moments) * 1000))
        offsets_by_moment = [dict(ends) for _ in moments]
        for topic, partition, *offsets in late.groupBy(*_PLACE).agg(*firsts).collect():
            for number, offset in enumerate(offsets):
                if offset is not None:
                    offsets_by_moment[number][topic, partition] = offset
        return offsets_by_moment

    def read(self, window: Window, beat: Callable[[], None] = lambda: None) -> DataFrame:
        """Returns the records of ``window``; see ``Source``. First, the function checks that no offset occurs twice.

        Raises:
            TableError: SMT546: the table does not exist; SMT547: the columns are wrong; SMT548: an offset occurs twice
                in the window.
        """
        beat()
        frame = within(self._frame(), window)
        counts = frame.groupBy(*_PLACE).agg(F.count("*").alias("rows"), F.count_distinct("offset").alias("offsets"))
        doubles = counts.where("rows > offsets").sort(*_PLACE).limit(10).collect()
        beat()
        if doubles:
            hint = "keep one row of each topic, partition and offset, for instance with a MERGE into the table"
            raise TableError(
                Problem("SMT548", f"{r[0]}-{r[1]}", f"{r[2] - r[3]} rows repeat an offset of the window", hint)
                for r in doubles
            )
        return frame

    def sizes(self, topics: Iterable[str]) -> None:
        """Returns None, because the sizes of ``topics`` are not known. See ``Source``."""

    def committed(self, group: str) -> dict[tuple[str, int], int]:
        """Raises an error for any ``group``, because a table has no consumer groups. See ``Source``."""
        raise no_groups(self.spec.place)

    def mirror(self, group: str, ends: Mapping[tuple[str, int], int]) -> None:
        """Raises an error for any ``group``, because a table has no consumer groups. See ``Source``."""
        raise no_groups(self.spec.place)

    def count(self, window: Window) -> dict[str, int]:
        """Returns the number of records of each topic in ``window``, a range of offsets. See ``Source``."""
        return dict(within(self._frame(), window).groupBy("topic").count().collect())

    def verify(self, window: Window, read: Mapping[str, int], beat: Callable[[], None] = lambda: None) -> list[Problem]:
        """Returns an empty list, because nothing can be checked: a table may lack offsets of ``window``. See
        ``Source``.
        """
        return []

    def _existing(self, topics: Iterable[str]) -> tuple[str, ...]:
        topics, listed = tuple(topics), self.topics()
        hint = f"topics there: {', '.join(listed[:10]) or 'none'}"
        missing = []
        for t in topics:
            if t not in listed:
                missing.append(Problem("SMT501", t, "the table has no record of the topic", hint))
        if missing:
            raise TableError(missing)
        return topics

    def _frame(self) -> DataFrame:
        """Returns the rows of the table, converted into Kafka's columns and their types."""
        reader = self.session.read
        try:
            if self.spec.name:
                table = reader.table(self.spec.name)
            else:
                table = reader.format(self.spec.format).load(self.spec.path)
            fields = types_by_name(table.schema)
        except PySparkException as error:
            why = condition_of(error) or type(error).__name__
            hint = "name a table that the Spark session's catalogs know, or a path and its format"
            raise TableError(Problem("SMT546", self.spec.place, f"Spark cannot open it: {why}", hint)) from None
        if problems := self._column_problems(fields):
            raise TableError(problems)
        return table.select(*(self._column(name, fields) for name in KAFKA_COLUMNS))

    def _name(self, name: str) -> str:
        return self.spec.columns.get(name, name)

    def _column_problems(self, fields: dict[str, T.DataType]) -> list[Problem]:
        hint = "name the column that holds it in columns"
        problems = []
        for name in (*KAFKA_COLUMNS, *(n for n in self.spec.columns if n not in KAFKA_COLUMNS)):
            own = self._name(name)
            place = f"{self.spec.place} {own}"
            if name not in KAFKA_COLUMNS:
                known = ", ".join(KAFKA_COLUMNS)
                problems.append(Problem("SMT547", f"{self.spec.place} {name}", "not a column of Kafka's", known))
            elif own not in fields:
                if name not in _OPTIONAL or name in self.spec.columns:
                    problems.append(Problem("SMT547", place, f"the table has no such column for {name}", hint))
            elif not _fits(name, fields[own]):
                statement = f"{fields[own].simpleString()} cannot be a {name}"
                shown = KAFKA_SCHEMA.replace("`", "").replace("_LTZ", "")
                problems.append(Problem("SMT547", place, statement, f"Kafka's columns are {shown}"))
        return problems

    def _column(self, name: str, fields: dict[str, T.DataType]) -> Column:
        own = self._name(name)
        column = F.col(quoted(own))
        if name == "headers":
            return _headers(column if own in fields else None).alias(name)
        if name == "timestampType":
            if own in fields:
                column = F.coalesce(F.expr(sql_try_cast(quoted(own), "int")), F.lit(0))
            else:
                column = F.lit(0)
        moment = {"timestamp": "timestamp_ltz"}  # a setting of the session determines the meaning of TIMESTAMP
        types = {"key": "binary", "value": "binary", "partition": "int", "offset": "bigint", **moment}
        # a number that is too large for Kafka becomes null, and the record is then reported as a record without this
        # number
        if name in types:
            column = F.expr(sql_try_cast(quoted(own), types[name]))
        return column.alias(name)

    def _delta_id(self) -> str:
        if not self.spec.name and self.spec.format != "delta":
            return ""
        table = self.spec.name or name_of_folder(self.session, self.spec.path)
        return self._first(lambda: self.session.sql(f"DESCRIBE DETAIL {table}").select("id"))

    def _iceberg_id(self) -> str:
        """Returns the id of the Iceberg table, read from its latest metadata file."""
        if not self.spec.name and self.spec.format != "iceberg":
            return ""
        reader = self.session.read

        def log() -> DataFrame:
            suffix = "metadata_log_entries"
            if self.spec.name:
                return reader.table(f"{self.spec.name}.{suffix}")
            return reader.format("iceberg").load(f"{self.spec.path}#{suffix}")

        file = self._first(lambda: log().orderBy(F.desc("timestamp")).select("file"))
        text = F.get_json_object("value", "$['table-uuid']")
        if file:
            return self._first(lambda: reader.text(file, wholetext=True).select(text))
        return ""

    def _first(self, frame: Callable[[], DataFrame]) -> str:
        """Returns the first value of a data frame as a string. Returns an empty string if there is no value.

        Args:
            frame: Creates the data frame. An error, such as a missing table, also gives an empty string.
        """
        try:
            row = frame().first()
        except PySparkException:
            return ""
        if row and row[0]:
            return str(row[0])
        return ""


def _fits(name: str, kind: T.DataType) -> bool:
    if name != "headers":
        return isinstance(kind, _TYPES[name])
    if not isinstance(kind, T.ArrayType) or not isinstance(kind.elementType, T.StructType):
        return False
    fields = types_by_name(kind.elementType)
    return isinstance(fields.get("key"), T.StringType) and isinstance(fields.get("value"), _TYPES["value"])


def _headers(column: Column | None) -> Column:
    none = no_headers(F)
    if column is None:
        return none
    pairs = F.transform(column, lambda h: F.struct(h["key"].alias("key"), h["value"].cast("binary").alias("value")))
    return F.coalesce(pairs, none)
