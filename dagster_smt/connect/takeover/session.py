"""The Spark session of a takeover. In a takeover, runs of this package continue the table of a connector."""

import os
import sys
from collections.abc import Mapping

import pyspark
from pyspark.sql import SparkSession

from dagster_smt.model.secrets import resolved
from dagster_smt.run.run_spec import RunSpec
from dagster_smt.spark.environment import check_java, local_java_options
from dagster_smt.spark.packages import session_settings, with_fetched_jars
from dagster_smt.spark.redaction import OPTIONS_SETTING, SETTING, redacting
from dagster_smt.spark.session_conf import CLASSIC_CONF, LOCAL_CONF, SESSION_CONF
from dagster_smt.tables.spark_packages import packages_of


def take_over_session(conf: Mapping[str, str], spec: RunSpec) -> tuple[SparkSession, bool]:
    """Returns a Spark session, and True if the session is new. An active session is used again, and gets the settings
    ``conf``. Otherwise the function creates a session with the packages that the component needs.

    Args:
        conf: The settings of the session. References to secrets are resolved, and Spark's logs hide their values.
        spec: The run of the component.
    """
    own = resolved(conf, "conf")
    active = SparkSession.getActiveSession()
    if active is not None:
        for name, value in own.items():
            active.conf.set(name, value)
        return active, False
    own |= {SETTING: redacting(conf, SETTING), OPTIONS_SETTING: redacting(conf, OPTIONS_SETTING)}
    packages = packages_of(spec.sink, spec.table)
    settings = session_settings(packages, {**SESSION_CONF, **CLASSIC_CONF, **own}, pyspark.__version__)
    if settings["spark.master"].startswith("local"):
        check_java()
        settings = {**LOCAL_CONF, **settings, **local_java_options(settings, os.environ)}
        # without it, Spark's workers run python3 of the PATH, which may lack this package
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("dagster-smt takeover")
    for name, value in with_fetched_jars(settings).items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session, True
