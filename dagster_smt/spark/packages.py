"""Lists the Maven packages and the settings that a Spark session needs, by version of PySpark. No other module lists
them.

``python -m dagster_smt.spark.packages`` downloads the packages, so that later sessions need no network. The command
downloads the large packages only if you name them: ``python -m dagster_smt.spark.packages s3 iceberg-s3``.
"""

import os
import pwd
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from zipfile import is_zipfile

from dagster_smt.errors import Problem, UnsupportedError
from dagster_smt.jvm.availability import lane_settings
from dagster_smt.spark.avro_limits import JAVA_OPTIONS
from dagster_smt.spark.catalogs import copies_with_secrets
from dagster_smt.spark.versions import NEWEST, VERSIONS, minor_of, scala_of

PACKAGES: dict[str, dict[str, str]] = {
    "3.5": {
        "delta": "io.delta:delta-spark_2.12:3.3.3",
        "iceberg": "org.apache.iceberg:iceberg-spark-runtime-3.5_2.12:1.10.1",
        "kafka": "org.apache.spark:spark-sql-kafka-0-10_2.12:3.5.7",
        "avro": "org.apache.spark:spark-avro_2.12:3.5.7",
        "s3": "org.apache.hadoop:hadoop-aws:3.3.4",
        "iceberg-s3": "org.apache.iceberg:iceberg-aws-bundle:1.10.1",
    },
    "4.0": {
        "delta": "io.delta:delta-spark_2.13:4.0.0",
        "iceberg": "org.apache.iceberg:iceberg-spark-runtime-4.0_2.13:1.10.1",
        "kafka": "org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.0",
        "avro": "org.apache.spark:spark-avro_2.13:4.0.0",
        "s3": "org.apache.hadoop:hadoop-aws:3.4.1",
        "iceberg-s3": "org.apache.iceberg:iceberg-aws-bundle:1.10.1",
    },
    "4.1": {
        "delta": "io.delta:delta-spark_4.1_2.13:4.1.0",
        "iceberg": "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.11.0",
        "kafka": "org.apache.spark:spark-sql-kafka-0-10_2.13:4.1.1",
        "avro": "org.apache.spark:spark-avro_2.13:4.1.1",
        "s3": "org.apache.hadoop:hadoop-aws:3.4.2",
        "iceberg-s3": "org.apache.iceberg:iceberg-aws-bundle:1.11.0",
    },
}
"""Maps Spark's minor version and a short package name to Maven coordinates: ``PACKAGES["4.0"]["delta"]``. The
coordinates are for the Scala version in ``spark.versions``.

``s3`` is Hadoop's file system ``s3a``, in the same version as the Hadoop that PySpark ships. ``iceberg-s3`` is
Iceberg's own client for S3 and Glue.
"""
LARGE = ("s3", "iceberg-s3")
"""Packages of several hundred MB. They are downloaded only if a session needs them."""

JARS: dict[str, str] = {
    "io.delta:delta-spark_2.12:3.3.3": """
        io.delta_delta-spark_2.12-3.3.3 io.delta_delta-storage-3.3.3 org.antlr_antlr4-runtime-4.9.3""",
    "org.apache.iceberg:iceberg-spark-runtime-3.5_2.12:1.10.1": """
        org.apache.iceberg_iceberg-spark-runtime-3.5_2.12-1.10.1""",
    "org.apache.spark:spark-sql-kafka-0-10_2.12:3.5.7": """
        org.apache.spark_spark-sql-kafka-0-10_2.12-3.5.7 org.apache.spark_spark-token-provider-kafka-0-10_2.12-3.5.7
        org.apache.kafka_kafka-clients-3.4.1 com.google.code.findbugs_jsr305-3.0.0
        org.apache.commons_commons-pool2-2.11.1 org.apache.hadoop_hadoop-client-runtime-3.3.4
        org.lz4_lz4-java-1.8.0 org.xerial.snappy_snappy-java-1.1.10.5 org.slf4j_slf4j-api-2.0.7
        org.apache.hadoop_hadoop-client-api-3.3.4 commons-logging_commons-logging-1.1.3""",
    "org.apache.spark:spark-avro_2.12:3.5.7": "org.apache.spark_spark-avro_2.12-3.5.7 org.tukaani_xz-1.9",
    "io.delta:delta-spark_2.13:4.0.0": """
        io.delta_delta-spark_2.13-4.0.0 io.delta_delta-storage-4.0.0 org.antlr_antlr4-runtime-4.13.1""",
    "org.apache.iceberg:iceberg-spark-runtime-4.0_2.13:1.10.1": """
        org.apache.iceberg_iceberg-spark-runtime-4.0_2.13-1.10.1""",
    "org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.0": """
        org.apache.spark_spark-sql-kafka-0-10_2.13-4.0.0 org.apache.spark_spark-token-provider-kafka-0-10_2.13-4.0.0
        org.scala-lang.modules_scala-parallel-collections_2.13-1.2.0 org.apache.kafka_kafka-clients-3.9.0
        com.google.code.findbugs_jsr305-3.0.0 org.apache.commons_commons-pool2-2.12.0
        org.apache.hadoop_hadoop-client-runtime-3.4.1 org.lz4_lz4-java-1.8.0 org.xerial.snappy_snappy-java-1.1.10.7
        org.slf4j_slf4j-api-2.0.16 org.apache.hadoop_hadoop-client-api-3.4.1""",
    "org.apache.spark:spark-avro_2.13:4.0.0": """
        org.apache.spark_spark-avro_2.13-4.0.0 org.scala-lang.modules_scala-parallel-collections_2.13-1.2.0
        org.tukaani_xz-1.10""",
    "io.delta:delta-spark_4.1_2.13:4.1.0": """
        io.delta_delta-spark_4.1_2.13-4.1.0 io.delta_delta-storage-4.1.0 io.unitycatalog_unitycatalog-client-0.4.0
        org.slf4j_slf4j-api-2.0.13 org.apache.logging.log4j_log4j-slf4j2-impl-2.25.3
        org.apache.logging.log4j_log4j-api-2.25.3 com.google.code.findbugs_jsr305-3.0.2
        org.apache.logging.log4j_log4j-core-2.25.3""",
    "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.11.0": """
        org.apache.iceberg_iceberg-spark-runtime-4.1_2.13-1.11.0""",
    "org.apache.spark:spark-sql-kafka-0-10_2.13:4.1.1": """
        org.apache.spark_spark-sql-kafka-0-10_2.13-4.1.1 org.apache.spark_spark-token-provider-kafka-0-10_2.13-4.1.1
        org.scala-lang.modules_scala-parallel-collections_2.13-1.2.0 org.apache.kafka_kafka-clients-3.9.1
        com.google.code.findbugs_jsr305-3.0.0 org.apache.commons_commons-pool2-2.12.1
        org.apache.hadoop_hadoop-client-runtime-3.4.2 org.lz4_lz4-java-1.8.0 org.xerial.snappy_snappy-java-1.1.10.8
        org.slf4j_slf4j-api-2.0.17 org.apache.hadoop_hadoop-client-api-3.4.2""",
    "org.apache.spark:spark-avro_2.13:4.1.1": """
        org.apache.spark_spark-avro_2.13-4.1.1 org.scala-lang.modules_scala-parallel-collections_2.13-1.2.0
        org.tukaani_xz-1.10""",
    "org.apache.hadoop:hadoop-aws:3.3.4": """
        org.apache.hadoop_hadoop-aws-3.3.4 com.amazonaws_aws-java-sdk-bundle-1.12.262
        org.wildfly.openssl_wildfly-openssl-1.0.7.Final""",
    "org.apache.hadoop:hadoop-aws:3.4.1": """
        org.apache.hadoop_hadoop-aws-3.4.1 software.amazon.awssdk_bundle-2.24.6
        org.wildfly.openssl_wildfly-openssl-1.1.3.Final""",
    "org.apache.hadoop:hadoop-aws:3.4.2": """
        org.apache.hadoop_hadoop-aws-3.4.2 software.amazon.awssdk_bundle-2.29.52
        software.amazon.s3.analyticsaccelerator_analyticsaccelerator-s3-1.2.1
        org.wildfly.openssl_wildfly-openssl-2.1.4.Final""",
    "org.apache.iceberg:iceberg-aws-bundle:1.10.1": "org.apache.iceberg_iceberg-aws-bundle-1.10.1",
    "org.apache.iceberg:iceberg-aws-bundle:1.11.0": "org.apache.iceberg_iceberg-aws-bundle-1.11.0",
}
"""Maps each package to the names of the jars that Spark stores for it: the package's own jars, and the jars of its
dependencies.
"""

SETTINGS: dict[str, dict[str, str]] = {
    "delta": {
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        # with the default, reading the log of one small table takes 50 tasks
        "spark.databricks.delta.snapshotPartitions": "2",
    },
    "iceberg": {"spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"},
    "avro": {f"spark.{where}.defaultJavaOptions": JAVA_OPTIONS for where in ("driver", "executor")},
}
LOG_STORE = "spark.delta.logStore.s3a.impl"
LOG_STORE_CLASS = "dagstersmt.delta.ConditionalLogStore"
"""The class with which Delta writes its log to S3, so that several drivers can commit at once. The jar of the JVM lane
contains the class.
"""
CONDITIONAL_WRITES = ("4.0", "4.1")
"""The Spark versions with which Delta can use ``LOG_STORE_CLASS``. The Hadoop of these versions contains the AWS SDK
that the class calls.
"""
JVM_OPTIONS = {
    # By default, Java does not compile methods of more than 8000 bytes. Spark generates such a method for a few stages
    # on fifty fields.
    f"spark.{where}.defaultJavaOptions": "-XX:-DontCompileHugeMethods"
    for where in ("driver", "executor")
}
"""The settings of all classic sessions (sessions without Spark Connect), whatever packages they use."""
TUNING = ("spark.databricks.delta.snapshotPartitions",)
"""The settings that only make sessions faster."""
_LISTS = {
    "spark.jars": ",",
    "spark.jars.packages": ",",
    "spark.sql.extensions": ",",
    "spark.driver.defaultJavaOptions": " ",
    "spark.executor.defaultJavaOptions": " ",
}
"""Maps settings whose value is a list to the separator of the list's items."""
_OF_ICEBERG_AWS = "org.apache.iceberg.aws."
"""The Java package of the classes that need ``iceberg-s3``, such as ``S3FileIO`` and ``GlueCatalog``."""
_CATALOG_TYPE = re.compile(r"spark\.sql\.catalog\.[^.]+\.type")
_OF_IVY = ("spark.jars.ivy", "spark.jars.repositories", "spark.jars.excludes")
_BROUGHT = ("spark.jars.packages", "spark.jars", "spark.driver.extraClassPath")
_SPARK_MAJOR = (
    # Spark's own packages have Spark's version: org.apache.spark:spark-avro_2.13:4.0.0
    re.compile(r"org\.apache\.spark:[^:]+:(\d+)\."),
    re.compile(r"org\.apache\.iceberg:iceberg-spark-runtime-(\d+)\.\d+_"),
    # since Delta 4.1, the name contains Spark's version: io.delta:delta-spark_4.1_2.13:4.1.0
    re.compile(r"io\.delta:delta-spark_(\d+)\.\d+_2\.\d+:"),
    # before Delta 4.1, Delta 3 is for Spark 3, and Delta 4 is for Spark 4
    re.compile(r"io\.delta:delta-spark_2\.\d+:(\d+)\."),
)
"""Match the coordinates of a package that is built for one major version of Spark. The group is this version."""


def session_settings(
    packages: Iterable[str], conf: Mapping[str, str], version: str, lane: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Returns ``conf`` together with the settings that ``packages`` and the JVM lane (the Java evaluator inside Spark)
    need. A setting in ``conf`` takes precedence.

    Args:
        packages: Keys of ``PACKAGES``.
        conf: The session's own settings.
        version: PySpark's version.
        lane: The settings that add the JVM lane. If None, the settings for the jar of this environment. If empty, the
            session gets no lane.

    Raises:
        UnsupportedError: SMT611 if no version of a package is known for this version of PySpark; SMT612 if ``conf``
            contains a package for a different major version of Spark.
    """
    _check_majors(conf.get("spark.jars.packages", ""), version)
    settings = dict(conf)
    if lane is None:
        lane = lane_settings()
    brought = " ".join(conf.get(key, "") for key in _BROUGHT)
    minor = minor_of(version)
    packages = {*packages, *_packages_of_settings(conf)}
    for package in sorted(packages):
        needed = dict(SETTINGS.get(package, {}))
        # the user's settings already bring the package, perhaps in another version, and two versions would clash
        if not re.search(_artifact(package), brought):
            coordinates = PACKAGES.get(minor, {}).get(package)
            if coordinates is None:
                statement = f"no {package} package is known for PySpark {version}"
                hint = f"name one in spark.jars.packages of the session, or use PySpark {', '.join(PACKAGES)}"
                raise UnsupportedError(Problem("SMT611", "spark.jars.packages", statement, hint))
            needed["spark.jars.packages"] = coordinates
        _add(settings, needed)
    _add(settings, lane)
    if lane and packages >= {"delta", "s3"} and minor in CONDITIONAL_WRITES:
        settings.setdefault(LOG_STORE, LOG_STORE_CLASS)
    # ``settings`` last, because a setting of the user takes precedence
    return {**copies_with_secrets(settings), **settings}


def _check_majors(packages: str, version: str) -> None:
    """Raises an error if ``packages``, the user's ``spark.jars.packages``, contains a package for a different major
    version of Spark. Without this check, the session would start, and the first table would fail with an error of
    Java about a missing class or method.

    Raises:
        UnsupportedError: SMT612.
    """
    minor = minor_of(version)
    if minor not in PACKAGES:  # a newer Spark, or a platform's own build
        return
    problems = []
    for coordinates in packages.replace(",", " ").split():
        for pattern in _SPARK_MAJOR:
            major = pattern.match(coordinates)
            if major is not None and major[1] != minor.partition(".")[0]:
                statement = f"{coordinates} is for Spark {major[1]}, and the session runs Spark {version}"
                hint = (
                    f"take its version for Spark {version}; or leave it out if only tables need it: the session adds "
                    "the packages of its tables itself"
                )
                problems.append(Problem("SMT612", "spark.jars.packages", statement, hint))
    if problems:
        raise UnsupportedError(problems)


def _packages_of_settings(conf: Mapping[str, str]) -> Iterator[str]:
    """Yields the packages that a session with the settings ``conf`` needs because a catalog or warehouse uses S3 or
    Glue.
    """
    for key, value in conf.items():
        if value.startswith("s3a://"):
            yield "s3"
        if value.startswith(_OF_ICEBERG_AWS) or (_CATALOG_TYPE.fullmatch(key) and value.lower() == "glue"):
            yield "iceberg-s3"


def with_fetched_jars(conf: Mapping[str, str]) -> dict[str, str]:
    """Returns ``conf`` with the paths of downloaded jars instead of package coordinates.

    With coordinates, Spark would resolve the packages with Ivy in each session, which takes seconds and prints fifty
    lines. If a package is unknown or has not been downloaded, the function returns ``conf`` unchanged, and Ivy resolves
    all packages.
    """
    packages = []
    for p in conf.get("spark.jars.packages", "").split(","):
        if p:
            packages.append(p)
    # with settings of Ivy, the user wants other repositories or jars than the known ones
    if not packages or not JARS.keys() >= {*packages} or any(key.startswith(_OF_IVY) for key in conf):
        return dict(conf)
    jar_names = []
    for package in packages:
        jar_names.extend(JARS[package].split())
    names = dict.fromkeys(jar_names)
    home = _ivy_home(_ivy_folder(packages[0]))
    jars = []
    for name in names:
        jars.append(home / "jars" / f"{name}.jar")
    # an interrupted download may leave half a jar
    if not all(map(is_zipfile, jars)):
        return dict(conf)
    settings = {}
    for key, value in conf.items():
        if key != "spark.jars.packages":
            settings[key] = value
    return {**settings, "spark.jars": _joined(conf.get("spark.jars", ""), ",".join(jar.as_uri() for jar in jars), ",")}


def _ivy_folder(package: str) -> str:
    """Returns the name of the folder in which Spark stores the files that Ivy downloads for ``package``. For example,
    it is ``.ivy2`` for a package of Spark 3.5, and ``.ivy2.5.2`` for a package of Spark 4.
    """
    for version, packages in PACKAGES.items():
        if package in packages.values():
            return VERSIONS[version].ivy
    return VERSIONS[NEWEST].ivy


def _ivy_home(folder: str) -> Path:
    """Returns the path of Ivy's folder ``folder`` in the user's home directory. Java takes the home directory from the
    operating system, not from ``HOME``.
    """
    try:
        return Path(pwd.getpwuid(os.getuid()).pw_dir) / folder
    except KeyError:  # a user without a name, as in some containers
        return Path(folder)


def _add(conf: dict[str, str], more: Mapping[str, str]) -> None:
    """Adds ``more`` to the session settings ``conf``. If both have a setting whose value is a list, the lists are
    joined. For any other setting, the value in ``conf`` takes precedence.
    """
    for key, value in more.items():
        if key in _LISTS:
            conf[key] = _joined(conf.get(key, ""), value, _LISTS[key])
        else:
            conf.setdefault(key, value)


def remedy(package: str, session: Any) -> str:
    """Returns the hint on how to add ``package`` to ``session``, with the version for the session's Spark and Scala.

    Args:
        package: A key of ``PACKAGES``.
        session: The session that lacks the package.
    """
    minor = minor_of(session.version)
    coordinates = PACKAGES.get(minor, {}).get(package) or f"the {package} package for Spark {minor}"
    if minor in VERSIONS:
        # PACKAGES has the coordinates for PyPI's PySpark; the session may be a distribution with another Scala
        coordinates = coordinates.replace(f"_{VERSIONS[minor].scala}:", f"_{scala_of(session)}:")
    parts = [f"add {coordinates} to spark.jars.packages"]
    for key, value in SETTINGS.get(package, {}).items():
        if key not in TUNING:
            parts.append(f"add {value} to {key}" if key in _LISTS else f"set {key} to {value}")
    return "let SparkSessionResource make the session, or " + ", and ".join(parts)


def _artifact(package: str) -> str:
    """Returns the artifact name of ``package``. The package's coordinates and the names of its jars contain this
    name.
    """
    names = {
        "delta": r"delta-spark",
        "iceberg": r"iceberg-spark",
        "kafka": r"spark-sql-kafka",
        "avro": r"spark-avro",
        "s3": r"hadoop-aws",
        "iceberg-s3": r"iceberg-aws-bundle",
    }
    return names[package]


def _joined(have: str, more: str, between: str) -> str:
    parts = [p for p in have.split(between) if p]
    added = []
    for p in more.split(between):
        if p not in parts:
            added.append(p)
    return between.join([*parts, *added])


def fetch(packages: Sequence[str] = ()) -> None:
    """Starts a session that needs ``packages``, so that Spark downloads the packages that are missing.

    Args:
        packages: Keys of ``PACKAGES``. If empty, all packages except those in ``LARGE``.
    """
    import pyspark
    from pyspark.sql import SparkSession

    minor = minor_of(pyspark.__version__)
    conf = {"spark.master": "local[1]", "spark.ui.enabled": "false", "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1"}  # fmt: skip
    builder = SparkSession.builder
    chosen = packages or [name for name in PACKAGES[minor] if name not in LARGE]
    for key, value in session_settings(chosen, conf, pyspark.__version__).items():
        builder = builder.config(key, value)
    builder.getOrCreate().stop()


if __name__ == "__main__":
    fetch(sys.argv[1:])
