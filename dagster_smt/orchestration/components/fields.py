"""What ``defs.yaml`` says of topics, sinks and partitions, and how it becomes this package's plain data.

The models spell options as the data classes do; each describes itself in ``dg utils inspect-component``. Values may be
templates (``{{ env('NAME') }}``); a secret is better a reference, ``${env:NAME}``, which is looked up when a client is
made.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, TypeVar, get_args

import dagster as dg
from pydantic import Field

from dagster_smt.chain import Chain, parse_chain
from dagster_smt.errors import ConfigError, Problem
from dagster_smt.model.topics.format import FormatKind
from dagster_smt.orchestration.checks import SmtChecks
from dagster_smt.orchestration.components.derived import (
    Examples,
    Spelling,
    Spellings,
    choice_of,
    instance_of,
    model_of,
    summary_of,
)
from dagster_smt.tables.ddl import parse_ddl
from dagster_smt.tables.described import with_files
from dagster_smt.tables.maintenance.options import SmtMaintenance
from dagster_smt.tables.spec import (
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
    SoftDeleteColumns,
    SourceColumns,
    SourceSpec,
    TableSink,
    TableSource,
    TopicTable,
    ValidityColumns,
)

T = TypeVar("T")
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


def _format_here(data: Mapping[str, Any], folder: Path, place: str) -> Format:
    return format_of(data, folder, place)


def _names_of(cls: Callable[..., Any]) -> Spelling:
    """Returns how a class of column names is spelled: as a list of the names."""
    return Spelling(Sequence[str], lambda names, folder, place: cls(*names), lambda default: default.names)


@dataclass(frozen=True)
class ScheduledMaintenance(SmtMaintenance):
    """A job that compacts the table and removes old versions, and its schedule.

    Attributes:
        schedule: A cron schedule of the job, switched off until somebody switches it on in the UI; none: no schedule.
    """

    schedule: str | None = None


SPELLINGS: Spellings = {
    Format: Spelling(FormatModel, _format_here, lambda default: FormatModel(kind=default.kind)),
    NewTopics: Spelling(model_of(NewTopics, {}), lambda data, folder, place: NewTopics(**data)),
    SourceColumns: _names_of(SourceColumns),
    SoftDeleteColumns: _names_of(SoftDeleteColumns),
    ValidityColumns: _names_of(ValidityColumns),
}
"""Types of options that ``defs.yaml`` spells in another way than the dataclasses."""
SINKS: Mapping[str, type[Sink]] = {
    "delta": DeltaSink,
    "iceberg": IcebergSink,
    "kafka": KafkaSink,
    "files": FileTopicSink,
}
"""The sinks by their names in ``defs.yaml``. Their options follow from the dataclasses."""
EXAMPLES: Examples = {
    KafkaTopics: {"bootstrap_servers": ["localhost:9092"]},
    TableSink: {"path": ["s3a://lake/orders"], "table": ["lake.orders"]},
    TopicTable: {"topics": [["orders"]], "pattern": ["orders\\..*"]},
    ScheduledMaintenance: {"schedule": ["0 4 * * *"], "retention_hours": [336]},
    SmtChecks: {
        "off": [["masked_values"]],
        "blocking": [["dead_mask"]],
        "severity": [{"dead_mask": "WARN"}],
        "failed_share": [0.5],
        "contract": ["id BIGINT NOT NULL, name STRING"],
    },
}
"""Examples of options, for ``dg utils inspect-component``."""


def _model(cls: type, **own: tuple[Any, Any]) -> type[dg.Model]:
    return model_of(cls, SPELLINGS, inline=(KafkaTopics,), examples=EXAMPLES, own=own)


KafkaModel = _model(KafkaTopics)
SourceModel = choice_of(
    "SourceModel",
    "Where topics are: exactly one of these.",
    {
        "kafka": (KafkaModel, "The topics of a Kafka cluster.", None),
        "files": (str, "A folder of file topics; relative to defs.yaml.", ["topics"]),
        "table": (
            dict[str, Any],
            "A table with Kafka's columns: name or path, format, columns.",
            [{"name": "lake.bronze.events"}],
        ),
    },
)
TopicTableModel = _model(
    TopicTable,
    source=(
        SourceModel | None,
        Field(default=None, description="Where the topics are; a statement may say it."),
    ),
    columns=(
        str | dict[str, Any],
        Field(
            default="",
            description="The columns of the rows: a column list, or a mapping of names to types or options.",
            examples=[{"id": "BIGINT", "at": "TIMESTAMP METADATA FROM 'timestamp'"}],
        ),
    ),
    statement=(
        str | None,
        Field(
            default=None,
            description="A CREATE TABLE of Flink or CREATE STREAM of ksqlDB, or a .sql file beside defs.yaml that "
            "holds it: it says topics, formats and columns; start and key stand here where it leaves them out.",
            examples=["orders.sql"],
        ),
    ),
)
_SINK_MODELS = {name: (_model(cls), summary_of(cls), None) for name, cls in SINKS.items()}
SinkModel = choice_of("SinkModel", "Where the chain writes: exactly one of these.", _SINK_MODELS)
LettersModel = choice_of(
    "LettersModel",
    "Where dead letters go, if not beside the topics: exactly one of these.",
    {
        "delta": _SINK_MODELS["delta"],
        "iceberg": _SINK_MODELS["iceberg"],
        "kafka": (KafkaModel, "A Kafka cluster.", None),
        "files": (str, "A folder of file topics; relative to where Dagster runs.", None),
    },
)
ChecksModel = _model(SmtChecks)
MaintenanceModel = _model(ScheduledMaintenance)


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


def _instance(cls: type[T], data: Mapping[str, Any], folder: Path, place: str) -> T:
    return instance_of(cls, data, SPELLINGS, folder, place, inline=(KafkaTopics,))


def source_of(data: Mapping[str, Any], folder: Path) -> SourceSpec:
    """The source that a ``SourceModel`` describes; file topics are looked for from a folder."""
    name, value = chosen(data, "table.source")
    if name == "kafka":
        return _instance(KafkaTopics, value, folder, "table.source")
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
    return _instance(SINKS[name], value, folder, "sink")


def letters_of(data: Mapping[str, Any] | None) -> LetterPlace | None:
    """The place that a ``LettersModel`` describes."""
    if data is None:
        return None
    name, value = chosen(data, "dead_letters")
    if name == "kafka":
        return _instance(KafkaTopics, value, Path(), "dead_letters")
    if name == "files":
        return FileTopics(Path(value))
    if value.get("key") or value.get("value"):
        hint = "leave key and value out"
        raise ConfigError(Problem("SMT577", "dead_letters", "dead letters are written as they were read", hint))
    return _instance(DeltaSink if name == "delta" else IcebergSink, value, Path(), "dead_letters")


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
    lists = {name: tuple(data[name]) for name in ("topics", "key_fields")}
    return _instance(TopicTable, {**data, **lists, "source": source}, folder, "table")


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


def maintenance_of(data: Mapping[str, Any] | None) -> ScheduledMaintenance | None:
    """Returns the maintenance that a ``MaintenanceModel`` describes."""
    if data is None:
        return None
    return _instance(ScheduledMaintenance, data, Path(), "maintenance")


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
ResolvedMaintenance: TypeAlias = Annotated[
    ScheduledMaintenance | None,
    _resolver(maintenance_of, MaintenanceModel | None, "A job that compacts the table and removes old versions."),
]
