"""Reads the definition of the asset that takes over a table. The definition is the ``defs.yaml`` that an import has
written. The file is read without Dagster.
"""

import os
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import jinja2
import yaml
from jinja2.nativetypes import NativeEnvironment

from dagster_smt.chain import parse_chain
from dagster_smt.chain.foreign_classes import absolute_entries
from dagster_smt.errors import ConfigError, Problem, UnsupportedError
from dagster_smt.model.topics.format import Format
from dagster_smt.run.run_spec import RunSpec
from dagster_smt.tables.ddl import parse_ddl
from dagster_smt.tables.kafka.spec import KafkaTopics, NewTopics
from dagster_smt.tables.schema_files import with_files
from dagster_smt.tables.sink_options import DeltaSink, IcebergSink, Sink, SourceColumns, TableSink
from dagster_smt.tables.topic_table import FileTopics, TopicTable

FILE = "defs.yaml"
_SINKS: Mapping[str, type[TableSink]] = {"delta": DeltaSink, "iceberg": IcebergSink}


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
            ConfigError: SMT792, the file is not a component of this package. If its options are wrong, the error lists
                their problems.
            UnsupportedError: SMT784, the component writes no table.
        """
        self.folder = folder
        attributes = _attributes(folder)
        self.asset = str(attributes.get("asset_key", folder.name))
        chain = attributes["chain"]
        if isinstance(chain, str):
            chain = folder / chain
        jars = absolute_entries(attributes.get("smt_jars", ()), folder)
        self.spec = RunSpec(
            name=self.asset.replace("/", "__"),
            chain=parse_chain(chain, smt_jars=jars, connect_version=attributes.get("connect_version", "")),
            table=_table(attributes["table"], folder),
            sink=_sink(attributes["sink"], folder),
            errors_tolerance=attributes.get("errors_tolerance", "none"),
        )


def _attributes(folder: Path) -> dict[str, Any]:
    file = folder / FILE
    hint = "import the connector first: dagster-smt import ADDRESS --to FOLDER; or name the folder of its component"
    try:
        data = yaml.safe_load(file.read_text(encoding="utf-8"))
    except OSError:
        raise ConfigError(Problem("SMT792", str(file), "there is no such file", hint)) from None
    except yaml.YAMLError:
        raise ConfigError(Problem("SMT792", str(file), "the file is not valid YAML", hint)) from None
    attributes = data.get("attributes") if isinstance(data, dict) else None
    if not isinstance(attributes, dict) or not {"chain", "table", "sink"} <= attributes.keys():
        raise ConfigError(Problem("SMT792", str(file), "the file is not an SmtChainComponent", hint))
    try:
        result: dict[str, Any] = _rendered(attributes)
    except jinja2.TemplateError:
        statement = "a template cannot be rendered"
        hint = "use only {{ env('NAME') }} in the component, or write the values"
        raise ConfigError(Problem("SMT792", str(file), statement, hint)) from None
    return result


def _rendered(data: Any) -> Any:
    """Returns ``data`` with its templates rendered, as Dagster would render them."""
    if isinstance(data, str):
        if "{" not in data:
            return data
        value: Any = NativeEnvironment().from_string(data).render(env=os.environ.get)
        if isinstance(value, jinja2.Undefined):
            raise jinja2.UndefinedError
        return value
    if isinstance(data, dict):
        return {name: _rendered(value) for name, value in data.items()}
    if isinstance(data, list):
        return [_rendered(item) for item in data]
    return data


def _table(data: Mapping[str, Any], folder: Path) -> TopicTable:
    options = {**data}
    (kind, value) = next(iter(options.pop("source").items()))
    if kind == "kafka":
        if isinstance(value.get("create"), dict):
            value = {**value, "create": NewTopics(**value["create"])}
        source: KafkaTopics | FileTopics = KafkaTopics(**value)
    else:
        source = FileTopics(folder / str(value))
    for side in ("key", "value"):
        if side in options:
            options[side] = _format(options[side], folder)
    statement = options.pop("statement", None)
    if statement is not None:
        text = (folder / statement).read_text(encoding="utf-8") if statement.endswith(".sql") else statement
        return TopicTable.create(text, source, **options)
    for name in ("topics", "key_fields"):
        if name in options:
            options[name] = tuple(options[name])
    return TopicTable(source, **options)


def _format(data: Mapping[str, Any], folder: Path) -> Format:
    options = {**data}
    text = options.pop("schema", None)
    schema = None
    if text is not None:
        is_file = text.endswith(".sql")
        schema = parse_ddl((folder / text).read_text(encoding="utf-8") if is_file else text, place=text)
    return with_files(Format(**options, schema=schema), folder)


def _sink(data: Mapping[str, Any], folder: Path) -> Sink:
    (kind, options) = next(iter(data.items()))
    if kind not in _SINKS:
        hint = "a component that writes topics starts at the connector's offsets with table.start: group:connect-NAME"
        raise UnsupportedError(Problem("SMT784", str(folder / FILE), f"the component writes no table: {kind}", hint))
    known = set()
    for field in fields(_SINKS[kind]):
        known.add(field.name)
    if strange := sorted(options.keys() - known):
        raise ConfigError(Problem("SMT792", f"sink.{kind}", f"unknown options: {', '.join(strange)}"))
    options = {**options}
    if "source_columns" in options:
        options["source_columns"] = SourceColumns(*options["source_columns"])
    for side in ("key", "value"):
        if side in options:
            options[side] = _format(options[side], folder)
    return _SINKS[kind](**options)
