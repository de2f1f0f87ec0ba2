"""Derives settings from the options of Iceberg, Delta and Snowflake sinks. The settings concern tables, keys,
partitions, properties and commits.
"""

import re
from dataclasses import replace

from dagster_smt.connect.connectors import Connector
from dagster_smt.connect.iceberg_catalog import catalog_verdicts
from dagster_smt.connect.settings import (
    KEYLESS,
    ONE_TABLE,
    ExtraStage,
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

_DYNAMIC = f"{_TABLES}.dynamic-enabled"
_ROUTE_FIELD = f"{_TABLES}.route-field"
_OF_TABLE = "iceberg.table."
_KAFKA = "org.apache.kafka.connect.transforms."
_FILTER = "io.aiven.kafka.connect.transforms.FilterByFieldValue$Value"

_PROPERTIES = f"{_TABLES}.auto-create-props."
_FAMILY = re.compile(r"(io\.tabular|org\.apache)\.iceberg\.connect\.IcebergSinkConnector")
# the first comma of "day(at),bucket(id, 16)", but not the second
_OUTSIDE_PARENTHESES = re.compile(r",(?![^()]*\))")
_CALL = re.compile(r"(\w+)\((.+)\)")
_TIMES = ("year", "month", "day", "hour")
_OWN = {
    "format-version": "the sink chooses the version",
    "sort-order": "cluster_by of the sink",
}
"""The table properties that a user cannot set, because this package sets them itself. Maps the name of each property to
the reason in words.
"""


def iceberg_table(connector: Connector) -> str:
    """Returns the table that the Iceberg sink ``connector`` writes. Returns an empty string in two cases: the sink
    writes several tables, or it takes the table's name from the record.
    """
    tables = names_in(connector.config.get(_TABLES, ""))
    if len(tables) == 1 and not is_true(connector, _DYNAMIC):
        return tables[0]
    return ""


def by_table(connector: Connector) -> list[Connector]:
    """Splits an Iceberg sink into a part for each table in ``iceberg.tables``. Each part has only the options of its
    table.

    Other connectors, and sinks that take the table's name from the record, have one part: the whole connector.
    """
    tables = names_in(connector.config.get(_TABLES, ""))
    if len(tables) < 2 or is_true(connector, _DYNAMIC) or not _FAMILY.fullmatch(connector.class_name):
        return [connector]
    parts = []
    for table in tables:
        prefixes = []
        for other in tables:
            if other != table:
                prefixes.append(f"{_OF_TABLE}{other}.")
        others = tuple(prefixes)
        own = f"{_OF_TABLE}{table}."
        config = {_TABLES: table}
        for option, value in connector.config.items():
            if option != _TABLES and (option.startswith(own) or not option.startswith(others)):
                config[option] = value
        parts.append(replace(connector, config=config, table=table))
    return parts


def iceberg_settings(connector: Connector) -> TableSettings:
    """Returns the settings for ``connector``, an Iceberg sink of Tabular or Apache."""
    settings, config, table = TableSettings(), connector.config, iceberg_table(connector)
    if table:
        settings.say("connector.class", "used", "an Iceberg table")
        settings.say(_TABLES, "used", "sink.iceberg.table")
    else:
        settings.say("connector.class", "not done", "the option names no table, or several: the component writes one")
        settings.say(_TABLES, "not done", ONE_TABLE)
    own = f"{_OF_TABLE}{table}."
    _keys(connector, settings, own)
    for option in (f"{own}partition-by", _PARTITION):
        if config.get(option, "").strip() and "partition_by" not in settings.sink:
            entries = []
            for text in _OUTSIDE_PARENTHESES.split(config[option]):
                entries.append(_partition(text.strip()))
            settings.set(option, "partition_by", entries)
    _evolution(connector, settings)
    for verdict in catalog_verdicts(connector):
        settings.say(verdict.option, verdict.verdict, verdict.text)
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
    if table:
        _route(connector, settings, f"{own}route-regex")
    return settings


def _route(connector: Connector, settings: TableSettings, option: str) -> None:
    """Adds stages to ``settings`` that keep only the records of this table.

    The connector's ``iceberg.tables.route-field`` names a field. A record belongs to the table if the regular
    expression in ``option``, such as ``route-regex``, matches the whole value of this field. As in the sink, records
    without a value or without the field belong to no table (``SinkWriter.routeRecordStatically``).
    """
    config = connector.config
    field, pattern = config.get(_ROUTE_FIELD, "").strip(), config.get(option, "").strip()
    if not field:
        settings.say(
            option, "not needed", "the connector ignores it: without a route-field each table gets all records"
        )
        return
    if not pattern:
        settings.say(_ROUTE_FIELD, "not done", "the table has no route-regex: the connector writes no record to it")
        return
    if "." in field:
        text = "a path into the value: no stage filters by it; add one that copies the field to the top level"
        settings.say(_ROUTE_FIELD, "not done", text)
        return
    # The stage searches for the pattern, but the sink matches the whole value. $ would also match before a line break
    # at the end. The group is for patterns such as a|b.
    options = {"type": _FILTER, "field.name": field, "field.value.pattern": rf"\A(?:{pattern})\z"}
    # FilterByFieldValue lets null values pass
    settings.stages.append(ExtraStage("noValue", {"type": f"{_KAFKA}Filter"}, f"{_KAFKA}predicates.RecordIsTombstone"))
    settings.stages.append(ExtraStage("route", options))
    text = "a FilterByFieldValue stage at the end of the chain keeps the records of the table"
    settings.say(_ROUTE_FIELD, "used", text)
    settings.say(option, "used", text)


def _keys(connector: Connector, settings: TableSettings, own: str) -> None:
    config = connector.config
    option = ""
    for n in (f"{own}id-columns", _IDS):
        if config.get(n, "").strip():
            option = n
            break
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
    """Converts a partition from the spelling of the sink to the spelling of the option ``partition_by``. For example,
    ``bucket(id, 16)`` becomes ``bucket(16, id)``.
    """
    call = _CALL.fullmatch(text)
    if call is None:
        return text
    # hours(at) is hour(at)
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
    """Returns the settings for ``connector``, one of Confluent's Delta Lake sinks."""
    settings, config = TableSettings(), connector.config
    for option in ("topic2table.map", "delta.lake.topic2table.map"):
        mapped_table(connector, settings, option)
    for option in ("table2partition.map", "delta.lake.table2partition.map"):
        columns = []
        for entry in names_in(config.get(option, "")):
            columns.append(entry.rpartition(":")[2].strip())
        if columns and len(connector.topics) == 1:
            settings.set(option, "partition_by", columns)
        elif columns:
            settings.say(option, "not done", ONE_TABLE)
    if "flush.interval.ms" in config:
        every("flush.interval.ms", number(config["flush.interval.ms"]) / 1000, settings)
    return settings


def snowflake_settings(connector: Connector) -> TableSettings:
    """Returns the settings for ``connector``, one of Snowflake's sinks."""
    settings, config = TableSettings(), connector.config
    mapped_table(connector, settings, "snowflake.topic2table.map")
    if config.get("behavior.on.null.values", "").strip().lower() == "ignore":
        nulls(connector, settings)
    if "buffer.flush.time" in config:
        every("buffer.flush.time", number(config["buffer.flush.time"]), settings)
    return settings
