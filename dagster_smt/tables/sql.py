"""Parts of SQL statements on tables: the name of a Delta table that has only a path, and string literals for clauses in
which SQL permits no expression. Everywhere else, use ``spark.sql.text`` for strings.
"""

import re

from pyspark.sql import SparkSession

from dagster_smt.spark.packages import SETTINGS
from dagster_smt.spark.sql import quoted

SESSION_CATALOG = "spark_catalog"
_CATALOG_SETTING = f"spark.sql.catalog.{SESSION_CATALOG}"


def name_of_folder(session: SparkSession, path: str) -> str:
    """Returns the name with which SQL addresses the Delta table in the folder ``path``.

    Spark looks for ``delta.`/lake/orders` `` in the session's current catalog. Only Delta's own catalog reads the
    second part as a path. So if another catalog is current, the name begins with Delta's catalog. Platforms such as
    Databricks replace Delta's catalog with their own, which resolves the short name.
    """
    name = f"delta.{quoted(path)}"
    return f"{SESSION_CATALOG}.{name}" if hides_paths(session) else name


def hides_paths(session: SparkSession) -> bool:
    """Returns True if Delta's own catalog is in the session, but another catalog is current."""
    has_delta = session.conf.get(_CATALOG_SETTING, "") == SETTINGS["delta"][_CATALOG_SETTING]
    return has_delta and session.catalog.currentCatalog() != SESSION_CATALOG


def literal(text: str) -> str:
    """Returns ``text`` as a string literal for a ``COMMENT`` clause.

    Unusual characters are escaped, so that Spark replaces no variables in the string and does not interpret the string
    as a command. In a ``COMMENT``, a backslash is always an escape character. In an expression,
    ``spark.sql.parser.escapedStringLiterals`` can make it an ordinary character.
    """
    return "'" + re.sub(r"[^\w.,:-]", lambda match: _escaped(match[0]), text) + "'"


def _escaped(character: str) -> str:
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2))
