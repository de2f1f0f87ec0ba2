"""Derives settings from the options of database sinks. The settings concern inserts and upserts, keys, deletions,
schema changes and table names.
"""

from collections.abc import Sequence

from dagster_smt.connect.connectors import Connector
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
    safe_name,
)

_REPLACE = "org.apache.kafka.connect.transforms.ReplaceField$Value"
_TOPIC = "${topic}"
_REDSHIFT = ("RedshiftSink", "io.confluent.connect.aws.redshift.RedshiftSinkConnector")
_KEY_MODES = ("pk.mode", "primary.key.mode")
_KEY_FIELDS = ("pk.fields", "primary.key.fields")
TABLE_NAMES = ("table.name.format", "collection.name.format")


def jdbc_settings(connector: Connector) -> TableSettings:
    """Returns the settings for ``connector``, a JDBC sink from Confluent, Aiven or Debezium, or a sink with the same
    options.
    """
    settings = TableSettings()
    _rows(connector, settings)
    _evolution(connector, settings)
    _table_name(connector, settings)
    _fields(connector, settings)
    return settings


def _first(connector: Connector, options: tuple[str, ...]) -> tuple[str, str]:
    """Returns the first of ``options`` that ``connector`` has, and its value without surrounding spaces."""
    for option in options:
        if option in connector.config:
            return option, connector.config[option].strip()
    return "", ""


def _rows(connector: Connector, settings: TableSettings) -> None:
    config = connector.config
    mode = config.get("insert.mode", "insert").strip().lower()
    deletes = is_true(connector, "delete.enabled")
    if mode == "insert" and not (deletes and connector.class_name in _REDSHIFT):
        _inserted(connector, settings, deletes)
        return
    if mode not in ("insert", "upsert", "update"):
        settings.say("insert.mode", "not done", "the mode is unknown")
        return
    if not _keys(connector, settings):
        return
    if mode == "update":
        note = "mode: upsert; a key without a row gets one, which the connector would not insert"
        settings.set("insert.mode", "mode", "upsert", "changed", note)
    elif "insert.mode" in config:
        settings.set("insert.mode", "mode", "upsert")
    # a Redshift sink with delete.enabled gets here without insert.mode, too
    settings.sink["mode"] = "upsert"
    if deletes:
        settings.set("delete.enabled", "deletes", "apply")
        return
    settings.sink |= {"deletes": "ignore", "delete_flag": ""}
    if "delete.enabled" in config:
        settings.say("delete.enabled", "used", "sink.deletes: ignore; a tombstone does nothing")


def _inserted(connector: Connector, settings: TableSettings, deletes: bool) -> None:
    """Changes ``settings`` for a sink that only inserts rows, and adds verdicts on the options of ``connector``."""
    if "insert.mode" in connector.config:
        settings.say("insert.mode", "used", "rows are added")
    mode_option, mode = _first(connector, _KEY_MODES)
    fields_option, _ = _first(connector, _KEY_FIELDS)
    if deletes:
        settings.say("delete.enabled", "not done", f"{KEYLESS}; with insert.mode=upsert, deletions are done")
    elif "delete.enabled" in connector.config:
        settings.say("delete.enabled", "not needed", "no row is deleted")
    if mode.lower() == "record_value":
        text = "the table has no primary key that refuses a second row; the check keys_unique is for tables with keys"
        settings.say(mode_option, "changed", text)
        if fields_option:
            settings.say(fields_option, "changed", text)
    elif mode.lower() in ("", "none"):
        for option in filter(None, (mode_option, fields_option)):
            settings.say(option, "not needed", "there is no key")
    elif mode.lower() == "kafka":
        settings.say(mode_option, "used", "the source columns name topic, partition and offset of each row")
        if fields_option:
            settings.say(fields_option, "changed", "the columns are _source_topic, _source_partition, _source_offset")
    else:
        text = f"{KEYLESS}; fields of the record's key are not columns of a table that appends"
        settings.say(mode_option, "not done", text)
        if fields_option:
            settings.say(fields_option, "not done", text)


def _keys(connector: Connector, settings: TableSettings) -> bool:
    """Sets the key columns in ``settings`` for a table with keys. Returns False in two cases: the key columns are
    unknown, or the key consists of topic, partition and offset, so that rows are only added and never replaced.
    """
    mode_option, mode = _first(connector, _KEY_MODES)
    fields_option, text = _first(connector, _KEY_FIELDS)
    fields = names_in(text)
    mode = mode.lower()
    if mode == "record_key":
        if fields:
            settings.set(fields_option, "keys", fields)
        else:
            settings.sink["keys"] = "record_key"
        settings.of_columns.setdefault("keys", []).append(mode_option)
        settings.say(mode_option, "used", "sink.keys: fields of the record's key")
        if fields_option and not fields:
            settings.say(fields_option, "used", "sink.keys: all fields of the record's key")
        return True
    if mode == "record_value" and fields:
        settings.set(fields_option, "keys", fields)
        settings.of_columns["keys"].append(mode_option)
        settings.say(mode_option, "used", "sink.keys: columns of the value")
        return True
    if mode == "kafka":
        text = "rows are added: the key is the topic, partition and offset of the record"
        settings.say("insert.mode", "changed", text)
        settings.say(mode_option, "used", "the source columns name topic, partition and offset of each row")
        if fields_option:
            settings.say(fields_option, "changed", "the columns are _source_topic, _source_partition, _source_offset")
        return False
    reason = f"{KEYLESS}; name the key columns: pk.mode and pk.fields do not"
    for option in ("insert.mode", "delete.enabled", mode_option, fields_option):
        if option and option in connector.config:
            settings.say(option, "not done", reason)
    return False


def _evolution(connector: Connector, settings: TableSettings) -> None:
    config = connector.config
    for option, on in (("auto.evolve", "true"), ("schema.evolution", "basic")):
        if option not in config:
            continue
        if config[option].strip().lower() == on:
            settings.say(option, "used", "sink.schema_evolution: add, the default")
        else:
            settings.set(option, "schema_evolution", "none")


def _table_name(connector: Connector, settings: TableSettings) -> None:
    option, pattern = _first(connector, TABLE_NAMES)
    if not option:
        return
    one_topic = len(connector.topics) == 1 and not connector.config.get("transforms", "").strip()
    if pattern == _TOPIC or not pattern:
        if len(connector.topics) == 1:
            settings.say(option, "used", "the component's table")
        else:
            settings.say(option, "not done", ONE_TABLE)
    elif _TOPIC not in pattern and "${" not in pattern:
        settings.table = safe_name(pattern)
        settings.say(option, "used", "the name of the table")
    elif _TOPIC in pattern and one_topic:
        settings.table = safe_name(pattern.replace(_TOPIC, connector.topics[0]))
        settings.say(option, "used", "the name of the table")
    elif _TOPIC in pattern and len(connector.topics) == 1:
        settings.say(option, "changed", "the table has the connector's name")
    else:
        settings.say(option, "not done", ONE_TABLE)


def _fields(connector: Connector, settings: TableSettings) -> None:
    """Adds a stage to ``settings`` for the field list of ``connector``, which is Confluent's whitelist or one of
    Debezium's lists.
    """
    lists = (("fields.whitelist", "include"), ("field.include.list", "include"), ("field.exclude.list", "exclude"))
    for option, what in lists:
        text = connector.config.get(option, "").strip()
        if not text:
            continue
        fields = []
        for entry in names_in(text):
            topic, colon, name = entry.rpartition(":")
            if colon and (topic,) != connector.topics:
                settings.say(option, "not done", "the list is for one of several topics: use a ReplaceField stage")
                return
            fields.append(name)
        if option == "fields.whitelist":
            fields = [*_keys_of_values(connector, fields), *fields]
        settings.stages.append(ExtraStage("whitelist", {"type": _REPLACE, what: ",".join(fields)}))
        settings.say(option, "changed", f"a ReplaceField stage at the end of the chain ({what})")


def _keys_of_values(connector: Connector, fields: Sequence[str]) -> list[str]:
    """Returns the key columns that are missing in ``fields``, the list in the connector's ``fields.whitelist``. The
    connector writes its key columns even if this list does not contain them.

    If the key columns do not come from the value, the result is empty.
    """
    if _first(connector, _KEY_MODES)[1].lower() != "record_value":
        return []
    return [key for key in names_in(_first(connector, _KEY_FIELDS)[1]) if key not in fields]


def bigquery_settings(connector: Connector) -> TableSettings:
    """Returns the settings for ``connector``, a BigQuery sink."""
    settings, config = TableSettings(), connector.config
    mapped_table(connector, settings, "topic2TableMap")
    mapped_table(connector, settings, "topic2table.map")
    upserts, deletes = is_true(connector, "upsertEnabled"), is_true(connector, "deleteEnabled")
    if upserts or deletes:
        settings.sink |= {"mode": "upsert", "keys": "record_key", "deletes": "apply" if deletes else "ignore"}
        settings.of_columns["mode"] = ["upsertEnabled"] if upserts else ["deleteEnabled"]
        settings.say("upsertEnabled", "used" if upserts else "changed", "sink.mode: upsert")
        settings.say("deleteEnabled", "used", f"sink.deletes: {settings.sink['deletes']}")
        if not deletes:
            settings.sink["delete_flag"] = ""
        if "kafkaKeyFieldName" in config:
            text = "the fields of the record's key are columns of their own, and sink.keys: record_key"
            settings.say("kafkaKeyFieldName", "changed", text)
        if "mergeIntervalMs" in config:
            every("mergeIntervalMs", number(config["mergeIntervalMs"]) / 1000, settings)
        for option in ("mergeRecordsThreshold", "intermediateTableSuffix"):
            if option in config:
                settings.say(option, "not needed", "each run merges its records at once")
    field = config.get("timestampPartitionFieldName", "").strip()
    if field:
        unit = config.get("timePartitioningType", "DAY").strip().lower()
        if unit in ("hour", "day", "month", "year"):
            settings.set("timestampPartitionFieldName", "partition_by", [f"{unit}({field})"])
            if "timePartitioningType" in config:
                settings.say("timePartitioningType", "used", "sink.partition_by")
    clustered = names_in(config.get("clusteringPartitionFieldNames", ""))
    if clustered:
        settings.set("clusteringPartitionFieldNames", "cluster_by", clustered)
        if "partition_by" in settings.sink:
            settings.take_back("cluster_by", "a Delta table has partitions or clusters, not both: remove one of them")
    if "batchLoadIntervalSec" in config:
        every("batchLoadIntervalSec", number(config["batchLoadIntervalSec"]), settings)
    return settings


def clickhouse_settings(connector: Connector) -> TableSettings:
    """Returns the settings for ``connector``, a ClickHouse sink. Altinity's sink uses the record's key to replace and
    delete rows.
    """
    settings = TableSettings()
    mapped_table(connector, settings, "topic2TableMap", "=")
    mapped_table(connector, settings, "clickhouse.topic2table.map")
    if connector.class_name.startswith("com.altinity."):
        settings.sink |= {"mode": "upsert", "keys": "record_key", "deletes": "apply"}
        settings.of_columns["mode"] = ["connector.class"]
        settings.say("connector.class", "changed", "a table of the lake with keys (mode: upsert) replaces ClickHouse's")
        if "replacingmergetree.delete.column" in connector.config:
            settings.say("replacingmergetree.delete.column", "changed", "sink.deletes: apply removes the row")
    return settings
