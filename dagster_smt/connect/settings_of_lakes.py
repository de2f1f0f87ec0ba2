"""Sinks into Iceberg, Delta and Snowflake: tables, keys, partitions, properties, commits."""

import re

from dagster_smt.connect.connectors import Connector
from dagster_smt.connect.settings import (
    KEYLESS,
    ONE_TABLE,
    TableSettings,
    every,
    is_true,
    mapped_table,
    names_in,
    number,
)
from dagster_smt.connect.settings_of_files import nulls

_TABLES = "iceberg.tables"
_COMMIT = "iceberg.control.commit.interval-ms"
_UPSERT = f"{_TABLES}.upsert-mode-enabled"
_IDS = f"{_TABLES}.default-id-columns"
_PARTITION = f"{_TABLES}.default-partition-by"

_PROPERTIES = f"{_TABLES}.auto-create-props."
_OUTSIDE_PARENTHESES = re.compile(r",(?![^()]*\))")
_CALL = re.compile(r"(\w+)\((.+)\)")
_TIMES = ("year", "month", "day", "hour")
_OWN = {
    "format-version": "the sink chooses the version",
    "sort-order": "cluster_by of the sink",
}
"""Properties that this package sets itself."""


def iceberg_table(connector: Connector) -> str:
    """Returns the table of an Iceberg sink; empty for one with several tables, or a route."""
    tables = names_in(connector.config.get(_TABLES, ""))
    if len(tables) == 1 and not is_true(connector, f"{_TABLES}.dynamic-enabled"):
        return tables[0]
    return ""


def iceberg_settings(connector: Connector) -> TableSettings:
    """Returns the settings for the Iceberg sinks of Tabular and Apache."""
    settings, config, table = TableSettings(), connector.config, iceberg_table(connector)
    if table:
        settings.say("connector.class", "used", "an Iceberg table")
        settings.say(_TABLES, "used", "sink.iceberg.table: Spark looks it up in its default catalog")
    else:
        settings.say("connector.class", "not done", "the option names no table, or several: the component writes one")
        settings.say(_TABLES, "not done", ONE_TABLE)
    own = f"iceberg.table.{table}."
    _keys(connector, settings, own)
    for option in (f"{own}partition-by", _PARTITION):
        if config.get(option, "").strip() and "partition_by" not in settings.sink:
            entries = [_partition(text.strip()) for text in _OUTSIDE_PARENTHESES.split(config[option])]
            settings.set(option, "partition_by", entries)
    _evolution(connector, settings)
    properties = {}
    for option, value in config.items():
        name = option.removeprefix(_PROPERTIES)
        if not option.startswith(_PROPERTIES):
            continue
        if name in _OWN:
            settings.say(option, "changed", _OWN[name])
        elif name == "write.target-file-size-bytes":
            settings.sink["target_file_size"] = int(value) if value.strip().isdecimal() else value.strip()
            settings.say(option, "used", "sink.target_file_size")
        else:
            properties[name] = value
            settings.say(option, "used", "sink.properties")
    if properties:
        settings.sink["properties"] = properties
    if _COMMIT in config:
        every(_COMMIT, number(config[_COMMIT]) / 1000, settings)
    for option in (f"{own}route-regex", f"{_TABLES}.route-field"):
        if option in config and table:
            settings.say(option, "not done", "the table gets all records: a Filter stage chooses some of them")
    return settings


def _keys(connector: Connector, settings: TableSettings, own: str) -> None:
    config = connector.config
    option = next((n for n in (f"{own}id-columns", _IDS) if config.get(n, "").strip()), "")
    keys = names_in(config.get(option, ""))
    if is_true(connector, _UPSERT):
        if not keys:
            settings.say(_UPSERT, "not done", f"{KEYLESS}; name the key columns: id-columns does not")
            return
        if connector.class_name.startswith("org.apache."):
            note = "upsert; Apache's sink ignores the option, and adds rows"
            settings.set(_UPSERT, "mode", "upsert", "changed", note)
        else:
            settings.set(_UPSERT, "mode", "upsert")
        settings.set(option, "keys", keys)
        settings.sink |= {"deletes": "ignore", "delete_flag": ""}
        return
    if _UPSERT in config:
        settings.say(_UPSERT, "not needed", "rows are added")
    if option:
        text = "rows are added; the columns are not the table's identifier fields, which only upserts and readers use"
        settings.say(option, "changed", text)


def _partition(text: str) -> str:
    """Returns an entry of ``partition_by``: ``bucket(id, 16)`` of the sink is ``bucket(16, id)`` in SQL."""
    call = _CALL.fullmatch(text)
    if call is None:
        return text
    name = call[1].lower().removesuffix("s") if call[1].lower().rstrip("s") in _TIMES else call[1].lower()
    if name == "identity":
        return call[2].strip()
    if name in ("bucket", "truncate"):
        column, _, size = call[2].rpartition(",")
        return f"{name}({size.strip()}, {column.strip()})"
    return f"{name}({call[2].strip()})"


def _evolution(connector: Connector, settings: TableSettings) -> None:
    option = f"{_TABLES}.evolve-schema-enabled"
    if is_true(connector, option):
        settings.set(option, "schema_evolution", "widen", note="new columns and wider types, as in the connector")
    elif option in connector.config:
        note = "none; a record with a new field fails, and the connector would leave the field out"
        settings.set(option, "schema_evolution", "none", "changed", note)


def delta_settings(connector: Connector) -> TableSettings:
    """Returns the settings for Confluent's Delta Lake sinks."""
    settings, config = TableSettings(), connector.config
    for option in ("topic2table.map", "delta.lake.topic2table.map"):
        mapped_table(connector, settings, option)
    for option in ("table2partition.map", "delta.lake.table2partition.map"):
        columns = [entry.rpartition(":")[2].strip() for entry in names_in(config.get(option, ""))]
        if columns and len(connector.topics) == 1:
            settings.set(option, "partition_by", columns)
        elif columns:
            settings.say(option, "not done", ONE_TABLE)
    if "flush.interval.ms" in config:
        every("flush.interval.ms", number(config["flush.interval.ms"]) / 1000, settings)
    return settings


def snowflake_settings(connector: Connector) -> TableSettings:
    """Returns the settings for Snowflake's sinks."""
    settings, config = TableSettings(), connector.config
    mapped_table(connector, settings, "snowflake.topic2table.map")
    if config.get("behavior.on.null.values", "").strip().lower() == "ignore":
        nulls(connector, settings)
    if "buffer.flush.time" in config:
        every("buffer.flush.time", number(config["buffer.flush.time"]), settings)
    return settings
