"""Finds tables inside the folder of another table.

A ``VACUUM`` of the outer table would remove the files of an inner table, because no version of the outer table needs
these files.
"""

import re
from typing import Any

from pyspark.sql import SparkSession

from dagster_smt.spark.java_classes import java_class

_DEPTH = 4
_SPECIAL = re.compile(r"([\\{}\[\]*?])")


def tables_inside(session: SparkSession, location: str) -> list[str]:
    """Returns the folders below ``location`` that contain a Delta or Iceberg table, down to four levels.

    Args:
        session: The Spark session. On Spark Connect, which cannot list folders, the result is empty.
        location: The folder of the outer table, as a URI.
    """
    try:
        path = java_class(session, "org.apache.hadoop.fs.Path")
        configuration = session._jsparkSession.sessionState().newHadoopConf()
        files = path(location).getFileSystem(configuration)
    except Exception:  # noqa: BLE001 - of Py4J or Python: a Connect session has no JVM here
        return []
    folders = []
    # globStatus would interpret brackets and stars in the name of a folder as a pattern
    root = _SPECIAL.sub(r"\\\1", location.rstrip("/"))
    for depth in range(1, _DEPTH + 1):
        for name in ("_delta_log", "metadata/version-hint.text"):
            folders += _matches(files, path(f"{root}/{'*/' * depth}{name}"), name)
    return folders


def _matches(files: Any, pattern: Any, name: str) -> list[str]:
    matches = files.globStatus(pattern) or []
    folders = []
    for match in matches:
        folders.append(str(match.getPath().toString()).removesuffix(f"/{name}"))
    return folders
