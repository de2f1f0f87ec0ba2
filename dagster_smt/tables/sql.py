"""Parts of SQL statements: the name of a Delta table that has only a path, and string literals.

The literals are for clauses that permit no expression, such as ``COMMENT``. For all other strings, use
``spark.sql.text``.
"""

import re

from pyspark.sql import SparkSession

from dagster_smt.spark.packages import SETTINGS
from dagster_smt.spark.sql import quoted

SESSION_CATALOG = "spark_catalog"
_CATALOG_SETTING = f"spark.sql.catalog.{SESSION_CATALOG}"


def name_of_folder(session: SparkSession, path: str) -> str:
    """Returns the name by which SQL addresses the Delta table in the folder ``path``: for example,
    ``delta.`/lake/orders` ``.

    Spark looks for this name in the current catalog, but only Delta's own catalog reads the name as a path. If another
    catalog is current, the name therefore begins with the name of Delta's catalog. Platforms such as Databricks replace
    Delta's catalog with their own, which understands the short name.
    """
    name = f"delta.{quoted(path)}"
    return f"{SESSION_CATALOG}.{name}" if hides_paths(session) else name


def hides_paths(session: SparkSession) -> bool:
    """Returns True if Delta's own catalog is in the session, but another catalog is current."""
    has_delta = session.conf.get(_CATALOG_SETTING, "") == SETTINGS["delta"][_CATALOG_SETTING]
    return has_delta and session.catalog.currentCatalog() != SESSION_CATALOG


def literal(text: str) -> str:
    """Returns ``text`` as a string literal for a ``COMMENT`` clause, with escapes for unusual characters.

    Without the escapes, Spark could replace variables such as ``${x}`` in the string, or interpret the string as a
    command. In a ``COMMENT``, a backslash is always an escape character. In an expression, this depends on
    ``spark.sql.parser.escapedStringLiterals``.
    """
    return "'" + re.sub(r"[^\w.,:-]", lambda match: _escaped(match[0]), text) + "'"


def _escaped(character: str) -> str:
    # an escape has four hexadecimal digits, as in Java, so a character beyond U+FFFF becomes two escapes
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2))
