"""Determines the target of a connector's records: a table, or a topic that the connector reads without transforms."""

from collections.abc import Callable

from dagster_smt.connect.catalog import Goal, catalog
from dagster_smt.connect.connectors import Connector
from dagster_smt.connect.option_verdicts import family_of
from dagster_smt.connect.settings import ONE_TABLE, TableSettings, safe_part
from dagster_smt.connect.settings_of_databases import (
    TABLE_NAMES,
    bigquery_settings,
    clickhouse_settings,
    jdbc_settings,
)
from dagster_smt.connect.settings_of_files import files_settings
from dagster_smt.connect.settings_of_lakes import delta_settings, iceberg_settings, snowflake_settings
from dagster_smt.connect.survey import BY_TOPIC, routers

_A_TABLE_EACH = ("jdbc", "files", "delta", "snowflake", "bigquery", "clickhouse")
"""The families of connectors that write a separate table or folder for each topic."""
_SETTINGS: dict[str, Callable[[Connector], TableSettings]] = {
    "jdbc": jdbc_settings,
    "bigquery": bigquery_settings,
    "clickhouse": clickhouse_settings,
    "files": files_settings,
    "iceberg": iceberg_settings,
    "delta": delta_settings,
    "snowflake": snowflake_settings,
}


def goal_of(connector: Connector, into: str = "") -> Goal:
    """Returns the target of the component for ``connector``. For a source connector, it is always ``topics``.

    Args:
        connector: The connector.
        into: The target that the user chose for sinks, ``table`` or ``topic``. If empty, the target is a table for
            sinks into lakes and databases. Sinks into all other stores stay in use, and read a topic.
    """
    family = family_of(connector)
    # a file with a chain only, without connector.class, has no connector that could read a topic
    goal: Goal = catalog().goals.get(family, "topic" if connector.class_name else "table")
    if goal == "topics" or not connector.is_sink:
        return "topics"
    if into == "table":
        return "table"
    if into == "topic":
        return "topic"
    return goal


def table_settings(connector: Connector, goal: Goal) -> TableSettings:
    """Returns the settings of the table that replaces ``connector`` in a component. The result also contains a verdict,
    such as "not needed", on each option of the connector that has determined a setting.
    """
    make = _SETTINGS.get(family_of(connector))
    if make is None or goal != "table":
        return TableSettings()
    settings = make(connector)
    _for_each_topic(connector, settings)
    if "mode" in settings.sink and len(connector.topics) != 1 and not settings.many_tables:
        for option in ("topics", "topics.regex"):
            settings.say(option, "not done", f"{ONE_TABLE}; in one table, rows of different topics may have one key")
    # the settings also have verdicts on options that this connector does not set
    settings.options = [verdict for verdict in settings.options if verdict.option in connector.config]
    return settings


def _for_each_topic(connector: Connector, settings: TableSettings) -> None:
    """Changes ``settings`` so that each topic gets its own table. Does nothing if the sink does not write a table for
    each topic, or if the records have only one topic.
    """
    chosen = []
    for name in routers(connector).values():
        if name not in BY_TOPIC:
            chosen.append(name)
    if family_of(connector) not in _A_TABLE_EACH or settings.table or (len(connector.topics) == 1 and not chosen):
        return
    option = ""
    for name in TABLE_NAMES:
        if connector.config.get(name, "").strip():
            option = name
            break
    before, _, after = connector.config.get(option, "${topic}").strip().partition("${topic}")
    # any other placeholder, such as ${value}, may have a different value for each record
    if "${" in before + after:
        return
    settings.table = f"{safe_part(before)}{{topic}}{safe_part(after)}"
    for name in ("topics", "topics.regex", option):
        settings.say(name, "used", "sink.path: a table for each topic")
