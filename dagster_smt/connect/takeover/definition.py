"""Reads the definition of the asset that takes over a table. The definition is the ``defs.yaml`` that an import has
written. The file is read without Dagster.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, TypeVar

import jinja2
import yaml
from jinja2.nativetypes import NativeEnvironment

from dagster_smt.chain import Chain, parse_chain
from dagster_smt.chain.foreign_classes import absolute_entries
from dagster_smt.errors import ConfigError, Problem, UnsupportedError
from dagster_smt.model.topics.format import Format
from dagster_smt.model.topics.keyed import SoftDeleteColumns, ValidityColumns
from dagster_smt.run.run_spec import RunSpec
from dagster_smt.tables.ddl import parse_ddl
from dagster_smt.tables.kafka.spec import KafkaTopics, NewTopics
from dagster_smt.tables.schema_files import with_files
from dagster_smt.tables.sink_of_statement import sink_of_statement
from dagster_smt.tables.sink_options import DeltaSink, IcebergSink, Sink, SourceColumns, TableSink
from dagster_smt.tables.topic_table import FileTopics, SourceSpec, TableSource, TopicTable

FILE = "defs.yaml"
HONOURED = (
    "asset_key",
    "chain",
    "table",
    "sink",
    "errors_tolerance",
    "dead_letters",
    "dead_letter_topic",
    "dead_paths",
    "smt_jars",
    "connect_version",
    "policy",
)
"""The attributes of the component that determine the chain and the rows. The other attributes are not even rendered:
their templates may contain names that only Dagster knows, such as ``data``.
"""
_SINKS: Mapping[str, type[TableSink]] = {"delta": DeltaSink, "iceberg": IcebergSink}
_COLUMN_NAMES = {
    "source_columns": SourceColumns,
    "soft_delete_columns": SoftDeleteColumns,
    "validity_columns": ValidityColumns,
}
"""Maps each option of a sink that is a list of column names to its class."""
_ONE_OF = {"errors_tolerance": ("none", "all"), "dead_paths": ("error", "warn")}
"""Maps attributes that have a fixed set of values to these values."""
_LISTS = ("topics", "key_fields", "primary_key", "partitioned_by")
_T = TypeVar("_T")


class Definition:
    """The definition of the asset that takes over a table: the file ``defs.yaml`` in a component's folder.

    Attributes:
        folder: The folder.
        asset: The key of the asset, with slashes.
        spec: The run of the asset.
    """

    def __init__(self, folder: Path):
        """Reads the file ``defs.yaml`` in ``folder``.

        Raises:
            ConfigError: SMT792, the file is not a component of this package, has an unknown option, or names an
                environment variable that is not set. If the values of its options are wrong, the error lists their
                problems.
            UnsupportedError: SMT784, the component writes no table.
            DataError, EngineError: The policy of the component needs a schema registry that does not respond.
        """
        self.folder = folder
        attributes = _attributes(folder)
        self.asset = str(attributes.get("asset_key", folder.name))
        table = _table(attributes["table"], folder)
        sink = _sink(attributes["sink"], folder)
        self.spec = RunSpec(
            name=self.asset.replace("/", "__"),
            chain=_chain(attributes, folder, table, sink),
            table=table,
            sink=sink,
            errors_tolerance=attributes.get("errors_tolerance", "none"),
        )


def _attributes(folder: Path) -> dict[str, Any]:
    """Returns the attributes in ``defs.yaml`` that determine the chain and the rows, with rendered templates."""
    file = folder / FILE
    hint = "import the connector first: dagster-smt import ADDRESS --to FOLDER; or name the folder of its component"
    try:
        data = yaml.safe_load(file.read_text(encoding="utf-8"))
    except OSError:
        raise ConfigError(Problem("SMT792", str(file), "there is no such file", hint)) from None
    except (yaml.YAMLError, UnicodeDecodeError):
        raise ConfigError(Problem("SMT792", str(file), "the file is not valid YAML", hint)) from None
    attributes = data.get("attributes") if isinstance(data, dict) else None
    honoured = {}
    if isinstance(attributes, dict):
        for name in HONOURED:
            if name in attributes:
                honoured[name] = attributes[name]
    result: dict[str, Any] = {}
    try:
        for name, value in _rendered(honoured, _EnvironmentVariables(str(file))).items():
            # null is the same as an attribute that is not set; a template such as {{ env.NAME }} may also return it
            if value is not None:
                result[name] = value
    # an expression of a template may be wrong in any way, such as {{ env.NAME + '/x' }} without the variable
    except (jinja2.TemplateError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        statement = "a template cannot be rendered"
        hint = "use only {{ env('NAME') }} or {{ env.NAME }} in the component, or write the values"
        raise ConfigError(Problem("SMT792", str(file), statement, hint)) from None
    if not {"chain", "table", "sink"} <= result.keys():
        raise ConfigError(Problem("SMT792", str(file), "the file is not an SmtChainComponent", hint))
    for name, values in _ONE_OF.items():
        if name in result and result[name] not in values:
            choice = f"write {' or '.join(values)}"
            raise ConfigError(Problem("SMT792", name, "the value is not one of those that the option has", choice))
    return result


class _EnvironmentVariables:
    """The object ``env`` in templates, which has two forms as in Dagster. If the variable is not set,
    ``env('NAME', 'x')`` returns the default ``x``, ``env('NAME')`` fails, and ``env.NAME`` is None.

    Args:
        place: The file, for messages.
    """

    def __init__(self, place: str):
        self._place = place

    def __call__(self, name: str, default: Any = ...) -> Any:
        value = os.environ.get(name, default)
        if value is ...:
            hint = "set the variable, or write a default: {{ env('NAME', 'default') }}"
            raise ConfigError(Problem("SMT792", self._place, f"the environment variable {name} is not set", hint))
        return value

    def __getattr__(self, name: str) -> str | None:
        # Jinja asks each function of a template for attributes such as jinja_pass_arg
        if name.startswith("jinja"):
            raise AttributeError(name)
        return os.environ.get(name)


def _rendered(data: Any, variables: _EnvironmentVariables) -> Any:
    """Returns ``data`` with its templates rendered, as Dagster would render them."""
    if isinstance(data, str):
        if "{" not in data:
            return data
        # with Jinja's default, an unknown name would become an empty text
        environment = NativeEnvironment(undefined=jinja2.StrictUndefined)
        value: Any = environment.from_string(data).render(env=variables)
        if isinstance(value, jinja2.Undefined):
            raise jinja2.UndefinedError
        return value
    if isinstance(data, dict):
        return {name: _rendered(value, variables) for name, value in data.items()}
    if isinstance(data, list):
        return [_rendered(item, variables) for item in data]
    return data


def _chain(attributes: Mapping[str, Any], folder: Path, table: TopicTable, sink: Sink) -> Chain:
    """Returns the chain of the asset: the stages of its policy, followed by the chain of the definition."""
    source = attributes["chain"]
    if isinstance(source, str):
        source = folder / source
    jars = absolute_entries(_list(attributes.get("smt_jars", ()), "smt_jars"), folder)
    chain = parse_chain(source, smt_jars=jars, connect_version=attributes.get("connect_version", ""))
    chain = replace(chain, dead_paths=attributes.get("dead_paths") or chain.dead_paths)
    if "policy" not in attributes:
        return chain
    from dagster_smt.connect.takeover.definition_policy import under_policy_of  # few components have a policy

    if not isinstance(attributes["policy"], str | dict):
        hint = "write the name of a policy file, or the policy itself"
        raise ConfigError(Problem("SMT792", "policy", "the option is not a policy", hint))
    has_letters = bool(attributes.get("dead_letters") or attributes.get("dead_letter_topic"))
    sink = sink_of_statement(sink, table)
    return under_policy_of(attributes["policy"], folder, chain, table, sink, has_letters=has_letters)


def _table(data: Any, folder: Path) -> TopicTable:
    options = {**_checked(data, {*_names(TopicTable), "statement"}, "table")}
    source = options.pop("source", None)
    if source is not None:
        options["source"] = _source(source, folder)
    for side in ("key", "value"):
        if side in options:
            options[side] = _format(options[side], folder, f"table.{side}")
    for name in _LISTS:
        if name in options:
            options[name] = _list(options[name], f"table.{name}")
    statement = options.pop("statement", None)
    if statement is None:
        return _built(TopicTable, options, "table")
    with _types_checked("table"):
        text = (folder / statement).read_text(encoding="utf-8") if statement.endswith(".sql") else statement
        return TopicTable.create(text, **options)


def _source(data: Any, folder: Path) -> SourceSpec:
    (kind, value) = _choice(data, "table.source")
    if kind == "kafka":
        value = {**_checked(value, _names(KafkaTopics), "table.source.kafka")}
        if isinstance(value.get("create"), dict):
            value["create"] = _built(NewTopics, value["create"], "table.source.kafka.create")
        return _built(KafkaTopics, value, "table.source.kafka")
    if kind == "table":
        return _built(TableSource, value, "table.source.table")
    return FileTopics(folder / str(value))


def _format(data: Any, folder: Path, place: str) -> Format:
    options = {**_checked(data, _names(Format), place)}
    text = options.pop("schema", None)
    schema = None
    if text is not None:
        with _types_checked(place):
            is_file = text.endswith(".sql")
            schema = parse_ddl((folder / text).read_text(encoding="utf-8") if is_file else text, place=text)
    return with_files(_built(Format, {**options, "schema": schema}, place), folder)


def _sink(data: Any, folder: Path) -> Sink:
    (kind, value) = _choice(data, "sink")
    if kind not in _SINKS:
        hint = "a component that writes topics starts at the connector's offsets with table.start: group:connect-NAME"
        raise UnsupportedError(Problem("SMT784", str(folder / FILE), f"the component writes no table: {kind}", hint))
    place = f"sink.{kind}"
    options = {**_checked(value, _names(_SINKS[kind]), place)}
    for name, of_names in _COLUMN_NAMES.items():
        if options.get(name) is not None:
            names = _list(options[name], f"{place}.{name}")
            with _types_checked(f"{place}.{name}"):
                options[name] = of_names(*names)
    for side in ("key", "value"):
        if options.get(side) is not None:
            options[side] = _format(options[side], folder, f"{place}.{side}")
    return _built(_SINKS[kind], options, place)


def _choice(data: Any, place: str) -> tuple[str, Any]:
    """Returns the name and the value of the only option in ``data``."""
    chosen = []
    if isinstance(data, dict):
        for name, value in data.items():
            if value is not None:
                chosen.append((name, value))
    if len(chosen) != 1:
        hint = "set the option that dg utils inspect-component lists for your place"
        raise ConfigError(Problem("SMT792", place, "exactly one option has to be set", hint))
    return chosen[0]


def _names(cls: type) -> set[str]:
    """Returns the names of the options of the dataclass ``cls``."""
    names = set()
    for field in fields(cls):
        names.add(field.name)
    return names


def _checked(data: Any, names: set[str], place: str) -> Mapping[str, Any]:
    """Returns ``data``, which must be a mapping whose keys are in ``names``.

    Raises:
        ConfigError: SMT792.
    """
    if not isinstance(data, dict):
        raise ConfigError(Problem("SMT792", place, "the options are not a mapping", "write NAME: VALUE"))
    if strange := sorted(map(str, data.keys() - names)):
        hint = "correct or remove them; dg utils inspect-component lists the options"
        raise ConfigError(Problem("SMT792", place, f"unknown options: {', '.join(strange)}", hint))
    return data


def _built(cls: type[_T], data: Any, place: str) -> _T:
    """Returns an object of the dataclass ``cls`` with the options ``data``.

    Raises:
        ConfigError: SMT792, an option is unknown or missing, or its value has another type. If a value is wrong, the
            error lists its problems.
    """
    options = _checked(data, _names(cls), place)
    with _types_checked(place):
        return cls(**options)


def _list(data: Any, place: str) -> tuple[Any, ...]:
    """Returns the items of ``data``, which must be a list.

    Raises:
        ConfigError: SMT792.
    """
    # a text is no list: the topics of ``topics: orders`` would be o, r, d and so on
    if not isinstance(data, list | tuple):
        raise ConfigError(Problem("SMT792", place, "the option is not a list", "write [ITEM, ITEM]"))
    return tuple(data)


@contextmanager
def _types_checked(place: str) -> Iterator[None]:
    """Raises a ``ConfigError`` (SMT792) if the block fails because an option is missing or its value has another type.
    Python's messages are not shown, because they may quote the value.
    """
    try:
        yield
    except (TypeError, AttributeError, ValueError):
        hint = "compare the options with those that dg utils inspect-component lists"
        raise ConfigError(Problem("SMT792", place, "an option is missing, or has another type", hint)) from None
