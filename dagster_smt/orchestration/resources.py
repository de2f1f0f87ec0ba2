"""Spark sessions as Dagster resources."""

import os
import sys
from collections.abc import Mapping
from typing import Any

import dagster as dg
from pydantic import Field, PrivateAttr

from dagster_smt.errors import ConfigError, Problem
from dagster_smt.orchestration.guard import keep_sigint
from dagster_smt.spark.environment import check_java

SESSION_CONF = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "1000",  # larger batches of Python objects are slower
}
LOCAL_CONF = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}
CLASSIC_CONF = {
    "spark.master": "local[*]",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
_warned: set[str] = set()


class SparkSessionResource(dg.ConfigurableResource):
    """A Spark session, made when it is first asked for.

    One resource per code location: a Python process has one session, and the settings of the first one win. Without
    settings it is a local session on all cores that listens on 127.0.0.1 only, in UTC, without a web interface. What
    ``conf`` says wins over that.
    """

    conf: dict[str, str] = Field(default_factory=dict, description="Settings of Spark, such as spark.master.")
    remote: str | None = Field(
        default=None, description="Address of a Spark Connect server (sc://host:port) instead of a session in here."
    )
    stop_on_teardown: bool = Field(
        default=False,
        description="Stop the session at the end of the run. Leave it to the process where runs share it.",
    )
    _session: Any = PrivateAttr(default=None)

    @property
    def spark_session(self) -> Any:
        """The session.

        Raises:
            UnsupportedError: SMT601 or SMT602, there is no Java that Spark can run on.
        """
        if self._session is None:
            self._session = self._connect() if self.remote else self._start()
        return self._session

    def _connect(self) -> Any:
        from pyspark.sql import SparkSession

        return _configured(SparkSession.builder, {**SESSION_CONF, **self.conf}).remote(self.remote).getOrCreate()

    def _start(self) -> Any:
        conf = {**SESSION_CONF, **CLASSIC_CONF, **self.conf}
        if conf["spark.master"].startswith("local"):
            check_java()
            conf = {**LOCAL_CONF, **conf}
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        from pyspark.sql import SparkSession

        _warn_if_ignored(SparkSession.getActiveSession(), self.conf)
        with keep_sigint():
            return _configured(SparkSession.builder, conf).getOrCreate()

    def teardown_after_execution(self, context: dg.InitResourceContext) -> None:
        """Stop the session, if asked to."""
        if self.stop_on_teardown and self._session is not None:
            self._session.stop()
        self._session = None


def _configured(builder: Any, conf: Mapping[str, str]) -> Any:
    for key, value in conf.items():
        builder = builder.config(key, value)
    return builder


def _warn_if_ignored(running: Any, conf: Mapping[str, str]) -> None:
    """Name, once per process, the settings that a session which is running already will not take."""
    if running is None:
        return
    fixed = [k for k in conf if k not in _warned and not running.conf.isModifiable(k)]
    ignored = sorted(k for k in fixed if running.conf.get(k, None) != conf[k])
    if ignored:
        _warned.update(ignored)
        dg.get_dagster_logger("dagster_smt").warning(
            f"a Spark session was running already and keeps its own {', '.join(ignored)}: "
            "use one Spark resource per code location, with all settings"
        )


def spark_session_of(resource: Any) -> Any:
    """The session of a resource: ours, one of dagster-pyspark's, or a session that is a resource itself.

    Raises:
        ConfigError: SMT030, the resource is something else.
        UnsupportedError: There is no Java that Spark can run on.
    """
    with keep_sigint():  # dagster-pyspark's lazy one makes the session here
        session = getattr(resource, "spark_session", resource)
    if not (hasattr(session, "createDataFrame") and hasattr(session, "conf")):
        hint = "use dagster_smt's SparkSessionResource, PySparkResource, LazyPySparkResource, or a SparkSession"
        raise ConfigError(Problem("SMT030", type(resource).__name__, "the resource holds no Spark session", hint))
    return session
