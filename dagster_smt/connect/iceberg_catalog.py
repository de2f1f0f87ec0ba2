"""Translates the catalog settings of an Iceberg sink for Spark, so that runs write the same table as the connector."""

import re
from collections.abc import Iterator, Mapping

from dagster_smt.connect.chains import is_looked_up
from dagster_smt.connect.connectors import Connector
from dagster_smt.connect.option_rules import UNRESOLVED, OptionVerdict
from dagster_smt.model.secrets import refers, setting_shows_secret

_CATALOG = "iceberg.catalog"
_HADOOP = "iceberg.hadoop."
_USUAL = "iceberg"
"""The name of the catalog in Spark if the sink names none, or a name with dots."""
_OF_JDBC = {"cache-enabled": "false", "jdbc.schema-version": "V1"}
"""Settings that Spark needs for a JDBC catalog, in addition to those of the sink. The first switches the catalog's
cache off, so that runs use the catalog itself instead of a copy (``spark/catalogs.py``). The second adds a column for
views to the catalog's database.
"""
_CATALOG_CLASS = "org.apache.iceberg.spark.SparkCatalog"
DEFAULT_CATALOG = "spark.sql.defaultCatalog"
_IN_SESSION = "in the project's Spark session"


def catalog_name(config: Mapping[str, str]) -> str:
    """Returns the name of an Iceberg sink's catalog in Spark. If the sink sets no name, or a name with dots, which
    Spark does not allow, the result is ``iceberg``.
    """
    name = config.get(_CATALOG, "").strip()
    if not name or "." in name:
        return _USUAL
    return name


def catalog_conf(config: Mapping[str, str], name: str = "") -> dict[str, str]:
    """Returns Spark's settings that make the catalog of an Iceberg sink the default catalog.

    Args:
        config: The properties of the connector.
        name: The name of the catalog in Spark. By default the name that the sink uses, so that the connector and the
            runs write the same table.
    """
    settings = _settings(config)
    if not settings:
        return {}
    name = name or catalog_name(config)
    head = f"spark.sql.catalog.{name}"
    conf = {}
    for setting, value in {**_of_kind(settings), **settings}.items():
        conf[f"{head}.{setting}"] = value
    return {**conf, head: _CATALOG_CLASS, DEFAULT_CATALOG: name}


def without_secrets(conf: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Returns two mappings. The first contains the settings of a catalog, with references in place of secrets. The
    second maps each variable in these references to its setting, for example ``ICEBERG_JDBC_PASSWORD`` to
    ``spark.sql.catalog.iceberg.jdbc.password``.
    """
    safe, variables = {}, {}
    for setting, value in conf.items():
        if setting_shows_secret(setting, value):
            variable = _variable(setting)
            variables[variable] = setting
            safe[setting] = f"${{env:{variable}}}"
        else:
            safe[setting] = value
    return safe, variables


def catalog_verdicts(connector: Connector) -> Iterator[OptionVerdict]:
    """Yields a verdict on each option of an Iceberg sink that becomes a setting of the project's Spark session."""
    config = connector.config
    if not _settings(config):
        return
    for option, value in config.items():
        setting = _setting(option)
        if option == _CATALOG and _class_in_name(config):
            yield OptionVerdict(option, "used", f"the catalog's setting catalog-impl {_IN_SESSION}")
        elif option == _CATALOG and "." in value:
            text = f"Spark has no catalogs with dots in their names: the catalog's name is {_USUAL} {_IN_SESSION}"
            yield OptionVerdict(option, "not done", text)
        elif option == _CATALOG:
            yield OptionVerdict(option, "used", f"the name of the catalog {_IN_SESSION}")
        elif setting and setting_shows_secret(f"spark.sql.catalog.iceberg.{setting}", value):
            text = f"the catalog's setting {setting} {_IN_SESSION}, as a reference to an environment variable: set it"
            yield OptionVerdict(option, "changed", text)
        elif setting and is_looked_up(value) and not refers(value):
            yield OptionVerdict(option, "not done", UNRESOLVED)
        elif setting:
            yield OptionVerdict(option, "used", f"the catalog's setting {setting} {_IN_SESSION}")


def _settings(config: Mapping[str, str]) -> dict[str, str]:
    """Returns the catalog's settings by their names in Spark, without the prefix ``spark.sql.catalog.NAME.``."""
    settings = {}
    for option, value in config.items():
        setting = _setting(option)
        if setting:
            settings[setting] = value
    if class_name := _class_in_name(config):
        settings["catalog-impl"] = class_name
    return settings


def _class_in_name(config: Mapping[str, str]) -> str:
    """Returns the class of the catalog if ``iceberg.catalog`` contains the class; else an empty string. In the first
    versions of Tabular's sink, the option contains the class. In later versions, the option contains the catalog's
    name.
    """
    value = config.get(_CATALOG, "").strip()
    if "." not in value or f"{_CATALOG}.type" in config or f"{_CATALOG}.catalog-impl" in config:
        return ""
    return value


def _setting(option: str) -> str:
    """Returns the name of the catalog setting in Spark for ``option``, an option of the sink. Returns an empty string
    if Spark has no such setting.
    """
    if option.startswith(f"{_CATALOG}."):
        return option.removeprefix(f"{_CATALOG}.")
    if option.startswith(_HADOOP):  # Hadoop settings of the sink; Spark accepts them for each catalog
        return f"hadoop.{option.removeprefix(_HADOOP)}"
    return ""


def _of_kind(settings: Mapping[str, str]) -> dict[str, str]:
    """Returns the additional settings that Spark needs for the kind of catalog in ``settings``."""
    kind = f"{settings.get('type', '')}{settings.get('catalog-impl', '')}"
    return _OF_JDBC if "jdbc" in kind.lower() else {}


def _variable(setting: str) -> str:
    """Returns the name of the environment variable for ``setting``, a catalog setting that contains a secret."""
    return re.sub(r"[^A-Za-z0-9]+", "_", setting.removeprefix("spark.sql.catalog.")).upper()
