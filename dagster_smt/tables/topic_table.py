"""Topic tables and the sources of their records, described as plain data. This module does not import PySpark."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, Literal

from dagster_smt.errors import ConfigError, Problem
from dagster_smt.model.schema import Type
from dagster_smt.model.topics.change_formats import is_change
from dagster_smt.model.topics.columns import PUSH_DOWN, Column, FieldsInclude, Integrity, PushDown, Row
from dagster_smt.model.topics.format import ARRAYS_AS_ROWS, DESCRIBED, Format
from dagster_smt.tables.kafka.spec import KafkaTopics


@dataclass(frozen=True)
class FileTopics:
    """Topics in a folder, for demos, tests and replays: ``<root>/<topic>/<partition>/<base-offset>.jsonl`` (or
    ``.parquet``).
    """

    root: Path

    @property
    def place(self) -> str:
        """The name of the folder in messages."""
        return str(self.root)


@dataclass(frozen=True)
class TableSource:
    """A table with Kafka's columns, such as a lake's bronze table. Runs read records from it as they would from topics.

    Attributes:
        name: The table's name in a catalog (``lake.bronze.events``). Set either this name or ``path``.
        path: The table's path or URI. If it is set, ``format`` must also be set.
        format: The format of the table at ``path``: ``delta``, ``iceberg`` or ``parquet``.
        columns: The names that the table gives to Kafka's columns, if they differ: ``{"value": "payload"}``.
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
    """The input of a chain: topics, the formats of their keys and values, and the columns of a row.

    With ``columns``, the chain gets a row as the value (FLIP-107). The fields of the row are the declared columns, in
    the declared order. They come from the record's value, key, metadata and headers. A null value stays null.

    Attributes:
        source: The cluster, folder or table that holds the topics.
        topics: The names of the topics.
        pattern: A regular expression for topic names, which must match whole names.
        key, value: The formats of keys and values.
        start: The beginning of a topic that the table has not read before: ``earliest``; ``latest``; a point in time
            (``2026-01-31T12:00:00Z``), for the first record of that time or later; or ``group:NAME``, for the committed
            offsets of a consumer group. The table records earlier offsets as a gap.
        on_data_loss: The reaction to records that were deleted before a run read them. With ``fail``, the run fails.
            With ``gap``, the run warns, records a gap and continues.
        group: A consumer group. After each commit, its offsets are set to the offsets that the table has reached, so
            that Kafka's own tools can show the progress. Runs never read these offsets.
        columns: The columns of a row: a column list (``id BIGINT, at TIMESTAMP METADATA FROM 'timestamp'``), a mapping
            of names to types or options, or ``Column`` objects. If no column comes from the key or value, all fields of
            the value stay, and the declared columns are added to them.
        key_fields: The columns that come from the key.
        key_fields_prefix: A prefix of the key columns' names. The fields in the key have the same names without the
            prefix.
        value_fields_include: With ``ALL``, the value also contains the key's columns, and the columns from the value
            take precedence. With ``EXCEPT_KEY``, the value does not contain the key's columns.
        fields_verify_integrity: Compares the columns that both key and value contain. With True, a record fails if
            these columns differ; with ``check``, the record is counted, and the asset gets the check
            ``key_matches_value``.
        push_down: Leaves records unread if the chain's first stages would drop them because of their topic, partition,
            offset or timestamp. With ``off``, all records are read. With ``exact``, a record stays unread only if the
            stages would drop it with every possible value, including null. With ``no-tombstones``, you promise that no
            value is null. A record then stays unread if the stages would drop it with every value except null. Unread
            records cannot fail, and are counted as dropped.
        primary_key: The columns of a statement's ``PRIMARY KEY (…) NOT ENFORCED``. A sink with keys uses these columns
            if it does not name its own.
        partitioned_by: The columns and transforms of a statement's ``PARTITIONED BY``. A sink that writes a table uses
            them if it has no ``partition_by`` of its own.
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
    primary_key: tuple[str, ...] = ()
    partitioned_by: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_start(self.start, "start")
        self._declare()
        # after _declare(), which sets the schema of the values
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
        """Computes the formats of key and value from the declared columns and the schema files, and stores them in this
        object.
        """
        for side in ("key", "value"):
            if getattr(self, side).kind in DESCRIBED:
                from dagster_smt.tables.rows.declare import described_format

                object.__setattr__(self, side, described_format(getattr(self, side)))
        # with columns, declared_formats() does the same check below, because the columns may be the schema
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
        """Returns a problem for each format that needs a schema but has none."""
        if not {self.key.kind, self.value.kind} & set(DESCRIBED):
            return []
        from dagster_smt.tables.rows.declare import undescribed

        results: list[Problem] = []
        for side in ("key", "value"):
            results.extend(undescribed(side, getattr(self, side)))
        return results

    def _check_arrays(self) -> None:
        """Checks the option ``arrays-as-rows``, with which each element of an array becomes a row.

        The option is an error for the key. For the value, it requires declared columns and ``push_down: off``.

        Raises:
            ConfigError: SMT279.
        """
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
        """Creates a topic table from a ``CREATE TABLE`` or ``CREATE STREAM`` statement of Flink or ksqlDB.

        Args:
            statement: The statement.
            source: The cluster, folder or table with the topics; by default the cluster of
                ``properties.bootstrap.servers``.
            place: The name of the statement in messages.
            elsewhere: The source to use if neither ``source`` nor the statement contains a source.
            others: Further options of the topic table, such as ``on_data_loss`` and ``group``, which no statement can
                set. ``start`` and ``key`` are permitted if the statement does not set them.

        Raises:
            ConfigError: All wrong or unsupported parts of the statement: SMT250 to SMT270; SMT271, the source of the
                topics is unknown; SMT270, an argument repeats an option of the statement.
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
        # an option that the statement does not set may be an argument, so its default must not count as a repetition
        for name, default in (("start", "earliest"), ("primary_key", ()), ("partitioned_by", ())):
            if arguments[name] == default:
                arguments.pop(name)
        said = {**arguments, **formats}
        if twice := [name for name in others if name in said]:
            hint = "set it once: in the statement, or as an argument"
            raise ConfigError(Problem("SMT270", name, "repeats the statement", hint) for name in twice)
        return cls(topics, **said, **others)

    @property
    def row(self) -> Row:
        """The declared columns, each with its source: the record's value, key, metadata or headers. Empty without
        declared columns.
        """
        assert isinstance(self.columns, tuple)
        return Row(
            self.columns,
            self.key_fields,
            self.key_fields_prefix,
            self.value_fields_include,
            self.fields_verify_integrity,
        )


def check_start(start: str, place: str) -> None:
    """Raises an error if ``start`` is not a valid start of a topic.

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
    """Converts ``moment`` into milliseconds since 1970.

    ``moment`` is a time in ISO 8601, such as ``2026-01-31T12:00:00Z``, or a string with a number of milliseconds. A
    time without a time zone is in UTC.

    Raises:
        ValueError: The string is neither a time nor a number.
    """
    if moment.isdecimal():
        return int(moment)
    # Python 3.10 does not read the letter Z
    time = datetime.fromisoformat(moment.replace("Z", "+00:00"))
    if time.tzinfo is not None:
        aware = time
    else:
        aware = time.replace(tzinfo=timezone.utc)
    # exact, in contrast to timestamp(), which is a float
    return (aware - datetime(1970, 1, 1, tzinfo=timezone.utc)) // timedelta(milliseconds=1)
