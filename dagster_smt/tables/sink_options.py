"""The sinks of runs and their options, described as plain data. This module does not import PySpark."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

from dagster_smt.errors import ConfigError, Problem
from dagster_smt.model.topics.format import Format
from dagster_smt.model.topics.keyed import (
    DELETE_FLAG,
    DELETES,
    MODES,
    RECORD_KEY,
    UNAVAILABLE_VALUE,
    Deletes,
    KeyedRows,
    SoftDeleteColumns,
    TableMode,
    ValidityColumns,
)
from dagster_smt.model.topics.layout import Layout, layout_of
from dagster_smt.model.topics.table_names import PROGRESS, TOPIC, path_of_topic, table_of_topic, template_problem
from dagster_smt.tables.kafka.spec import KafkaTopics
from dagster_smt.tables.local import is_uri
from dagster_smt.tables.topic_table import FileTopics


@dataclass(frozen=True)
class SourceColumns:
    """The names of three columns in a table. In each row, these columns contain the topic, the partition and the offset
    of the record that produced the row.

    A replay (a run that reads offsets again) uses these columns to find the rows that it must replace.
    """

    topic: str = "_source_topic"
    partition: str = "_source_partition"
    offset: str = "_source_offset"

    @property
    def names(self) -> tuple[str, str, str]:
        return self.topic, self.partition, self.offset


RECORD_COORDINATES = SourceColumns("source_topic", "partition", "offset")
"""The names of the columns with topic, partition and offset in a table of records (a table with Kafka's columns).

``partition`` and ``offset`` are Kafka's own columns.
"""

MOST_TOPICS = 500
"""The largest permitted number of target topics. A run holds a lock file for each file topic, and most systems permit a
process to open only 1,024 files.
"""
SinkKind = Literal["records", "columns"]
SchemaEvolution = Literal["none", "add", "widen"]
RefusedTables = Literal["unread", "dead_letters"]


class Sink:
    """The output of runs. Each kind of sink is a frozen dataclass below.

    Attributes:
        kind: ``records`` (Kafka's columns) or ``columns`` (one column per field of the value).
        schema_evolution: The permitted changes of the table's columns.
        path: The folder or URI of the sink, if it has one.
        table: The name of the sink in a catalog, if it has one.
        key, value: The formats in which keys and values are written. If None, the formats of the topic table.
        storage: A word for the kind of storage: ``delta``, ``iceberg``, ``file_topics`` or ``kafka``.
        replaceable: True if a run can replace committed rows.
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
        """The options of the modes ``upsert`` and ``scd2``, which change existing rows. None for any other sink."""
        return None

    @property
    def holds(self) -> str:
        """A word for the content of the sink: ``records``, ``columns``, ``upsert`` or ``scd2``."""
        if self.keyed is not None:
            return self.keyed.mode
        return self.kind

    @property
    def place(self) -> str:
        """The name of the sink in messages."""
        return self.table or str(self.path)

    @property
    def folder(self) -> Path | None:
        """The local folder that contains the sink. None if the sink is not in a local folder."""
        if self.path and not is_uri(self.path):
            return Path(self.path)
        return None

    @property
    def coordinates(self) -> SourceColumns | None:
        """The columns with the topic, partition and offset of each row's record. None if the sink lacks them.

        Without these columns, a run cannot replace rows.
        """
        return None


@dataclass(frozen=True)
class TableSink(Sink):
    """A table that runs write to, identified by its path or by its name in a catalog.

    With ``{topic}`` in the path or name, the sink is many tables: ``DeltaSink("lake/{topic}")`` is one table for each
    topic that the chain's routers choose. Each run writes all of these tables.

    Attributes:
        path: Folder or URI, in a file system that the session knows. A relative path begins where Dagster runs.
        kind: ``records`` (Kafka's columns) or ``columns`` (one column per field of the value).
        table: Name in a catalog, such as ``lake.orders``; instead of ``path``.
        schema_evolution: Permitted changes of the table's columns: ``none``, ``add`` (new columns and fields) or
            ``widen`` (also wider types).
        source_columns: The names of the columns for the topic, partition and offset of each row. With None, the table
            lacks these columns, so no run can replace rows. Tables of kind ``records`` have Kafka's own columns
            instead.
        key, value: For kind ``records`` only: the formats in which keys and values are written. If None, the formats of
            the topic table.
        mode: For kind ``columns`` only: ``append`` adds a row for each record; ``upsert`` keeps one row for each key;
            ``scd2`` keeps each version of a key.
        keys: The names of the key columns, such as ``["id"]``. With ``record_key`` instead of names, the key columns
            are the fields of the record's key.
        deletes: The effect of a tombstone, or of a row that the chain marks as deleted. ``apply`` removes the row.
            ``soft`` keeps the row, and sets the flag ``_is_deleted`` and the time ``_deleted_at``. ``ignore`` does
            nothing.
        delete_flag: The column in which the chain marks deleted rows (true or 'true'). The table does not get this
            column.
        sequence_by: A column that orders the events of a key if they come from several partitions. Without this option,
            offsets order the events, and a key that occurs in two partitions is an error.
        track: For ``scd2`` only: the columns whose change creates a new version. If empty, all columns.
        unavailable_value: Debezium's ``unavailable.value.placeholder``. If an event has this string in a column, the
            table keeps the column's value. If empty, there is no placeholder.
        soft_delete_columns, validity_columns: The names of the columns that ``deletes: soft`` and ``mode: scd2`` add to
            the table.
        partition_by: The partitioning of a new table: columns, or ``year(at)``, ``month(at)``, ``day(at)``,
            ``hour(at)``; on Iceberg also ``bucket(16, id)`` and ``truncate(4, name)``.
        cluster_by: The columns by which a new table stores similar rows together: ``CLUSTER BY`` in Delta, the sort
            order in Iceberg.
        properties: Table properties of a new table.
        comment: The description of a new table.
        target_file_size: The size of a new table's files: a number of bytes, or a string such as ``128 MB``.
        max_tables: With ``{topic}``: the largest permitted number of tables. The limit protects against a router that
            takes the topic from an arbitrary field.
        max_new_tables: With ``{topic}``: the largest number of tables that one run creates.
        refused_tables: With ``{topic}``: the treatment of records whose topic gets no table. ``unread``: the next run
            reads the records again. ``dead_letters``: the records become dead letters.
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
            # a string is not split into letters, so that layout_of() can report it: partition_by='day' instead of
            # ['day']
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
        if isinstance(self.path, Path) and is_uri(self.path):
            hint = "give the URI as a string, because a Path shortens :// to :/"
            raise ConfigError(Problem("SMT570", str(self.path), "a Path cannot hold a URI", hint))
        if self.per_topic and (problems := per_topic_problems(self)):
            raise ConfigError(problems)
        if self.kind == "columns" and (self.key or self.value):
            hint = "leave key and value out, or write records"
            raise ConfigError(Problem("SMT577", self.place, "a table of columns has no formats", hint))

    @property
    def per_topic(self) -> bool:
        """True if each output topic has a table of its own."""
        return TOPIC in str(self.path) or TOPIC in self.table

    def of_topic(self, topic: str) -> "TableSink":
        """Returns the sink for the table of the output topic ``topic``."""
        if self.table:
            return replace(self, table=table_of_topic(self.table, topic))
        path = path_of_topic(str(self.path), topic)
        return replace(self, path=Path(path) if isinstance(self.path, Path) else path)

    @property
    def progress(self) -> "TableSink":
        """The table that stores the progress (the offsets that runs have reached), for a sink that writes
        many tables.
        """
        # with mode append, keyed_problems() rejects every option of tables with keys
        plain = replace(self, kind="records", mode="append", keys=RECORD_KEY, deletes="apply", sequence_by="", track=())
        return replace(plain, schema_evolution="add", **NO_LAYOUT).of_topic(PROGRESS)

    @property
    def layout(self) -> Layout:
        """The layout that a new table gets: its partitioning, clustering, properties and file size."""
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
        """The names of the columns with the topic, partition and offset of each row's record."""
        if self.kind == "records":
            return RECORD_COORDINATES
        return self.source_columns

    @property
    def keyed(self) -> KeyedRows | None:
        """The options of the modes ``upsert`` and ``scd2``, which change existing rows. None if runs only
        append rows.
        """
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
"""Values of the layout options that give a table no layout. This package creates its helper tables with these values,
such as the table that stores the progress.
"""


def per_topic_problems(sink: TableSink) -> list[Problem]:
    """Returns the problems in the options of ``sink``, if its path or name contains ``{topic}``."""
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
    """Returns the problems in the options for tables with keys (modes ``upsert`` and ``scd2``), such as
    ``sequence_by``.
    """
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
    """Returns a problem if the mode of ``sink`` changes existing rows, but the property ``delta.appendOnly`` forbids
    this.
    """
    problems: list[Problem] = []
    if sink.storage != "delta":
        return problems
    for name, value in sink.properties.items():
        # Delta ignores the case of the names of its properties
        if name.lower() == APPEND_ONLY.lower() and str(value).strip().lower() == "true":
            hint = "leave the property out, or use mode='append'"
            statement = f"a table of mode '{sink.mode}' changes rows, which this property forbids"
            problems.append(Problem("SMT700", f"properties: {name}", statement, hint))
    return problems


APPEND_ONLY = "delta.appendOnly"
"""A property of Delta tables. If the property is set, Delta rejects every statement that changes or removes rows."""


@dataclass(frozen=True)
class DeltaSink(TableSink):
    """A Delta table as the output of runs. See ``TableSink`` for its options."""

    storage: ClassVar[str] = "delta"
    own_properties: ClassVar[Mapping[str, str]] = {"delta.targetfilesize": "use the option target_file_size"}


@dataclass(frozen=True)
class IcebergSink(TableSink):
    """An Iceberg table, identified by its name in a catalog or by its path.

    A table with a path is in the catalog ``smt_paths``, which this package adds to the session.
    """

    storage: ClassVar[str] = "iceberg"
    own_properties: ClassVar[Mapping[str, str]] = {
        "write.target-file-size-bytes": "use the option target_file_size",
        "sort-order": "use the option cluster_by",
        **dict.fromkeys(("format-version", "format", "current-snapshot-id", "identifier-fields"), "leave it out"),
    }


@dataclass(frozen=True)
class FileTopicSink(Sink):
    """Topics in a folder, as a sink. The routers of the chain, such as ``RegexRouter``, choose the topic of each
    record.

    Attributes:
        path: The folder of the topics. A relative path begins where Dagster runs.
        group: The name under which the progress is stored next to the topics. It has the role of a consumer group.
        key, value: The formats in which keys and values are written. If None, the formats of the topic table.
        max_topics: The largest number of topics that one run may write to. The limit protects against a router that
            takes the topic from an arbitrary field.
    """

    path: str | Path = field()  # required, although ``Sink`` has a default
    group: str = "dagster_smt"
    key: Format | None = None
    value: Format | None = None
    max_topics: int = MOST_TOPICS
    storage: ClassVar[str] = "file_topics"

    def __post_init__(self) -> None:
        # the name of the group becomes the name of the file with its progress
        if not self.path or not re.fullmatch(r"[A-Za-z0-9._-]+", self.group):
            hint = "give a folder as path, and a group of letters, digits, dots, underscores and hyphens"
            statement = "file topics hold records below a folder, for a named group"
            raise ConfigError(Problem("SMT576", self.place, statement, hint))


@dataclass(frozen=True)
class KafkaSink(Sink):
    """Topics of a Kafka cluster, as a sink. Each record is written at least once.

    The routers of the chain, such as ``RegexRouter``, choose the topic of each record. The headers of a written record
    contain its source topic, partition and offset. So a consumer can recognize a second copy.

    Attributes:
        topics: The cluster.
        group: The consumer group that stores the progress on the source's cluster. The committed offsets of the group
            are the offsets that runs have reached. If empty, the name of the asset or op.
        key, value: The formats in which keys and values are written. If None, the formats of the topic table.
        max_topics: The largest number of topics that one run may write to. The limit protects against a router that
            takes the topic from an arbitrary field.
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
        """Returns this sink with ``name`` as its consumer group. A sink with a group of its own is returned unchanged.

        Args:
            name: The name of an asset or op.
        """
        if self.group:
            return self
        return replace(self, group=name)


LetterPlace = FileTopics | KafkaTopics | TableSink
"""The types of destinations for dead letters (copies of records that failed): topics in a folder or a cluster, or a
table.
"""
