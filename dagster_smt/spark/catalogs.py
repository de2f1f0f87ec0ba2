"""Copies Iceberg catalogs, but without their table cache. Runs write their tables through these copies.

A run creates a copy when it needs one. A catalog whose settings contain a secret gets its copy earlier, when the
session starts. Spark redacts a secret in its event log only if the setting was present at that time.
"""

import re
from collections.abc import Mapping

from dagster_smt.model.secrets import setting_shows_secret

CATALOG_CLASS = "org.apache.iceberg.spark.SparkCatalog"
_SESSION_CLASS = "org.apache.iceberg.spark.SparkSessionCatalog"
_CATALOG = re.compile(r"spark\.sql\.catalog\.([^.]+)")


def copy_name(catalog: str) -> str:
    """Returns the name for the copy of ``catalog``."""
    return f"smt_{catalog}"


def is_uncached(conf: Mapping[str, str], catalog: str) -> bool:
    """Returns True if ``catalog`` has no cache according to ``conf``, and so needs no copy."""
    return str(conf.get(f"spark.sql.catalog.{catalog}.cache-enabled", "true")).lower() == "false"


def is_jdbc(conf: Mapping[str, str], catalog: str) -> bool:
    """Returns True if ``catalog`` is a JDBC catalog. Such a catalog stores its own name with each table, so a copy with
    a different name would not find the tables.
    """
    key = f"spark.sql.catalog.{catalog}"
    for name in ("type", "catalog-impl"):
        if "jdbc" in str(conf.get(f"{key}.{name}", "")).lower():
            return True
    return False


def copy_of(conf: Mapping[str, str], catalog: str) -> dict[str, str]:
    """Returns the settings for a copy of the Iceberg catalog ``catalog``.

    Args:
        conf: The settings of a session.
        catalog: The name of the catalog.
    """
    key, own = f"spark.sql.catalog.{catalog}", f"spark.sql.catalog.{copy_name(catalog)}"
    settings = {}
    for name, value in conf.items():
        if name.startswith(f"{key}."):
            settings[own + name.removeprefix(key)] = value
    settings[f"{own}.cache-enabled"] = "false"
    # this setting comes last, because Spark loads a catalog as soon as the setting is present
    settings[own] = CATALOG_CLASS if conf[key] == _SESSION_CLASS else conf[key]
    return settings


def secrets_of(conf: Mapping[str, str], catalog: str) -> list[str]:
    """Returns the names of those settings of ``catalog`` that contain secrets."""
    start = f"spark.sql.catalog.{catalog}."
    keys = []
    for key, value in conf.items():
        if key.startswith(start) and setting_shows_secret(key, value):
            keys.append(key)
    return keys


def copies_with_secrets(conf: Mapping[str, str]) -> dict[str, str]:
    """Returns the settings that add catalog copies to a session that starts with ``conf``. The function copies each
    Iceberg catalog that has secrets and a table cache, except JDBC catalogs.
    """
    settings: dict[str, str] = {}
    for key, value in conf.items():
        match = _CATALOG.fullmatch(key)
        if match is None or not value.startswith("org.apache.iceberg."):
            continue
        catalog = match[1]
        if secrets_of(conf, catalog) and not is_uncached(conf, catalog) and not is_jdbc(conf, catalog):
            settings.update(copy_of(conf, catalog))
    return settings
