"""Warns about tables in object stores. In some of these tables, two drivers that commit at the same time may overwrite
each other's commits.
"""

import re
from typing import Any

from dagster_smt.errors import Problem
from dagster_smt.spark.packages import LOG_STORE_CLASS
from dagster_smt.tables.sink_options import DeltaSink, IcebergSink
from dagster_smt.tables.sinks.iceberg_sql import catalog_and_parts

_S3 = re.compile(r"(s3|s3a|s3n)://")
_ONE_DRIVER = "io.delta.storage.S3SingleDriverLogStore"
_DATABRICKS = "spark.databricks.clusterUsageTags.clusterId"
"""A setting that exists only in Spark on Databricks. There, a service orders the commits to Delta tables."""


def commit_warnings(session: Any, *places: object) -> list[Problem]:
    """Returns a warning (SMT660) for each table in S3 in which several drivers cannot commit safely.

    Args:
        session: The Spark session.
        places: The sink of a run, and the destination of its dead letters. Objects that are not tables are ignored.
    """
    warnings = []
    for place in places:
        if isinstance(place, DeltaSink):
            hint = _delta_hint(session, str(place.path))
        elif isinstance(place, IcebergSink):
            hint = _iceberg_hint(session, place)
        else:
            continue
        if hint:
            statement = "if two drivers commit to this place of S3 at once, one of the commits may be lost"
            warnings.append(Problem("SMT660", place.place, statement, hint))
    return warnings


def _delta_hint(session: Any, path: str) -> str:
    """Returns advice on how to commit safely to a Delta table at ``path``. The advice is empty in three cases: the
    table is not in S3, Spark runs on Databricks, or the session's settings already name a log store.
    """
    match = _S3.match(path)
    if match is None or session.conf.get(_DATABRICKS, None):
        return ""
    setting = f"spark.delta.logStore.{match[1]}.impl"
    if any(session.conf.get(key, None) for key in (setting, "spark.delta.logStore.class")):
        return ""
    return (
        f"set {setting} to {LOG_STORE_CLASS} (Spark 4.0 or later), which SparkSessionResource does for s3a; "
        f"or to {_ONE_DRIVER}, if never more than one driver writes"
    )


def _iceberg_hint(session: Any, sink: IcebergSink) -> str:
    """Returns advice on how to commit safely to the Iceberg table ``sink``. Only a table in S3 with a Hadoop catalog
    needs advice, because this catalog commits by renaming files. For other tables, the result is empty.
    """
    if sink.table:
        catalog, _ = catalog_and_parts(session, sink.table)
        key = f"spark.sql.catalog.{catalog}"
        is_hadoop = str(session.conf.get(f"{key}.type", "")).lower() == "hadoop"
        place = str(session.conf.get(f"{key}.warehouse", "")) if is_hadoop else ""
    else:
        place = str(sink.path)
    if not _S3.match(place):
        return ""
    return "name a table of a catalog whose commits are atomic, of type rest or jdbc for example"
