"""What a Spark session needs beyond Spark: packages from Maven and settings, per version of PySpark. The one place.

``python -m dagster_smt.spark.packages`` fetches all of them, so that later sessions need no network.
"""

import re
from collections.abc import Iterable, Mapping

from dagster_smt.errors import Problem, UnsupportedError
from dagster_smt.spark.avro_limits import JAVA_OPTIONS

PACKAGES: dict[str, dict[str, str]] = {
    "4.0": {
        "delta": "io.delta:delta-spark_2.13:4.0.0",
        "iceberg": "org.apache.iceberg:iceberg-spark-runtime-4.0_2.13:1.10.1",
        "kafka": "org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.0",
        "avro": "org.apache.spark:spark-avro_2.13:4.0.0",
    },
}
"""Coordinates by PySpark's minor version."""

SETTINGS: dict[str, dict[str, str]] = {
    "delta": {
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        # as shipped, reading the log of one small table takes 50 tasks
        "spark.databricks.delta.snapshotPartitions": "2",
    },
    "iceberg": {"spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"},
    "avro": {f"spark.{where}.defaultJavaOptions": JAVA_OPTIONS for where in ("driver", "executor")},
}
JVM_OPTIONS = {
    # Java does not compile methods of more than 8000 bytes, and Spark makes such of a few stages on fifty fields
    f"spark.{where}.defaultJavaOptions": "-XX:-DontCompileHugeMethods"
    for where in ("driver", "executor")
}
"""What classic sessions get beside packages."""
TUNING = ("spark.databricks.delta.snapshotPartitions",)
"""Those of them that only make it faster."""
_LISTS = {
    "spark.jars.packages": ",",
    "spark.sql.extensions": ",",
    "spark.driver.defaultJavaOptions": " ",
    "spark.executor.defaultJavaOptions": " ",
}
"""Settings that hold several things, and what is between these."""
_BROUGHT = ("spark.jars.packages", "spark.jars", "spark.driver.extraClassPath")


def session_settings(packages: Iterable[str], conf: Mapping[str, str], version: str) -> dict[str, str]:
    """The settings of a session, with what some packages need; those that it brings itself are left alone.

    Args:
        packages: Keys of ``PACKAGES``.
        conf: The session's own settings; they win.
        version: PySpark's version.

    Raises:
        UnsupportedError: SMT611, a package is needed and not known for this version.
    """
    found = dict(conf)
    brought = " ".join(conf.get(key, "") for key in _BROUGHT)
    minor = ".".join(version.split(".")[:2])
    for package in sorted(packages):
        wanted = dict(SETTINGS.get(package, {}))
        if not re.search(_artifact(package), brought):
            coordinates = PACKAGES.get(minor, {}).get(package)
            if coordinates is None:
                statement = f"no {package} package is known for PySpark {version}"
                hint = f"name one in spark.jars.packages of the session, or use PySpark {', '.join(PACKAGES)}"
                raise UnsupportedError(Problem("SMT611", "spark.jars.packages", statement, hint))
            wanted["spark.jars.packages"] = coordinates
        for key, value in wanted.items():
            found[key] = _joined(found.get(key, ""), value, _LISTS[key]) if key in _LISTS else found.get(key, value)
    return found


def remedy(package: str, version: str) -> str:
    """What makes a session have a package, as a hint.

    Args:
        package: A key of ``PACKAGES``.
        version: PySpark's version.
    """
    minor = ".".join(version.split(".")[:2])
    coordinates = PACKAGES.get(minor, {}).get(package) or f"the {package} package for Spark {minor}"
    parts = [f"add {coordinates} to spark.jars.packages"]
    for key, value in SETTINGS.get(package, {}).items():
        if key not in TUNING:
            parts.append(f"add {value} to {key}" if key in _LISTS else f"set {key} to {value}")
    return "let SparkSessionResource make the session, or " + ", and ".join(parts)


def _artifact(package: str) -> str:
    """What the names of its jars and coordinates have in common."""
    return {"delta": r"delta-spark", "iceberg": r"iceberg-spark", "kafka": r"spark-sql-kafka", "avro": r"spark-avro"}[
        package
    ]


def _joined(have: str, more: str, between: str) -> str:
    parts = [p for p in have.split(between) if p]
    return between.join([*parts, *(p for p in more.split(between) if p not in parts)])


def fetch() -> None:
    """Start a session that needs every package, which fetches those that are not there yet."""
    import pyspark
    from pyspark.sql import SparkSession

    minor = ".".join(pyspark.__version__.split(".")[:2])
    conf = {"spark.master": "local[1]", "spark.ui.enabled": "false", "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1"}  # fmt: skip
    builder = SparkSession.builder
    for key, value in session_settings(PACKAGES[minor], conf, pyspark.__version__).items():
        builder = builder.config(key, value)
    builder.getOrCreate().stop()


if __name__ == "__main__":
    fetch()
