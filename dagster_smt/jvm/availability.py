"""Adds the JVM lane (Java functions that run chains inside Spark) to Spark sessions. This module contains the settings
that add the lane, and tests whether a session has it.

With the environment variable ``DAGSTER_SMT_JVM=off``, runs do not use the lane. The results are the same, but the runs
are slower.
"""

import logging
import os
from collections.abc import Mapping
from functools import cache
from typing import Any
from weakref import WeakKeyDictionary

from dagster_smt.errors import problem_of_record
from dagster_smt.jvm.build import JAR, is_current, version

VARIABLE = "DAGSTER_SMT_JVM"
CATALOG = "dagster_smt"
"""The name of the Spark catalog with the functions of the JVM lane (this package's Java code). In SQL, a function is
called as ``dagster_smt.records(…)``.
"""
SETTING = f"spark.sql.catalog.{CATALOG}"
CLASS = "dagstersmt.Functions"
CACHE_SETTING = "spark.sql.cache.serializer"
CACHE_CLASS = "dagstersmt.cache.RowCache"
"""The Java class that makes Spark cache whole rows. A run caches the rows that it has computed. Spark's own class
caches columns. Caching columns would take longer than the JVM lane (this package's Java code) needs to compute the
rows.
"""
_log = logging.getLogger(__name__)
_known: "WeakKeyDictionary[Any, bool]" = WeakKeyDictionary()


def lane_settings(jar: str = "") -> Mapping[str, str]:
    """Returns the Spark settings that add the JVM lane (this package's Java code) to a session.

    Args:
        jar: The address of a copy of the jar, for a session on another machine. By default, the jar of this
            environment. The result is empty if that jar is missing, or was not built from the current Java sources.
    """
    if not jar:
        if not _jar_is_current():
            return {}
        jar = str(JAR)
    return {"spark.jars": jar, SETTING: CLASS, CACHE_SETTING: CACHE_CLASS}


@cache
def _jar_is_current() -> bool:
    return is_current()


def has_lane(session: Any) -> bool:
    """Returns True if ``session`` can call the functions of the JVM lane (this package's Java code), and if the jar has
    the same version as this code.
    """
    if os.environ.get(VARIABLE) == "off":
        return False
    # the answer needs a query, and a run asks several times
    if session not in _known:
        _known[session] = _answers(session)
        if not _known[session]:
            _log.warning(
                "This Spark session runs records in Python, which takes several times as long: create the session with "
                "SparkSessionResource, or add the jar as docs/how-to/which-spark.md describes"
            )
    return _known[session]


def _answers(session: Any) -> bool:
    # without the catalog, the query below would fail
    if session.conf.get(SETTING, None) != CLASS:
        return False
    try:
        # the jar of a server may be older or newer than this package
        return bool(session.sql("SELECT dagster_smt.version()").first()[0] == version())
    except Exception as error:  # noqa: BLE001 - a server may lack the jar, or block access to catalogs; then Python is used
        problem_of_record(error)
        return False
