"""Declares the pydantic models of topics, sinks and partitions in ``defs.yaml``. Functions convert each model into a
dict, and the dict into a dataclass of this package, such as ``DeltaSink``.

The models have the options of the dataclasses, and ``dg utils inspect-component`` shows their descriptions. Values may
be templates (``{{ env('NAME') }}``). For a secret, use a reference, ``${env:NAME}``, which is resolved when a client is
created.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, TypeVar, get_args

import dagster as dg
from pydantic import Field

from dagster_smt.chain import Chain, parse_chain
from dagster_smt.chain.classes import UNKNOWN_CLASS
from dagster_smt.chain.foreign_classes import absolute_entries
from dagster_smt.errors import ConfigError, Problem
from dagster_smt.lineage.open_lineage import OpenLineage
from dagster_smt.model.topics.format import Format, FormatKind
from dagster_smt.model.topics.keyed import SoftDeleteColumns, ValidityColumns
from dagster_smt.orchestration.checks import SmtChecks
from dagster_smt.orchestration.components.dataclass_models import (
    ConfigSpelling,
    Examples,
    Spellings,
    choice_of,
    instance_of,
    model_of,
)
from dagster_smt.orchestration.docstrings import summary_of
from dagster_smt.privacy.policy import Policy, policy_of, read_policy
from dagster_smt.tables.ddl import parse_ddl
from dagster_smt.tables.erasure.spec import SmtErasure
from dagster_smt.tables.kafka.spec import KafkaTopics, NewTopics
from dagster_smt.tables.maintenance.maintenance_options import SmtMaintenance
from dagster_smt.tables.schema_files import with_files
from dagster_smt.tables.sink_options import (
    DeltaSink,
    FileTopicSink,
    IcebergSink,
    KafkaSink,
    LetterPlace,
    Sink,
    SourceColumns,
    TableSink,
)
from dagster_smt.tables.topic_table import FileTopics, SourceSpec, TableSource, TopicTable

T = TypeVar("T")
_KINDS = [kind for kinds in get_args(FormatKind) for kind in get_args(kinds)]


class FormatModel(dg.Model):
    """The format of keys, or of values."""

    kind: FormatKind = Field(default="json", description=f"The encoding: {', '.join(_KINDS)}.")
    schema_: str | None = Field(
        default=None, alias="schema", description="For json_schema: a DDL string, or a .sql file next to defs.yaml."
    )
    replace_null_with_default: bool = Field(
        default=True, description="True: a null becomes the default of its schema, as in Connect's converters."
    )
    decimal_format: Literal["BASE64", "NUMERIC"] = Field(
        default="BASE64", description="The form of decimals in JSON: BASE64, or NUMERIC."
    )
    options: dict[str, str] = Field(
        default_factory=dict,
        description="Options of the format, named as in Flink: null-literal, url, schema; for json, arrays-as-rows.",
    )


def format_of(data: Mapping[str, Any], folder: Path, place: str) -> Format:
    """Returns the format that ``data``, a ``FormatModel``, describes.

    Raises:
        ConfigError: SMT041, the format ``json_schema`` has no schema, or a different format has a schema. If the schema
            is wrong, the error lists its problems.
    """
    text = data["schema_"]
    if (text is None) is (data["kind"] == "json_schema"):
        if text is None:
            statement = "json_schema needs a schema"
        else:
            statement = f"{data['kind']} takes no schema"
        raise ConfigError(
            Problem("SMT041", place, statement, "kind: json_schema goes with schema: a DDL string or file")
        )
    schema = None
    if text is not None:
        file = folder / text if text.endswith(".sql") else None
        schema = parse_ddl(file.read_text(encoding="utf-8") if file else text, place=file.name if file else place)
    rest = {}
    for key, value in data.items():
        if key != "schema_":
            rest[key] = value
    return with_files(Format(**rest, schema=schema), folder)


def _names_of(cls: Callable[..., Any]) -> ConfigSpelling:
    """Returns the ``ConfigSpelling`` of ``cls``, a class whose objects contain only column names, such as
    ``SourceColumns``. In ``defs.yaml``, users write such an object as a list of names.
    """
    return ConfigSpelling(Sequence[str], lambda names, folder, place: cls(*names), lambda default: default.names)


@dataclass(frozen=True)
class ScheduledMaintenance(SmtMaintenance):
    """A job that compacts a table and removes old versions, with an optional schedule.

    Attributes:
        schedule: A cron schedule for the job; by default there is none. The schedule stays off until somebody switches
            it on in the UI.
    """

    schedule: str | None = None


SPELLINGS: Spellings = {
    Format: ConfigSpelling(FormatModel, format_of, lambda default: FormatModel(kind=default.kind)),
    NewTopics: ConfigSpelling(model_of(NewTopics, {}), lambda data, folder, place: NewTopics(**data)),
    SourceColumns: _names_of(SourceColumns),
    SoftDeleteColumns: _names_of(SoftDeleteColumns),
    ValidityColumns: _names_of(ValidityColumns),
}
"""Maps a type to a ``ConfigSpelling`` if users write its values differently in ``defs.yaml`` than in Python. For
example, users write ``SourceColumns`` as a list of names.
"""
SINKS: Mapping[str, type[Sink]] = {
    "delta": DeltaSink,
    "iceberg": IcebergSink,
    "kafka": KafkaSink,
    "files": FileTopicSink,
}
"""Maps the name of each sink in ``defs.yaml`` to the dataclass from which the sink's options are derived."""
EXAMPLES: Examples = {
    KafkaTopics: {"bootstrap_servers": ["localhost:9092"]},
    TableSink: {
        "path": ["s3a://lake/orders"],
        "table": ["lake.orders"],
        "mode": ["upsert"],
        "keys": [["id"]],
        "sequence_by": ["__source_lsn"],
    },
    TopicTable: {"topics": [["orders"]], "pattern": ["orders\\..*"]},
    SmtErasure: {
        "key_ring": [["e1=${env:ERASURE_KEY}"]],
        "records": [["value.user_id"]],
        "columns": [["user_id"]],
        "kind": ["customer"],
    },
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
    "The source of the topics: exactly one of these.",
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
        Field(default=None, description="The source of the topics; a statement may contain it."),
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
            description="A CREATE TABLE statement of Flink or a CREATE STREAM statement of ksqlDB, or a .sql file next "
            "to defs.yaml with the statement. It declares topics, formats and columns. Set start and key here only if "
            "the statement does not.",
            examples=["orders.sql"],
        ),
    ),
)
_SINK_MODELS = {name: (_model(cls), summary_of(cls), None) for name, cls in SINKS.items()}
SinkModel = choice_of("SinkModel", "The sink of the chain: exactly one of these.", _SINK_MODELS)
LettersModel = choice_of(
    "LettersModel",
    "The destination of dead letters, if it differs from that of the topics: exactly one of these.",
    {
        "delta": _SINK_MODELS["delta"],
        "iceberg": _SINK_MODELS["iceberg"],
        "kafka": (KafkaModel, "A Kafka cluster.", None),
        "files": (str, "A folder of file topics; relative to where Dagster runs.", None),
    },
)
ChecksModel = _model(SmtChecks)
MaintenanceModel = _model(ScheduledMaintenance)
LineageModel = _model(OpenLineage)
RegisterModel = choice_of(
    "RegisterModel",
    "The table of erased people: exactly one of these.",
    {name: _SINK_MODELS[name] for name in ("delta", "iceberg")},
)
ErasureModel = _model(
    SmtErasure,
    register_table=(RegisterModel, Field(description="The table of erased people, a Delta or Iceberg table.")),
)


class TopicPartitionsModel(dg.Model):
    """One partition for each topic. A sensor or a user adds the partitions."""

    type: Literal["topics"] = Field(description="topics: one partition per topic.")
    name: str = Field(description="Name of the dynamic partitions.", examples=["orders_topics"])


class TimePartitionsModel(dg.Model):
    """Time partitions, which divide records by their timestamps."""

    type: Literal["hourly", "daily", "weekly", "monthly"] = Field(
        description="The length of a partition: hourly, daily, weekly or monthly."
    )
    start_date: str = Field(description="Start of the first partition.", examples=["2026-01-01"])
    end_date: str | None = Field(default=None, description="End of the last partition; none: no end.")
    timezone: str | None = Field(
        default=None, description="The time zone of the partitions; by default UTC.", examples=["Europe/Berlin"]
    )


def chosen(data: Mapping[str, Any], place: str) -> tuple[str, Any]:
    """Returns the name and the value of the only option that is set in ``data``. For ``{"kafka": {…}, "files": None}``,
    this is ``("kafka", {…})``.

    Raises:
        ConfigError: SMT040, none or several of the options are set.
    """
    options = []
    for name, value in data.items():
        if value is not None:
            options.append((name, value))
    if len(options) != 1:
        if options:
            statement = f"{' and '.join(name for name, _ in options)} are given"
        else:
            statement = "no option is set"
        raise ConfigError(Problem("SMT040", place, statement, f"choose one of {', '.join(data)}"))
    return options[0]


def _instance(cls: type[T], data: Mapping[str, Any], folder: Path, place: str) -> T:
    return instance_of(cls, data, SPELLINGS, folder, place, inline=(KafkaTopics,))


def source_of(data: Mapping[str, Any], folder: Path) -> SourceSpec:
    """Returns the source that ``data``, a dumped ``SourceModel``, describes. A path of file topics is relative to
    ``folder``.
    """
    name, value = chosen(data, "table.source")
    if name == "kafka":
        return _instance(KafkaTopics, value, folder, "table.source")
    if name == "files":
        return FileTopics(folder / value)
    return TableSource(**value)


def topics_of(data: Mapping[str, Any], folder: Path) -> FileTopics | KafkaTopics:
    """Returns the source that ``data``, a dumped ``SourceModel``, describes. The source must consist of topics.

    Raises:
        ConfigError: SMT038, the source is a table.
    """
    source = source_of(data, folder)
    if isinstance(source, TableSource):
        hint = "name a folder of file topics, or a cluster"
        raise ConfigError(Problem("SMT038", "source.table", "a table is an asset itself, not a topic", hint))
    return source


def sink_of(data: Mapping[str, Any], folder: Path) -> Sink:
    """Returns the sink that ``data``, a dumped ``SinkModel``, describes. Paths of schema files are relative to
    ``folder``.
    """
    name, value = chosen(data, "sink")
    return _instance(SINKS[name], value, folder, "sink")


def letters_of(data: Mapping[str, Any] | None) -> LetterPlace | None:
    """Returns the destination of dead letters that ``data``, a dumped ``LettersModel``, describes; None without
    data.
    """
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
    """Returns the topic table that ``data``, a dumped ``TopicTableModel``, describes. Paths of schema files are
    relative to ``folder``.

    Raises:
        ConfigError: SMT040, if there is no source, or if ``data`` has a statement (``CREATE TABLE``) and also an option
            that belongs in the statement. If options are wrong, the error lists all of their problems.
    """
    statement = data["statement"]
    if data["source"] is not None:
        source = source_of(data["source"], folder)
    else:
        source = None
    if statement is not None:
        _refuse_repetitions(data)
        if statement.endswith(".sql"):
            text = (folder / statement).read_text(encoding="utf-8")
        else:
            text = statement
        others = {}
        for name in ("on_data_loss", "group"):
            others[name] = data[name]
        # a default is not passed on, so that the start and the key of the statement apply
        if data["start"] != _START:
            others["start"] = data["start"]
        if data["key"] != _default(TopicTableModel.model_fields["key"]):
            others["key"] = format_of(data["key"], folder, "table.key")
        return TopicTable.create(text, source, **others)
    if source is None:
        hint = "set source, or add 'properties.bootstrap.servers' to a statement"
        raise ConfigError(Problem("SMT040", "table.source", "no option is set", hint))
    lists = {}
    for name in ("topics", "key_fields", "primary_key", "partitioned_by"):
        lists[name] = tuple(data[name])
    return _instance(TopicTable, {**data, **lists, "source": source}, folder, "table")


def _refuse_repetitions(data: Mapping[str, Any]) -> None:
    """Raises an error if ``data``, which contains a ``CREATE TABLE`` statement, also sets an option that belongs in
    the statement.

    Raises:
        ConfigError: SMT040, for each of these options.
    """
    hint = "put the option into the statement, or remove the statement"
    problems = []
    for name, field in TopicTableModel.model_fields.items():
        if name not in _NOT_IN_STATEMENTS and data[name] not in (_default(field), (), []):
            problems.append(Problem("SMT040", f"table.{name}", "cannot be set together with a statement", hint))
    if problems:
        raise ConfigError(problems)


def _default(field: Any) -> Any:
    default = field.get_default(call_default_factory=True)
    if isinstance(default, dg.Model):
        return default.model_dump()
    return default


_NOT_IN_STATEMENTS = ("statement", "source", "on_data_loss", "group", "start", "key")
"""The options of a topic table that ``defs.yaml`` may set in addition to a ``CREATE TABLE`` statement."""
_START = "earliest"


def chain_of(value: Any, folder: Path) -> Any:
    """Returns the chain in ``value``, which is the name of a file next to ``defs.yaml``, connector properties, or
    stages.

    A file name becomes a path, and the component reads the file later. Properties and stages are parsed. There is one
    exception: if this package does not know a class of the chain, and the chain has no other problem, ``value`` is
    returned unparsed. The class may be in a jar, and only the component knows the jars.
    """
    if isinstance(value, str):
        return folder / value
    try:
        return parse_chain(value, place="chain")
    except ConfigError as error:
        if all(problem.code == UNKNOWN_CLASS for problem in error.problems):
            return value
        raise


def policy_from(data: str | Mapping[str, Any] | None, folder: Path) -> Policy | None:
    """Returns the policy in ``data``, which is the path or the contents of a policy file; None without data. Paths are
    relative to ``folder``, the folder of ``defs.yaml``.
    """
    if data is None:
        return None
    if isinstance(data, str):
        return read_policy(folder / data)
    return policy_of(data, folder)


def checks_from(data: Mapping[str, Any] | None, folder: Path) -> SmtChecks:
    """Returns the asset checks that ``data``, a dumped ``ChecksModel``, describes. The connector's path is relative to
    ``folder``, the folder of ``defs.yaml``.
    """
    if not data:
        return SmtChecks()
    connector = data.get("connector")
    if connector is None:
        return SmtChecks(**data)
    return SmtChecks(**{**data, "connector": str(folder / connector)})


_TIMES: dict[str, Callable[..., dg.TimeWindowPartitionsDefinition]] = {
    "hourly": dg.HourlyPartitionsDefinition,
    "daily": dg.DailyPartitionsDefinition,
    "weekly": dg.WeeklyPartitionsDefinition,
    "monthly": dg.MonthlyPartitionsDefinition,
}


def partitions_of(data: Mapping[str, Any] | None) -> dg.PartitionsDefinition | None:
    """Returns the partitions that ``data``, a dumped model, describes; None without data."""
    if data is None:
        return None
    if data["type"] == "topics":
        return dg.DynamicPartitionsDefinition(name=data["name"])
    start = data["start_date"]
    if data["type"] == "hourly" and len(start) == len("2026-01-01"):
        start = f"{start}-00:00"  # Dagster spells hours in this way
    return _TIMES[data["type"]](start_date=start, end_date=data["end_date"], timezone=data["timezone"])


def maintenance_of(data: Mapping[str, Any] | None) -> ScheduledMaintenance | None:
    """Returns the maintenance that ``data``, a dumped ``MaintenanceModel``, describes; None without data."""
    if data is None:
        return None
    return _instance(ScheduledMaintenance, data, Path(), "maintenance")


def erasure_of(data: Mapping[str, Any] | None) -> SmtErasure | None:
    """Returns the erasure that ``data``, a dumped ``ErasureModel``, describes; None without data."""
    if data is None:
        return None
    name, value = chosen(data["register_table"], "erasure.register_table")
    register = _instance(DeltaSink if name == "delta" else IcebergSink, value, Path(), "erasure.register_table")
    return _instance(SmtErasure, {**data, "register_table": register}, Path(), "erasure")


def _resolver(make: Callable[..., Any], model: Any, description: str, *, in_folder: bool = False) -> dg.Resolver:
    """Returns a Dagster resolver for values of ``model`` in ``defs.yaml``. The resolver renders templates, such as
    ``{{ env('NAME') }}``. Then it passes the resulting dict to ``make``, which returns the final value.
    """

    def resolve(context: dg.ResolutionContext, value: Any) -> Any:
        # Dagster renders no templates in the data of a custom resolver
        data = context.resolve_value(value.model_dump() if isinstance(value, dg.Model) else value)
        if in_folder:
            return make(data, context.resolve_source_relative_path("."))
        return make(data)

    return dg.Resolver(resolve, model_field_type=model, description=description)


_LETTERS = "The destination of dead letters, if it differs from that of the topics."
ResolvedChain: TypeAlias = Annotated[
    Path | Chain | Mapping[str, Any] | Sequence[Mapping[str, Any]],
    _resolver(
        chain_of,
        str | Sequence[dict[str, Any]] | dict[str, Any],
        "The transforms: a file of a connector's properties next to defs.yaml, the properties, or a list of stages.",
        in_folder=True,
    ),
]
ResolvedJars: TypeAlias = Annotated[
    Sequence[str],
    _resolver(
        absolute_entries,
        Sequence[str],
        "Jars for classes of the chain that this package does not have: files, folders as in plugin.path, relative to "
        "defs.yaml, and Maven coordinates.",
        in_folder=True,
    ),
]
ResolvedPolicy: TypeAlias = Annotated[
    Policy | None,
    _resolver(
        policy_from,
        str | dict[str, Any] | None,
        "What becomes of fields by their tags: a policy file next to defs.yaml, or its contents.",
        in_folder=True,
    ),
]
ResolvedTopics: TypeAlias = Annotated[
    FileTopics | KafkaTopics, _resolver(topics_of, SourceModel, "The place of the topics.", in_folder=True)
]
ResolvedFormat: TypeAlias = Annotated[
    Format,
    _resolver(
        lambda data, folder: format_of(data, folder, "value"), FormatModel, "The values' format.", in_folder=True
    ),
]
ResolvedTable: TypeAlias = Annotated[
    TopicTable, _resolver(table_of, TopicTableModel, "The input: topics, and their formats.", in_folder=True)
]
ResolvedSink: TypeAlias = Annotated[
    Sink, _resolver(sink_of, SinkModel, "The output: a table, or topics.", in_folder=True)
]
ResolvedLetters: TypeAlias = Annotated[LetterPlace | None, _resolver(letters_of, LettersModel | None, _LETTERS)]
ResolvedPartitions: TypeAlias = Annotated[
    dg.PartitionsDefinition | None,
    _resolver(
        partitions_of, TopicPartitionsModel | TimePartitionsModel | None, "Partitions: topics, or windows of time."
    ),
]
ResolvedChecks: TypeAlias = Annotated[
    SmtChecks,
    _resolver(checks_from, ChecksModel | None, "The asset checks.", in_folder=True),
]
ResolvedLineage: TypeAlias = Annotated[
    OpenLineage | None,
    _resolver(
        lambda data: OpenLineage(**data) if data else None,
        LineageModel | None,
        "Where runs send OpenLineage events.",
    ),
]
ResolvedErasure: TypeAlias = Annotated[
    SmtErasure | None,
    _resolver(
        erasure_of,
        ErasureModel | None,
        "How records and rows name a person, and the register of erased people; adds an asset that erases people.",
    ),
]
ResolvedMaintenance: TypeAlias = Annotated[
    ScheduledMaintenance | None,
    _resolver(maintenance_of, MaintenanceModel | None, "A job that compacts the table and removes old versions."),
]
