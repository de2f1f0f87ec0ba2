"""The place where the records of a connector go: a table, or a topic that the connector reads without transforms."""

from collections.abc import Callable

from dagster_smt.connect.catalog import Goal, catalog
from dagster_smt.connect.connectors import Connector
from dagster_smt.connect.options import family_of
from dagster_smt.connect.settings import ONE_TABLE, TableSettings
from dagster_smt.connect.settings_of_databases import bigquery_settings, clickhouse_settings, jdbc_settings
from dagster_smt.connect.settings_of_files import files_settings
from dagster_smt.connect.settings_of_lakes import delta_settings, iceberg_settings, snowflake_settings

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
    """Returns the place where a component writes the records of a connector.

    Args:
        connector: The connector.
        into: The user's choice for sinks, ``table`` or ``topic``; empty: lakes and databases are tables, all other
            stores stay with their connector.
    """
    family = family_of(connector)
    goal: Goal = catalog().goals.get(family, "topic" if connector.class_name else "table")
    if goal == "topics" or not connector.is_sink:
        return "topics"
    if into == "table":
        return "table"
    if into == "topic":
        return "topic"
    return goal


def table_settings(connector: Connector, goal: Goal) -> TableSettings:
    """Returns the settings of a component, with a verdict on each option that they follow from."""
    make = _SETTINGS.get(family_of(connector))
    if make is None or goal != "table":
        return TableSettings()
    settings = make(connector)
    if "mode" in settings.sink and len(connector.topics) != 1:
        for option in ("topics", "topics.regex"):
            settings.say(option, "not done", f"{ONE_TABLE}; in one table, rows of different topics may have one key")
    settings.options = [verdict for verdict in settings.options if verdict.option in connector.config]
    return settings
