"""What ``defs.yaml`` says of topics, sinks and partitions, and how it becomes this package's plain data.

The models spell options as the data classes do; each describes itself in ``dg utils inspect-component``. Values may be
templates (``{{ env('NAME') }}``); a secret is better a reference, ``${env:NAME}``, which is looked up when a client is
made.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, get_args

import dagster as dg
from pydantic import Field

from dagster_smt.chain import Chain, parse_chain
from dagster_smt.errors import ConfigError, Problem
from dagster_smt.model.topics.format import FormatKind
from dagster_smt.orchestration.checks import SmtChecks
from dagster_smt.tables.ddl import parse_ddl
from dagster_smt.tables.described import with_files
from dagster_smt.tables.spec import (
    MOST_TOPICS,
    DeltaSink,
    FileTopics,
    FileTopicSink,
    Format,
    IcebergSink,
    KafkaSink,
    KafkaTopics,
    LetterPlace,
    NewTopics,
    Sink,
    SourceColumns,
    SourceSpec,
    TableSource,
    TopicTable,
)


class NewTopicsModel(dg.Model):
    """How topics are made that are missing."""

    partitions: int = Field(default=1, description="Partitions of each.")
    replication_factor: int = Field(default=-1, description="Copies of each partition; -1 is the broker's default.")
    settings: dict[str, str] = Field(default_factory=dict, description="Topic settings, such as cleanup.policy.")


class KafkaModel(dg.Model):
    """A Kafka cluster."""

    bootstrap_servers: str = Field(description="host:port, several with commas.", examples=["localhost:9092"])
    options: dict[str, str] = Field(
        default_factory=dict,
        description="Options of clients as Spark spells them (kafka.security.protocol); secrets as ${env:NAME}.",
    )
    client_options: dict[str, str] = Field(default_factory=dict, description="Options of librdkafka, if others.")
    isolation_level: Literal["read_committed", "read_uncommitted"] = Field(
        default="read_committed",
        description="Whether records of open and aborted transactions are read: read_committed or read_uncommitted.",
    )
    create: NewTopicsModel | None = Field(
        default=None, description="How topics are made that are missing; none: refused."
    )
    timeout: float = Field(default=30.0, description="Seconds that a question to the brokers may take.")


class SourceModel(dg.Model):
    """Where topics are: exactly one of these."""

    kafka: KafkaModel | None = Field(default=None, description="The topics of a Kafka cluster.")
    files: str | None = Field(
        default=None, description="A folder of file topics; relative to defs.yaml.", examples=["topics"]
    )
    table: dict[str, Any] | None = Field(
        default=None,
        description="A table with Kafka's columns: name or path, format, columns.",
        examples=[{"name": "lake.bronze.events"}],
    )


_KINDS = [kind for kinds in get_args(FormatKind) for kind in get_args(kinds)]


class FormatModel(dg.Model):
    """How a side of the records is encoded."""

    kind: FormatKind = Field(default="json", description=f"The encoding: {', '.join(_KINDS)}.")
    schema_: str | None = Field(
        default=None, alias="schema", description="Of json_schema: a DDL text, or a .sql file beside defs.yaml."
    )
    replace_null_with_default: bool = Field(
        default=True, description="Whether a null becomes the default of its schema, as Connect's converters have it."
    )
    decimal_format: Literal["BASE64", "NUMERIC"] = Field(
        default="BASE64", description="How JSON is written for decimals: BASE64, or NUMERIC."
    )
    options: dict[str, str] = Field(
        default_factory=dict,
        description="Options of the format, as Flink names them: null-literal, url, schema; of json arrays-as-rows.",
    )


class TopicTableModel(dg.Model):
    """What the chain reads."""

    source: SourceModel | None = Field(default=None, description="Where the topics are; a statement may say it.")
    topics: Sequence[str] = Field(default=(), description="Names of topics.", examples=[["orders"]])
    pattern: str = Field(
        default="", description="A regular expression that whole names match.", examples=["orders\\..*"]
    )
    key: FormatModel = Field(default_factory=lambda: FormatModel(kind="string"), description="The keys' format.")
    value: FormatModel = Field(default_factory=FormatModel, description="The values' format.")
    start: str = Field(default="earliest", description="earliest, latest, a moment, or group:NAME.")
    on_data_loss: Literal["fail", "gap"] = Field(
        default="fail",
        description="What a run does when records were deleted before it read them: fail, or gap, which notes them as "
        "a gap and goes on.",
    )
    group: str = Field(default="", description="A consumer group that shows the table's progress.")
    push_down: Literal["off", "exact", "no-tombstones"] = Field(
        default="off",
        description="Whether records stay unread that the chain's first stages drop for their topic, partition, offset "
        "or timestamp: off; exact: whatever is in them; no-tombstones: unless their value is null.",
    )
    statement: str | None = Field(
        default=None,
        description="A CREATE TABLE of Flink or CREATE STREAM of ksqlDB, or a .sql file beside defs.yaml that holds "
        "it: it says topics, formats and columns; start and key stand here where it leaves them out.",
        examples=["orders.sql"],
    )
    columns: str | dict[str, Any] = Field(
        default="",
        description="The columns of the rows: a column list, or a mapping of names to types or options.",
        examples=[{"id": "BIGINT", "at": "TIMESTAMP METADATA FROM 'timestamp'"}],
    )
    key_fields: Sequence[str] = Field(default=(), description="Columns that are in the key.")
    key_fields_prefix: str = Field(default="", description="What their names have in front that the key's do not.")
    value_fields_include: Literal["ALL", "EXCEPT_KEY"] = Field(
        default="ALL", description="Whether the value holds the key's columns, too: ALL or EXCEPT_KEY."
    )
    fields_verify_integrity: bool | Literal["check"] = Field(
        default=False,
        description="Whether a record fails whose key and value differ in a column; check: it is counted.",
    )


class TableSinkModel(dg.Model):
    """A Delta or Iceberg table, by path or by name."""

    path: str = Field(
        default="", description="Folder or URI; relative to where Dagster runs.", examples=["s3a://lake/orders"]
    )
    table: str = Field(default="", description="Name in a catalog, instead.", examples=["lake.orders"])
    kind: Literal["records", "columns"] = Field(
        default="records", description="records: Kafka's columns; columns: one per field of the value."
    )
    schema_evolution: Literal["none", "add", "widen"] = Field(
        default="add", description="How columns may change: none, add (new ones), widen (wider types, too)."
    )
    source_columns: Sequence[str] | None = Field(
        SourceColumns().names, description="Columns for topic, partition and offset of each row; null: none."
    )
    key: FormatModel | None = Field(default=None, description="The keys' format to write; by default as they are read.")
    value: FormatModel | None = Field(default=None, description="The values' format to write.")


class FileSinkModel(dg.Model):
    """File topics to write to."""

    path: str = Field(description="Their folder; relative to where Dagster runs.")
    group: str = Field(default="dagster_smt", description="The consumer group whose progress is kept beside them.")
    max_topics: int = Field(default=MOST_TOPICS, description="To how many topics the records of one run may go.")
    key: FormatModel | None = Field(default=None, description="The keys' format to write; by default as they are read.")
    value: FormatModel | None = Field(default=None, description="The values' format to write.")


class KafkaSinkModel(KafkaModel):
    """A Kafka cluster to write to."""

    group: str = Field(
        default="", description="The consumer group that keeps the progress; by default the asset's name."
    )
    max_topics: int = Field(default=MOST_TOPICS, description="To how many topics the records of one run may go.")
    key: FormatModel | None = Field(default=None, description="The keys' format to write; by default as they are read.")
    value: FormatModel | None = Field(default=None, description="The values' format to write.")


class SinkModel(dg.Model):
    """Where the chain writes: exactly one of these."""

    delta: TableSinkModel | None = Field(default=None, description="A Delta table.")
    iceberg: TableSinkModel | None = Field(default=None, description="An Iceberg table.")
    kafka: KafkaSinkModel | None = Field(default=None, description="Topics of a Kafka cluster; routers choose which.")
    files: FileSinkModel | None = Field(default=None, description="File topics; routers choose which.")


class LettersModel(dg.Model):
    """Where dead letters go, if not beside the topics: exactly one of these."""

    delta: TableSinkModel | None = Field(default=None, description="A Delta table.")
    iceberg: TableSinkModel | None = Field(default=None, description="An Iceberg table.")
    kafka: KafkaModel | None = Field(default=None, description="A Kafka cluster.")
    files: str | None = Field(default=None, description="A folder of file topics; relative to where Dagster runs.")


class TopicPartitionsModel(dg.Model):
    """One partition per topic, added by a sensor or by hand."""

    type: Literal["topics"] = Field(description="topics: one partition per topic.")
    name: str = Field(description="Name of the dynamic partitions.", examples=["orders_topics"])


class TimePartitionsModel(dg.Model):
    """Windows of time, by the records' timestamps."""

    type: Literal["hourly", "daily", "weekly", "monthly"] = Field(
        description="How long each is: hourly, daily, weekly or monthly."
    )
    start_date: str = Field(description="Start of the first one.", examples=["2026-01-01"])
    end_date: str | None = Field(default=None, description="End of the last one; none: they go on.")
    timezone: str | None = Field(default=None, description="Whose midnight is meant; UTC.", examples=["Europe/Berlin"])


class ChecksModel(dg.Model):
    """Which asset checks there are; see ``SmtChecks``."""

    off: Sequence[str] = Field(default=(), description="Names of checks to leave out.", examples=[["masked_values"]])
    blocking: Sequence[str] = Field(
        default=(), description="Names of checks that keep what is below from running.", examples=[["dead_mask"]]
    )
    severity: dict[str, Literal["WARN", "ERROR"]] = Field(
        default_factory=dict,
        description="WARN or ERROR by the name of a check, instead of its own.",
        examples=[{"dead_mask": "WARN"}],
    )
    max_lag: int | None = Field(
        default=None, description="How many offsets may be unread after a run; none: no such check."
    )
    failed_share: float = Field(
        default=1.0,
        description="Share of a run's or topic's records from which on dead letters are an error; 1.0: if all failed.",
        examples=[0.5],
    )
    contract: str | None = Field(
        default=None,
        description="Columns that those who read the table rely on, as a DDL text.",
        examples=["id BIGINT NOT NULL, name STRING"],
    )


def chosen(data: Mapping[str, Any], place: str) -> tuple[str, Any]:
    """The one entry that is given.

    Raises:
        ConfigError: SMT040, none or several are.
    """
    given = []
    for name, value in data.items():
        if value is not None:
            given.append((name, value))
    if len(given) != 1:
        if given:
            what = f"{' and '.join(n for n, _ in given)} are given"
        else:
            what = "nothing is given"
        raise ConfigError(Problem("SMT040", place, what, f"choose one of {', '.join(data)}"))
    return given[0]


def _kafka(data: Mapping[str, Any]) -> KafkaTopics:
    create = data.get("create")
    return KafkaTopics(**{**data, "create": NewTopics(**create) if create is not None else None})


def source_of(data: Mapping[str, Any], folder: Path) -> SourceSpec:
    """The source that a ``SourceModel`` describes; file topics are looked for from a folder."""
    name, value = chosen(data, "table.source")
    if name == "kafka":
        return _kafka(value)
    if name == "files":
        return FileTopics(folder / value)
    return TableSource(**value)


def topics_of(data: Mapping[str, Any], folder: Path) -> FileTopics | KafkaTopics:
    """As ``source_of``, where a table will not do.

    Raises:
        ConfigError: SMT038, it is a table.
    """
    source = source_of(data, folder)
    if isinstance(source, TableSource):
        hint = "name a folder of file topics, or a cluster"
        raise ConfigError(Problem("SMT038", "source.table", "a table is an asset itself, not a topic", hint))
    return source


def sink_of(data: Mapping[str, Any], folder: Path) -> Sink:
    """The sink that a ``SinkModel`` describes; schema files of its formats are looked for in a folder."""
    name, value = chosen(data, "sink")
    formats: dict[str, Any] = {
        side: format_of(value[side], folder, f"sink.{side}") for side in ("key", "value") if value[side]
    }
    rest = {}
    for key, v in value.items():
        if key not in ("key", "value"):
            rest[key] = v
    if name == "kafka":
        own = {key: rest.pop(key) for key in ("group", "max_topics")}
        return KafkaSink(_kafka(rest), **own, **formats)
    if name == "files":
        return FileTopicSink(**rest, **formats)
    return _table_sink(name, {**rest, **formats})


def letters_of(data: Mapping[str, Any] | None) -> LetterPlace | None:
    """The place that a ``LettersModel`` describes."""
    if data is None:
        return None
    name, value = chosen(data, "dead_letters")
    if name == "kafka":
        return _kafka(value)
    if name == "files":
        return FileTopics(Path(value))
    if value.get("key") or value.get("value"):
        hint = "leave key and value out"
        raise ConfigError(Problem("SMT577", "dead_letters", "dead letters are written as they were read", hint))
    return _table_sink(name, value)


def _table_sink(name: str, data: Mapping[str, Any]) -> DeltaSink | IcebergSink:
    columns = data["source_columns"]
    kind = DeltaSink if name == "delta" else IcebergSink
    return kind(**{**data, "source_columns": SourceColumns(*columns) if columns is not None else None})


def table_of(data: Mapping[str, Any], folder: Path) -> TopicTable:
    """The topic table that a ``TopicTableModel`` describes; schema files are looked for in a folder.

    Raises:
        ConfigError: SMT040, there is no source, or a statement and what it says itself; what is wrong with the rest.
    """
    statement = data["statement"]
    if data["source"] is not None:
        source = source_of(data["source"], folder)
    else:
        source = None
    if statement is not None:
        _check_said_once(data)
        if statement.endswith(".sql"):
            text = (folder / statement).read_text(encoding="utf-8")
        else:
            text = statement
        others = {name: data[name] for name in ("on_data_loss", "group")}
        if data["start"] != _START:
            others["start"] = data["start"]
        if data["key"] != _default(TopicTableModel.model_fields["key"]):
            others["key"] = format_of(data["key"], folder, "table.key")
        return TopicTable.create(text, source, **others)
    if source is None:
        hint = "give it, or a statement that has 'properties.bootstrap.servers'"
        raise ConfigError(Problem("SMT040", "table.source", "nothing is given", hint))
    formats = {side: format_of(data[side], folder, f"table.{side}") for side in ("key", "value")}
    lists = {name: tuple(data[name]) for name in ("topics", "key_fields")}
    rest = {}
    for name, value in data.items():
        if name != "statement":
            rest[name] = value
    return TopicTable(**{**rest, "source": source, **lists, **formats})


def _check_said_once(data: Mapping[str, Any]) -> None:
    """Refuse what stands beside a statement that says it."""
    fields = {}
    for name, field in TopicTableModel.model_fields.items():
        if name not in _BESIDE:
            fields[name] = field
    hint = "say it in the statement, or leave the statement out"
    problems = []
    for name, field in fields.items():
        if data[name] not in (_default(field), (), []):
            problems.append(Problem("SMT040", f"table.{name}", "stands beside a statement", hint))
    if problems:
        raise ConfigError(problems)


def _default(field: Any) -> Any:
    default = field.get_default(call_default_factory=True)
    if isinstance(default, dg.Model):
        return default.model_dump()
    return default


_BESIDE = ("statement", "source", "on_data_loss", "group", "start", "key")
"""What a statement leaves to others, or may leave to them."""
_START = "earliest"


def format_of(data: Mapping[str, Any], folder: Path, place: str) -> Format:
    """The format that a ``FormatModel`` describes.

    Raises:
        ConfigError: SMT041, a json_schema has no schema; what is wrong with the schema.
    """
    text = data["schema_"]
    if (text is None) is (data["kind"] == "json_schema"):
        if text is None:
            statement = "json_schema needs a schema"
        else:
            statement = f"{data['kind']} takes no schema"
        raise ConfigError(Problem("SMT041", place, statement, "kind: json_schema goes with schema: a DDL text or file"))
    schema = None
    if text is not None:
        file = folder / text if text.endswith(".sql") else None
        schema = parse_ddl(file.read_text(encoding="utf-8") if file else text, place=file.name if file else place)
    rest = {}
    for key, value in data.items():
        if key != "schema_":
            rest[key] = value
    return with_files(Format(**rest, schema=schema), folder)


def chain_of(value: Any, folder: Path) -> Path | Chain:
    """The chain: a file beside ``defs.yaml``, connector properties, or stages."""
    if isinstance(value, str):
        return folder / value
    return parse_chain(value, place="chain")


_TIMES: dict[str, Callable[..., dg.TimeWindowPartitionsDefinition]] = {
    "hourly": dg.HourlyPartitionsDefinition,
    "daily": dg.DailyPartitionsDefinition,
    "weekly": dg.WeeklyPartitionsDefinition,
    "monthly": dg.MonthlyPartitionsDefinition,
}


def partitions_of(data: Mapping[str, Any] | None) -> dg.PartitionsDefinition | None:
    """The partitions that a model describes."""
    if data is None:
        return None
    if data["type"] == "topics":
        return dg.DynamicPartitionsDefinition(name=data["name"])
    start = data["start_date"]
    if data["type"] == "hourly" and len(start) == len("2026-01-01"):
        start = f"{start}-00:00"  # as Dagster spells hours
    return _TIMES[data["type"]](start_date=start, end_date=data["end_date"], timezone=data["timezone"])


def _resolver(make: Callable[..., Any], model: Any, description: str, *, in_folder: bool = False) -> dg.Resolver:
    """A resolver that renders templates, and then makes plain data of them."""

    def resolve(context: dg.ResolutionContext, given: Any) -> Any:
        data = context.resolve_value(given.model_dump() if isinstance(given, dg.Model) else given)
        if in_folder:
            return make(data, context.resolve_source_relative_path("."))
        return make(data)

    return dg.Resolver(resolve, model_field_type=model, description=description)


_LETTERS = "Where dead letters go, if not beside the topics read."
ResolvedChain: TypeAlias = Annotated[
    Path | Chain,
    _resolver(
        chain_of,
        str | Sequence[dict[str, Any]] | dict[str, Any],
        "The transforms: a file of a connector's properties beside defs.yaml, those properties, or a list of stages.",
        in_folder=True,
    ),
]
ResolvedTopics: TypeAlias = Annotated[
    FileTopics | KafkaTopics, _resolver(topics_of, SourceModel, "Where the topics are.", in_folder=True)
]
ResolvedFormat: TypeAlias = Annotated[
    Format,
    _resolver(
        lambda data, folder: format_of(data, folder, "value"), FormatModel, "The values' format.", in_folder=True
    ),
]
ResolvedTable: TypeAlias = Annotated[
    TopicTable, _resolver(table_of, TopicTableModel, "What is read: topics, and their formats.", in_folder=True)
]
ResolvedSink: TypeAlias = Annotated[Sink, _resolver(sink_of, SinkModel, "Where it is written to.", in_folder=True)]
ResolvedLetters: TypeAlias = Annotated[LetterPlace | None, _resolver(letters_of, LettersModel | None, _LETTERS)]
ResolvedPartitions: TypeAlias = Annotated[
    dg.PartitionsDefinition | None,
    _resolver(
        partitions_of, TopicPartitionsModel | TimePartitionsModel | None, "Partitions: topics, or windows of time."
    ),
]
ResolvedChecks: TypeAlias = Annotated[
    SmtChecks,
    _resolver(lambda data: SmtChecks(**data) if data else SmtChecks(), ChecksModel | None, "Which checks there are."),
]
