"""The sources and targets of a run as plain data: topic tables, formats and sinks (no pyspark here)."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, ClassVar, Literal

from dagster_smt.errors import ConfigError, Problem
from dagster_smt.model.schema import Type
from dagster_smt.model.topics.change_formats import is_change
from dagster_smt.model.topics.columns import PUSH_DOWN, FieldsInclude, Integrity, PushDown, Row
from dagster_smt.model.topics.columns import Column as Column
from dagster_smt.model.topics.format import ARRAYS_AS_ROWS, DESCRIBED
from dagster_smt.model.topics.format import Format as Format
from dagster_smt.model.topics.keyed import (
    DELETE_FLAG,
    DELETES,
    MODES,
    RECORD_KEY,
    UNAVAILABLE_VALUE,
    Deletes,
    KeyedRows,
    TableMode,
)
from dagster_smt.model.topics.keyed import SoftDeleteColumns as SoftDeleteColumns
from dagster_smt.model.topics.keyed import ValidityColumns as ValidityColumns
from dagster_smt.model.topics.layout import Layout, layout_of
from dagster_smt.model.topics.table_names import PROGRESS, TOPIC, path_of_topic, table_of_topic, template_problem
from dagster_smt.model.windows.window import Window
from dagster_smt.tables.kafka.spec import KafkaTopics as KafkaTopics
from dagster_smt.tables.kafka.spec import NewTopics as NewTopics


@dataclass(frozen=True)
class FileTopics:
    """File topics below a folder: ``<root>/<topic>/<partition>/<base-offset>.jsonl`` (or ``.parquet``)."""

    root: Path

    @property
    def place(self) -> str:
        """The name of the folder in messages."""
        return str(self.root)


@dataclass(frozen=True)
class TableSource:
    """A table with Kafka's columns, such as a lake's bronze table, read by offsets as if it were its topics.

    Attributes:
        name: The table's name in a catalog (``lake.bronze.events``); or
        path: its path or URI, and
        format: ``delta``, ``iceberg`` or ``parquet``.
        columns: The table's names of Kafka's columns, if they differ: ``{"value": "payload"}``.
    """

    name: str = ""
    path: str = ""
    format: Literal["delta", "iceberg", "parquet"] = "delta"
    columns: Mapping[str, str] = field(default_factory=dict)

    @property
    def place(self) -> str:
        """The name of the table in messages."""
        return self.name or self.path


SourceSpec = FileTopics | TableSource | KafkaTopics


@dataclass(frozen=True)
class TopicTable:
    """The input of a chain.

    With ``columns`` the value that the chain sees is a row (FLIP-107): its fields are the columns, in their order,
    from the value, the key, the record's metadata and its headers. A null value stays null.

    Attributes:
        source: The cluster, folder or table that holds the topics.
        topics: The names of topics.
        pattern: A regular expression for names of topics; it must match whole names.
        key, value: Format of the keys, or of the values.
        start: The first record of a topic that the table has not read before: ``earliest``; ``latest``; a point in
            time (``2026-01-31T12:00:00Z``), for the first record of that time or later; or ``group:NAME``, for the
            committed offsets of a consumer group. The table records earlier offsets as a gap.
        on_data_loss: The reaction of a run to records that were deleted before a run read them: ``fail``, or ``gap``:
            the run warns, records a gap and continues.
        group: A consumer group that each commit sets to the table's progress, so that Kafka's own tools can show the
            progress. Runs never read the group's offsets.
        columns: The columns of its rows: a column list (``id BIGINT, at TIMESTAMP METADATA FROM 'timestamp'``), a
            mapping of names to types or options, or ``Column`` objects. Without physical columns all fields of the
            value stay, and the declared columns are added to them.
        key_fields: Physical columns that are in the key.
        key_fields_prefix: Prefix of these columns' names that the fields in the key do not have.
        value_fields_include: ``ALL``: the value holds the key's columns, too, and the value's columns win; or
            ``EXCEPT_KEY``.
        fields_verify_integrity: Comparison of the columns that both key and value hold. With True, a record fails if
            they differ; with ``check``, the record is counted, and the asset gets the check ``key_matches_value``.
        push_down: Records that stay unread because the chain's first stages drop them for their topic, partition,
            offset or timestamp: ``off``, none; ``exact``, those that are dropped whatever they contain;
            ``no-tombstones``, also those that are dropped unless their value is null. Unread records cannot fail, and
            count as dropped.
    """

    source: SourceSpec
    topics: tuple[str, ...] = ()
    pattern: str = ""
    key: Format = field(default_factory=lambda: Format("string"))
    value: Format = field(default_factory=Format)
    start: str = "earliest"
    on_data_loss: Literal["fail", "gap"] = "fail"
    group: str = ""
    columns: str | Mapping[str, Any] | tuple[Column, ...] = ()
    key_fields: tuple[str, ...] = ()
    key_fields_prefix: str = ""
    value_fields_include: FieldsInclude = "ALL"
    fields_verify_integrity: Integrity = False
    push_down: PushDown = "off"

    def __post_init__(self) -> None:
        check_start(self.start, "start")
        self._declare()
        self._check_arrays()
        if self.on_data_loss not in ("fail", "gap"):
            raise ConfigError(Problem("SMT584", "on_data_loss", f"unknown value: {self.on_data_loss}", "fail or gap"))
        if self.push_down not in PUSH_DOWN:
            hint = f"use {', '.join(PUSH_DOWN)}"
            raise ConfigError(Problem("SMT584", "push_down", f"unknown value: {self.push_down}", hint))
        if self.group and not isinstance(self.source, KafkaTopics):
            statement = "only the topics of a Kafka cluster have consumer groups"
            raise ConfigError(Problem("SMT585", "group", statement, "leave group out"))

    def _declare(self) -> None:
        """Settles key and value by the columns and the schemas beside the topics."""
        for side in ("key", "value"):
            if getattr(self, side).kind in DESCRIBED:
                from dagster_smt.tables.rows.declare import described_format

                object.__setattr__(self, side, described_format(getattr(self, side)))
        problems = [] if self.columns else self._undescribed()
        if is_change(self.key):
            hint = "choose json, string or bytes"
            problems.append(Problem("SMT269", f"key.format {self.key.kind}", "a key cannot be a change event", hint))
        if is_change(self.value) and not self.columns:
            hint = "declare the columns of the rows"
            problems.append(Problem("SMT269", f"value.format {self.value.kind}", "needs columns", hint))
        if problems:
            raise ConfigError(problems)
        fields = tuple(self.key_fields), self.key_fields_prefix, self.value_fields_include, self.fields_verify_integrity
        if not self.columns and fields == ((), "", "ALL", False):
            object.__setattr__(self, "columns", ())
            return
        from dagster_smt.tables.rows.declare import declared_formats, declared_row  # loads sqlglot

        row = declared_row(self.columns, *fields)
        key, value = declared_formats(row, self.key, self.value)
        settled = {"columns": row.columns, "key_fields": row.key_fields, "key": key, "value": value}
        for name, setting in {**settled, "value_fields_include": row.value_fields_include}.items():
            object.__setattr__(self, name, setting)

    def _undescribed(self) -> list[Problem]:
        """Formats that nothing gives a schema."""
        if not {self.key.kind, self.value.kind} & set(DESCRIBED):
            return []
        from dagster_smt.tables.rows.declare import undescribed

        results: list[Problem] = []
        for side in ("key", "value"):
            results.extend(undescribed(side, getattr(self, side)))
        return results

    def _check_arrays(self) -> None:
        """Refuses arrays as rows without the columns of a row."""
        problems = []
        if self.key.arrays_as_rows:
            hint = "leave it out: an array in a value makes rows, each with the key of its record"
            problems.append(Problem("SMT279", f"key.json.{ARRAYS_AS_ROWS}", "the option is not for keys", hint))
        schema = self.value.schema
        if self.value.arrays_as_rows and (schema is None or schema.type is not Type.STRUCT):
            hint = "declare the columns of the value, or leave it out"
            problems.append(
                Problem("SMT279", f"value.json.{ARRAYS_AS_ROWS}", "the columns of a row are not declared", hint)
            )
        if self.value.arrays_as_rows and self.push_down != "off":
            hint = "leave one of them out: nobody knows the number of rows in unread records"
            problems.append(
                Problem("SMT279", "push_down", "rows of arrays must be counted, so the run reads all of them", hint)
            )
        if problems:
            raise ConfigError(problems)

    @classmethod
    def create(
        cls,
        statement: str,
        source: SourceSpec | None = None,
        *,
        place: str = "statement",
        elsewhere: SourceSpec | None = None,
        **others: Any,
    ) -> "TopicTable":
        """Creates a topic table from a ``CREATE TABLE`` of Flink, or a ``CREATE STREAM`` of ksqlDB.

        Args:
            statement: The statement.
            source: The place of the topics; by default the cluster of ``properties.bootstrap.servers``.
            place: The name of the statement in messages.
            elsewhere: The place of the topics if neither ``source`` nor the statement names it.
            others: Options that no statement has: ``on_data_loss``, ``group``; ``start`` and ``key`` if this statement
                does not set them.

        Raises:
            ConfigError: All wrong or unsupported parts of the statement: SMT250 to SMT270; SMT271, the place of the
                topics is unknown; SMT270, an argument repeats the statement.
        """
        from dagster_smt.tables.rows.statement import parse_statement
        from dagster_smt.tables.rows.with_options import table_arguments

        arguments = table_arguments(parse_statement(statement, place))
        servers, properties = arguments.pop("servers"), arguments.pop("properties")
        if source is not None and (servers or properties):
            hint = "leave 'properties.…' out: an argument sets the source"
            raise ConfigError(Problem("SMT270", "WITH 'properties.…'", "repeats the place of the topics", hint))
        cluster = KafkaTopics(servers, {f"kafka.{k}": v for k, v in properties.items()}) if servers else elsewhere
        topics = source or cluster
        if topics is None:
            hint = "set 'properties.bootstrap.servers', or pass the source as an argument"
            raise ConfigError(Problem("SMT271", place, "the place of the topics is missing", hint))
        formats: dict[str, Any] = {}
        for side in ("key", "value"):
            if side in arguments:
                formats[side] = Format(arguments.pop(side), options=arguments.pop(f"{side}_options"))
        if arguments["start"] == "earliest":
            arguments.pop("start")
        said = {**arguments, **formats}
        if twice := [name for name in others if name in said]:
            hint = "set it once: in the statement, or as an argument"
            raise ConfigError(Problem("SMT270", name, "repeats the statement", hint) for name in twice)
        return cls(topics, **said, **others)

    @property
    def row(self) -> Row:
        """The columns, and their places in a record; empty without columns."""
        assert isinstance(self.columns, tuple)
        return Row(
            self.columns,
            self.key_fields,
            self.key_fields_prefix,
            self.value_fields_include,
            self.fields_verify_integrity,
        )


def check_start(start: str, place: str) -> None:
    """Refuses an unknown start.

    Raises:
        ConfigError: SMT584.
    """
    if start in ("earliest", "latest") or re.fullmatch(r"group:.+", start):
        return
    try:
        millis_of(start)
    except ValueError:
        hint = "use earliest, latest, a moment such as 2026-01-31T12:00:00Z, or group:NAME"
        raise ConfigError(Problem("SMT584", place, f"'{start}' is not a valid start", hint)) from None


def millis_of(moment: str) -> int:
    """Returns milliseconds since 1970, from a time in ISO 8601 (without a zone in UTC) or from the number itself.

    Raises:
        ValueError: The text is neither.
    """
    if moment.isdecimal():
        return int(moment)
    time = datetime.fromisoformat(moment.replace("Z", "+00:00"))
    if time.tzinfo is not None:
        aware = time
    else:
        aware = time.replace(tzinfo=timezone.utc)
    return (aware - datetime(1970, 1, 1, tzinfo=timezone.utc)) // timedelta(milliseconds=1)


@dataclass(frozen=True)
class SourceColumns:
    """The columns with the coordinates of each row's record, by which a replay replaces exactly its rows."""

    topic: str = "_source_topic"
    partition: str = "_source_partition"
    offset: str = "_source_offset"

    @property
    def names(self) -> tuple[str, str, str]:
        return self.topic, self.partition, self.offset


RECORD_COORDINATES = SourceColumns("source_topic", "partition", "offset")
"""Kafka's own columns already have two of them."""

MOST_TOPICS = 500
"""File topics hold a lock for each, and most systems let a process open 1,024 files."""
SinkKind = Literal["records", "columns"]
SchemaEvolution = Literal["none", "add", "widen"]
RefusedTables = Literal["unread", "dead_letters"]


class Sink:
    """The output of runs. Each kind of sink is a frozen dataclass below.

    Attributes:
        kind: ``records`` (Kafka's columns) or ``columns`` (one column per field of the value).
        schema_evolution: The permitted changes of the table's columns.
        path: The folder or URI, for sinks that have one.
        table: The name in a catalog, for sinks that have one.
        key, value: The formats of written records; None: those of the topic table.
        storage: The short name of the format.
        replaceable: True if rows that are committed can be replaced.
    """

    kind: SinkKind = "records"
    schema_evolution: SchemaEvolution = "add"
    path: str | Path = ""
    table: str = ""
    key: Format | None = None
    value: Format | None = None
    storage: ClassVar[str]
    replaceable: ClassVar[bool] = False

    @property
    def keyed(self) -> KeyedRows | None:
        """The mode of a table with keys; None for any other sink."""
        return None

    @property
    def holds(self) -> str:
        """The content of the sink: ``records``, ``columns``, or the rows of a mode with keys."""
        if self.keyed is not None:
            return self.keyed.mode
        return self.kind

    @property
    def place(self) -> str:
        """The name of the sink in messages."""
        return self.table or str(self.path)

    @property
    def folder(self) -> Path | None:
        """The folder of this machine that holds the sink, if there is one."""
        if self.path and "://" not in str(self.path):
            return Path(self.path)
        return None

    @property
    def coordinates(self) -> SourceColumns | None:
        """The columns with the source of each row; None if the sink cannot replace rows."""
        return None


@dataclass(frozen=True)
class TableSink(Sink):
    """A table that runs write to, by path or by its name in a catalog; or with ``{topic}`` in it, many tables.

    ``DeltaSink("lake/{topic}")`` is one table for each topic that the chain's routers choose. Each run writes them all.

    Attributes:
        path: Folder or URI, in a file system that the session knows. A relative path begins where Dagster runs.
        kind: ``records`` (Kafka's columns) or ``columns`` (one column per field of the value).
        table: Name in a catalog, such as ``lake.orders``; instead of ``path``.
        schema_evolution: Permitted changes of the table's columns: ``none``, ``add`` (new columns and fields) or
            ``widen`` (wider types, too).
        source_columns: Names of the columns for the topic, partition and offset of each row. None omits these columns,
            and no run can replace rows. Tables of kind ``records`` have Kafka's own columns instead.
        key, value: Kind ``records`` only: the format of keys, or of values, to write; None: as the topic table has it.
        mode: Of kind ``columns``: ``append`` adds a row for each record; ``upsert`` keeps one row for each key;
            ``scd2`` keeps each version of a key.
        keys: The columns of the key, or ``record_key``: the fields of the record's key.
        deletes: What a tombstone does, or a row that the chain marks as deleted: ``apply`` removes the row, ``soft``
            keeps it with the flag ``_is_deleted`` and the time ``_deleted_at``, ``ignore`` does nothing.
        delete_flag: The column by which the chain marks deleted rows (true or 'true'); the table does not have it.
        sequence_by: A column that orders the events of a key that comes from several partitions. Without it offsets
            do, and a key that is met in two partitions is refused.
        track: Of ``scd2``: the columns whose change makes a new version; empty: all.
        unavailable_value: Debezium's ``unavailable.value.placeholder``: the table's value stays. Empty: no text is one.
        soft_delete_columns, validity_columns: Names of the columns that ``soft`` and ``scd2`` add.
        partition_by: The partitioning of a new table: columns, or ``year(at)``, ``month(at)``, ``day(at)``,
            ``hour(at)``; on Iceberg also ``bucket(16, id)`` and ``truncate(4, name)``.
        cluster_by: The columns by which a new table stores similar rows together: Delta's ``CLUSTER BY``, Iceberg's
            sort order.
        properties: Table properties of a new table.
        comment: The description of a new table.
        target_file_size: The size of a new table's files: bytes, or a text such as ``128 MB``.
        max_tables: With ``{topic}``: limit of the tables. A router may take the topic from any field.
        max_new_tables: With ``{topic}``: limit of the tables that one run makes.
        refused_tables: With ``{topic}``: the records of topics that get no table stay ``unread``, and the next run
            reads them again; or they become ``dead_letters``.
    """

    path: str | Path = ""
    kind: SinkKind = "records"
    table: str = ""
    schema_evolution: SchemaEvolution = "add"
    source_columns: SourceColumns | None = SourceColumns()
    key: Format | None = None
    value: Format | None = None
    mode: TableMode = "append"
    keys: str | Sequence[str] = RECORD_KEY
    deletes: Deletes = "apply"
    delete_flag: str = DELETE_FLAG
    sequence_by: str = ""
    track: Sequence[str] = ()
    unavailable_value: str = UNAVAILABLE_VALUE
    soft_delete_columns: SoftDeleteColumns = field(default_factory=SoftDeleteColumns)
    validity_columns: ValidityColumns = field(default_factory=ValidityColumns)
    partition_by: Sequence[str] = ()
    cluster_by: Sequence[str] = ()
    properties: Mapping[str, str] = field(default_factory=dict, hash=False)
    comment: str = ""
    target_file_size: int | str = ""
    max_tables: int = 1_000
    max_new_tables: int = 250
    refused_tables: RefusedTables = "unread"
    own_properties: ClassVar[Mapping[str, str]] = {}
    replaceable: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "track", tuple(self.track))
        for option in ("partition_by", "cluster_by"):
            value = getattr(self, option)
            if not isinstance(value, str):
                object.__setattr__(self, option, tuple(value))
        if layout_problems := self._read_layout()[1]:
            raise ConfigError(layout_problems)
        if not isinstance(self.keys, str):
            object.__setattr__(self, "keys", tuple(self.keys))
        if problems := keyed_problems(self):
            raise ConfigError(problems)
        if bool(self.path) == bool(self.table):
            hint = "give a folder or URI as path, or the name of a table in a catalog as table"
            raise ConfigError(Problem("SMT570", type(self).__name__, "a table needs either a path or a name", hint))
        if self.per_topic and (problems := per_topic_problems(self)):
            raise ConfigError(problems)
        if self.kind == "columns" and (self.key or self.value):
            hint = "leave key and value out, or write records"
            raise ConfigError(Problem("SMT577", self.place, "a table of columns has no formats", hint))

    @property
    def per_topic(self) -> bool:
        """True if each topic that the chain chooses has a table of its own."""
        return TOPIC in str(self.path) or TOPIC in self.table

    def of_topic(self, topic: str) -> "TableSink":
        """Returns the table of a topic that the chain chooses."""
        if self.table:
            return replace(self, table=table_of_topic(self.table, topic))
        path = path_of_topic(str(self.path), topic)
        return replace(self, path=Path(path) if isinstance(self.path, Path) else path)

    @property
    def progress(self) -> "TableSink":
        """The table with the progress of runs that write many tables."""
        plain = replace(self, kind="records", mode="append", keys=RECORD_KEY, deletes="apply", sequence_by="", track=())
        return replace(plain, schema_evolution="add", **NO_LAYOUT).of_topic(PROGRESS)

    @property
    def layout(self) -> Layout:
        """The layout of a new table."""
        return self._read_layout()[0]

    def _read_layout(self) -> tuple[Layout, list[Problem]]:
        return layout_of(
            self.partition_by,
            self.cluster_by,
            self.properties,
            self.comment,
            self.target_file_size,
            {"comment": "use the option comment", **self.own_properties},
        )

    @property
    def coordinates(self) -> SourceColumns | None:
        """The columns with the source of each row."""
        if self.kind == "records":
            return RECORD_COORDINATES
        return self.source_columns

    @property
    def keyed(self) -> KeyedRows | None:
        """The mode of a table with keys; None: the table appends."""
        if self.mode == "append":
            return None
        return KeyedRows(
            self.mode,
            () if isinstance(self.keys, str) else tuple(self.keys),
            self.deletes,
            self.delete_flag,
            self.sequence_by,
            tuple(self.track),
            self.unavailable_value,
            self.soft_delete_columns,
            self.validity_columns,
        )


NO_LAYOUT: Mapping[str, Any] = {
    "partition_by": (),
    "cluster_by": (),
    "properties": {},
    "comment": "",
    "target_file_size": "",
}
"""Options of a table that has no layout of its own, such as a table beside another one."""


def per_topic_problems(sink: TableSink) -> list[Problem]:
    """Returns the problems of the options of a sink with ``{topic}``."""
    problems = []
    if (problem := template_problem(str(sink.path or ""), sink.table)) is not None:
        problems.append(problem)
    if sink.coordinates is None:
        hint = "leave source_columns=None out"
        statement = "a run that continues after a crash needs the record of each row"
        problems.append(Problem("SMT730", "source_columns", statement, hint))
    if sink.refused_tables not in ("unread", "dead_letters"):
        statement = f"unknown value: {sink.refused_tables}"
        problems.append(Problem("SMT730", "refused_tables", statement, "use unread or dead_letters"))
    for option in ("max_tables", "max_new_tables"):
        if getattr(sink, option) < 1:
            problems.append(Problem("SMT730", option, f"{getattr(sink, option)} is not a limit", "use 1 or more"))
    return problems


def keyed_problems(sink: TableSink) -> list[Problem]:
    """Returns what is wrong with the options of a table with keys, all of it."""
    problems = []
    for option, known in (("mode", MODES), ("deletes", DELETES)):
        value = getattr(sink, option)
        if value not in known:
            problems.append(Problem("SMT700", option, f"no such {option}: {value}", f"use {', '.join(known)}"))
    if sink.mode == "append":
        keyed_only = {
            "keys": sink.keys != RECORD_KEY,
            "deletes": sink.deletes != "apply",
            "sequence_by": bool(sink.sequence_by),
            "track": bool(sink.track),
        }
        for option, is_set in keyed_only.items():
            if is_set:
                hint = "add mode='upsert' or 'scd2', or leave the option out"
                problems.append(Problem("SMT700", option, "is an option of tables with keys", hint))
        return problems
    if sink.kind != "columns":
        problems.append(Problem("SMT700", "mode", f"mode '{sink.mode}' needs a table of columns", "add kind='columns'"))
    if sink.source_columns is None:
        hint = "leave source_columns=None out"
        problems.append(Problem("SMT700", "source_columns", "a table with keys stores the record of each row", hint))
    if isinstance(sink.keys, str) and sink.keys != RECORD_KEY:
        hint = f"write keys=['{sink.keys}'], or keys='record_key'"
        problems.append(Problem("SMT700", "keys", "is neither a list of columns nor 'record_key'", hint))
    if not isinstance(sink.keys, str) and not sink.keys:
        problems.append(Problem("SMT700", "keys", "names no column", "write keys=['id'], or keys='record_key'"))
    if sink.track and sink.mode != "scd2":
        problems.append(Problem("SMT700", "track", "is an option of mode 'scd2'", "leave it out"))
    if sink.mode == "scd2" and sink.sequence_by:
        hint = "use mode='upsert', or bring the events of a key into one partition before"
        statement = "mode 'scd2' orders events by the offsets of one partition"
        problems.append(Problem("SMT700", "sequence_by", statement, hint))
    if sink.mode == "scd2" and sink.deletes == "soft":
        hint = "leave deletes out: a deletion closes the version, and the row stays"
        problems.append(Problem("SMT700", "deletes", "'soft' is for mode 'upsert'", hint))
    return problems + _append_only_problems(sink)


def _append_only_problems(sink: TableSink) -> list[Problem]:
    """Returns a problem if a table whose rows change is to forbid changes. Delta reads its properties in any case."""
    problems: list[Problem] = []
    if sink.storage != "delta":
        return problems
    for name, value in sink.properties.items():
        if name.lower() == APPEND_ONLY.lower() and str(value).strip().lower() == "true":
            hint = "leave the property out, or use mode='append'"
            statement = f"a table of mode '{sink.mode}' changes rows, which this property forbids"
            problems.append(Problem("SMT700", f"properties: {name}", statement, hint))
    return problems


APPEND_ONLY = "delta.appendOnly"
"""The property with which Delta refuses every statement that changes or removes rows."""


@dataclass(frozen=True)
class DeltaSink(TableSink):
    """A Delta table."""

    storage: ClassVar[str] = "delta"
    own_properties: ClassVar[Mapping[str, str]] = {"delta.targetfilesize": "use the option target_file_size"}


@dataclass(frozen=True)
class IcebergSink(TableSink):
    """An Iceberg table.

    With a path, the table is in the catalog ``smt_paths``, which the session gets from this package.
    """

    storage: ClassVar[str] = "iceberg"
    own_properties: ClassVar[Mapping[str, str]] = {
        "write.target-file-size-bytes": "use the option target_file_size",
        "sort-order": "use the option cluster_by",
        **dict.fromkeys(("format-version", "format", "current-snapshot-id", "identifier-fields"), "leave it out"),
    }


@dataclass(frozen=True)
class FileTopicSink(Sink):
    """File topics: records go to the topics that the chain's routers choose.

    Attributes:
        path: The folder of the topics. A relative path begins where Dagster runs.
        group: The consumer group whose progress is kept next to the topics.
        key, value: The format of keys, or of values, to write; None: as the topic table has it.
        max_topics: Limit of the topics that one run may write to: a router may take the topic from any field.
    """

    path: str | Path = field()  # required, although ``Sink`` has a default
    group: str = "dagster_smt"
    key: Format | None = None
    value: Format | None = None
    max_topics: int = MOST_TOPICS
    storage: ClassVar[str] = "file_topics"

    def __post_init__(self) -> None:
        if not self.path or not re.fullmatch(r"[A-Za-z0-9._-]+", self.group):
            hint = "give a folder as path, and a group of letters, digits, dots, underscores and hyphens"
            statement = "file topics hold records below a folder, for a named group"
            raise ConfigError(Problem("SMT576", self.place, statement, hint))


@dataclass(frozen=True)
class KafkaSink(Sink):
    """Topics of a Kafka cluster: records go to the topics that the chain's routers choose, at least once.

    The headers of each record name its source, so a consumer can recognise a second copy.

    Attributes:
        topics: The cluster.
        group: The consumer group whose committed offsets are the progress, on the cluster of the source. Empty: the
            name of the asset or op.
        key, value: The format of keys, or of values, to write; None: as the topic table has it.
        max_topics: Limit of the topics that one run may write to: a router may take the topic from any field.
    """

    topics: KafkaTopics
    group: str = ""
    key: Format | None = None
    value: Format | None = None
    max_topics: int = MOST_TOPICS
    storage: ClassVar[str] = "kafka"

    @property
    def place(self) -> str:
        """The name of the cluster in messages."""
        return self.topics.place

    def of(self, name: str) -> "KafkaSink":
        """Returns the sink for an asset or op of this name."""
        if self.group:
            return self
        return replace(self, group=name)


LetterPlace = FileTopics | KafkaTopics | TableSink
"""Where dead letters can go."""


def packages_of(*specs: "SourceSpec | Sink | TopicTable | None") -> frozenset[str]:
    """Returns the packages that a Spark session needs; see ``spark.packages``.

    Without ``avro``, Spark reads Avro more slowly.
    """
    columns = any(isinstance(spec, TableSink) and spec.kind == "columns" for spec in specs)
    tables = [spec for spec in specs if isinstance(spec, TopicTable)]
    specs = (*specs, *(table.source for table in tables))
    packages: set[str] = set()
    for spec in specs:
        if isinstance(spec, TableSource) and spec.format != "parquet":
            packages.add(spec.format)
    for table in tables:
        if columns and table.value.kind == "avro-confluent":
            packages.add("avro")
    for spec in specs:
        if isinstance(spec, DeltaSink | IcebergSink):
            packages.add(spec.storage)
    for spec in specs:
        if str(getattr(spec, "path", "")).startswith("s3a://"):
            packages.add("s3")
    return frozenset(packages | {"kafka" for spec in specs if isinstance(spec, KafkaTopics | KafkaSink)})


@dataclass(frozen=True)
class WindowRequest:
    """The offsets that a run config requests. By default, a run continues at the end of the table's progress.

    Attributes:
        topics: Only these topics of the table; empty: all topics.
        explicit: A fixed range of some topic-partitions. The run replaces exactly the rows of this range.
        everywhere: A fixed range ``(start, end)`` of every partition, as far as its offsets exist.
        since, until: A fixed range by time, in milliseconds: from the first record at or after ``since`` up to the
            first record at or after ``until``, which is excluded. None: the beginning, or the end.
        cuts: Points in time between ``since`` and ``until``, in order, that divide the counts of the run.
        late: The window of a late record, which arrives after the first record of a later time. ``next``: the record
            belongs to the window of its offset. ``include``: the window of its own time reads the record, too, and
            replaces its row.
        max_records: At most this many records per topic-partition. A fixed range is never shortened.
        accept_gap: Skip offsets permanently: those that were deleted before any run read them, and those before a fixed
            range. The table records them as a gap.
        start: The beginning of topics that the table has not read before: ``earliest``, ``latest``, a point in time
            (``2026-01-31T12:00:00Z``), or ``group:NAME`` for the committed offsets of a consumer group. The table
            records earlier offsets as a gap. Empty: the setting of the topic table.
        redrive: Only the records that failed when they were last read. The run reads them from their topics again, with
            today's chain.
        repair: Only the records that masks, drops and renames failed to change, as the check ``dead_mask`` lists them.
            The run reads them from their topics again, with today's chain, and replaces their rows.
        accept_unmasked: The reason why the records that ``dead_mask`` lists are acceptable. The table records the
            reason, and the check passes. Empty: the records stay on record.
        begin_anew: Continue with topics that were deleted and created again: read them from their beginning, and keep
            the rows of the former topics.
    """

    topics: tuple[str, ...] = ()
    explicit: Window | None = None
    everywhere: tuple[int, int] | None = None
    since: int | None = None
    until: int | None = None
    cuts: tuple[int, ...] = ()
    late: Literal["next", "include"] = "next"
    max_records: int | None = None
    accept_gap: bool = False
    start: str = ""
    redrive: bool = False
    repair: bool = False
    accept_unmasked: str = ""
    begin_anew: bool = False

    @property
    def fixed(self) -> bool:
        """True if the request names a range, which a second run reads again."""
        return any(x is not None for x in (self.explicit, self.everywhere, self.since, self.until))


@dataclass(frozen=True)
class MicroBatches:
    """The limits of a run in micro-batches. Without a limit, the run reads until no record is left.

    Attributes:
        max_records: At most this many records per topic-partition and batch.
        max_batches: At most this many batches. None: no limit.
        max_seconds: No batch begins after this many seconds. None: no limit.
    """

    max_records: int
    max_batches: int | None = None
    max_seconds: float | None = None

    def __post_init__(self) -> None:
        problems = []
        for name, value in vars(self).items():
            if value is not None and value <= 0:
                problems.append(
                    Problem(
                        "SMT536",
                        f"micro_batch.{name}",
                        f"{value} is not a limit",
                        "use a number above 0, or leave it out",
                    )
                )
        if problems:
            raise ConfigError(problems)
