"""Lists the supported Spark versions, and the differences between them that this package handles. No other module lists
them.

All other code of this package works with all of these versions.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from dagster_smt.errors import Problem, UnsupportedError
from dagster_smt.spark.java_classes import java_class


@dataclass(frozen=True)
class SparkVersion:
    """A minor version of Spark.

    Attributes:
        scala: The Scala version for which PyPI's PySpark is built.
        java: The supported versions of Java. Spark itself may support older versions, but the packages that a session
            adds to Spark, such as Iceberg, do not.
        ivy: The folder in the user's home directory in which Spark stores packages.
    """

    scala: str
    java: tuple[int, ...]
    ivy: str


VERSIONS = {
    "3.5": SparkVersion("2.12", (11, 17), ".ivy2"),
    "4.0": SparkVersion("2.13", (17, 21), ".ivy2.5.2"),
    "4.1": SparkVersion("2.13", (17, 21), ".ivy2.5.2"),
}
"""The supported versions, by minor version. ``spark.packages`` has a set of packages for each of them."""
NEWEST = "4.1"
_DEFAULT = "4.0"
_VERSION_LINE = re.compile(r"""^__version__\b[^=]*=\s*["'](?P<version>[^"']+)""", re.MULTILINE)
"""Matches the line of PySpark's own ``version.py`` that states its version."""
_HIDDEN = "*********(redacted)"
"""The text that Spark shows in place of a setting that may be a secret."""

SINCE_4 = {
    "when as a function": "in Spark 3.5 the function `when` takes no arguments; ``spark.sql`` writes CASE WHEN",
    "* EXCEPT": "``spark.sql`` drops these columns in a second step",
    "try_validate_utf8": "``spark.sql`` compares the text with what a text of Java becomes",
    "getCondition": "of a PySparkException; it was called getErrorClass: ``condition_of``",
    "functions.partitioning": "the functions are in ``functions`` itself: ``partition_functions``",
    "fromDDL of types": "``struct_of_ddl``",
    "getAll of settings": "``settings_of``",
    "createDataFrame of an Arrow table": "``frame_of_arrow``",
    "mergeInto of frames": "``merge_changes`` of tables writes the statement",
    "from_avro in SQL": "``by_schema`` leaves Avro to Python, which is slower",
    "ancient moments in Parquet": "Spark 3.5 writes none by default: ``check_settings`` sets what Spark 4 does",
    "wide types in Delta": "Delta of Spark 3.5 widens to `int` at most: ``evolved_schema`` refuses other types",
    "inheritable_thread_target of a session": "``inheriting``: in Spark 3.5 the argument is the function",
    "expressions in CALL": "the arguments of procedures are literals: ``procedure_argument`` of sinks",
}
"""Maps a feature of Spark 4 to the solution of this package for Spark 3.5, which lacks the feature."""


def supported_java() -> tuple[int, ...]:
    """Returns the versions of Java that can run the installed PySpark."""
    import pyspark

    return VERSIONS.get(minor_of(pyspark.__version__), VERSIONS[NEWEST]).java


def installed_version() -> str:
    """Returns the version of the installed PySpark, or the default version if PySpark is not installed. PySpark is not
    imported.
    """
    try:
        return metadata.version("pyspark")
    except metadata.PackageNotFoundError:
        return _version_in_other_package() or _DEFAULT


def _version_in_other_package() -> str:
    """Returns the version of a PySpark that is part of another package: ``databricks-connect`` 15.4 contains PySpark
    3.5.0. Returns an empty string if there is none.
    """
    package = find_spec("pyspark")
    if package is None or package.origin is None:
        return ""
    file = Path(package.origin).with_name("version.py")
    if not file.is_file():
        return ""
    version = _VERSION_LINE.search(file.read_text())
    return version["version"] if version else ""


def minor_of(version: str) -> str:
    """Returns the minor version of ``version``, such as ``4.0`` for ``4.0.5``. The argument may also be the name of a
    platform's own build.
    """
    return ".".join(version.split(".")[:2])


@cache
def missing() -> frozenset[str]:
    """Returns the keys of ``SINCE_4`` (features of Spark 4) that the PySpark of this process does not have. With
    PySpark 4 the result is empty. A Spark Connect server is never older than this PySpark (SMT649), so the server has
    at least the same features.
    """
    from pyspark.sql import functions

    # The version number is not compared, because platforms number their own builds differently.
    return frozenset(() if hasattr(functions, "try_validate_utf8") else SINCE_4)


def scala_of(session: Any) -> str:
    """Returns the Scala version of ``session``. Spark 3.5 from PyPI has Scala 2.12, but some distributions have
    2.13.
    """
    usual = VERSIONS[minor_of(session.version)].scala
    try:
        number = java_class(session, "scala.util.Properties").versionNumberString()
    except Exception:  # noqa: BLE001 - Connect has no JVM, and a platform may block access to its JVM
        return usual
    return minor_of(number) if isinstance(number, str) else usual


def check_version(session: Any) -> None:
    """Raises an error if the Spark version of ``session`` is not supported.

    Raises:
        UnsupportedError: SMT648 if the version is unknown; SMT649 if a Connect server is older than this process's
            PySpark.
    """
    there = minor_of(session.version)
    if there not in VERSIONS:
        statement = f"the session runs Spark {there}, and this package knows {', '.join(VERSIONS)}"
        hint = f"use a session of one of these, or a newer dagster_smt: `pip install 'pyspark~={NEWEST}.0'` locally"
        raise UnsupportedError(Problem("SMT648", "the Spark session", statement, hint))
    # A PySpark 4 of this process with a Spark Connect server 3.5: ``missing`` only knows this process, and would
    # promise features that the server lacks.
    if there.startswith("3.") and not missing():
        older = f"the server runs Spark {there}, older than the PySpark of this process"
        hint = f"install the server's version here: `pip install 'pyspark~={there}.0'`"
        raise UnsupportedError(Problem("SMT649", "the Spark session", older, hint))


def condition_of(error: Any) -> str | None:
    """Returns the name of the error condition of ``error``, a ``PySparkException``, such as
    ``TABLE_OR_VIEW_NOT_FOUND``.
    """
    if "getCondition" in missing():
        condition = error.getErrorClass()
    else:
        condition = error.getCondition()
    return None if condition is None else str(condition)


def settings_of(session: Any) -> dict[str, str]:
    """Returns all settings of ``session``. With Spark Connect 3.5, the settings that Spark hides are missing."""
    if "getAll of settings" not in missing():
        return dict(session.conf.getAll)
    if is_connect(session):
        rows = session.sql("SET").collect()
        shown_settings = {}
        for row in rows:
            if row["value"] != _HIDDEN:
                shown_settings[row["key"]] = row["value"]
        return shown_settings
    settings = {}
    pairs = session._jsparkSession.conf().getAll().iterator()
    # py4j converts no Scala map, so its iterator is read one pair at a time
    while pairs.hasNext():
        pair = pairs.next()
        settings[pair._1()] = pair._2()
    return settings


def struct_of_ddl(ddl: str) -> Any:
    """Parses ``ddl``, a column list in SQL, into a ``StructType``, with the parser of the running session."""
    from pyspark.sql import types

    if "fromDDL of types" in missing():
        return types._parse_datatype_string(ddl)
    return types.StructType.fromDDL(ddl)


def partition_functions() -> Any:
    """Returns the module with the functions ``years``, ``months``, ``days``, ``hours`` and ``bucket``."""
    from pyspark.sql import functions

    return functions if "functions.partitioning" in missing() else functions.partitioning


def is_connect(session: Any) -> bool:
    """Returns True if ``session`` is a Spark Connect (or Databricks Connect) session."""
    for base in type(session).__mro__:
        if ".connect." in f"{base.__module__}.":
            return True
    return False


def frame_of_arrow(session: Any, table: Any) -> Any:
    """Returns a DataFrame with the rows of ``table``, a small Arrow table."""
    if "createDataFrame of an Arrow table" not in missing():
        return session.createDataFrame(table)
    from pyspark.sql.pandas.types import from_arrow_schema

    batches = table.to_batches()

    def send_all(start: Iterator[Any]) -> Iterator[Any]:
        # Spark ends a Python process that leaves rows unread, and the next task has to start and load a new one.
        for _ in start:
            pass
        yield from batches

    # one task sends all batches; the row of `range` only starts the task
    return session.range(0, 1, 1, 1).mapInArrow(send_all, from_arrow_schema(table.schema))


def inheriting(session: Any, work: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Wraps ``work``, a function that another thread will run. The Spark jobs that ``work`` starts get the tags of the
    current thread. If the jobs with these tags are cancelled, the jobs of ``work`` are cancelled as well.
    """
    from pyspark.util import inheritable_thread_target

    if "inheritable_thread_target of a session" in missing():
        return inheritable_thread_target(work)
    return inheritable_thread_target(session)(work)
