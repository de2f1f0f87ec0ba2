"""Provides Spark sessions as Dagster resources."""

import os
import sys
from collections.abc import Iterable, Mapping
from typing import Any

import dagster as dg
from pydantic import Field, PrivateAttr

from dagster_smt.errors import ConfigError, Problem, needs_extras
from dagster_smt.model.secrets import as_reference, resolved, setting_shows_secret
from dagster_smt.orchestration.runs.guard import keep_sigint
from dagster_smt.spark.environment import check_java, is_connect, local_java_options
from dagster_smt.spark.packages import session_settings, with_fetched_jars
from dagster_smt.spark.redaction import OPTIONS_SETTING, SETTING, redacting
from dagster_smt.spark.session_conf import CLASSIC_CONF, DRIVER_CONF, LOCAL_CONF
from dagster_smt.spark.session_conf import SESSION_CONF as SESSION_CONF

_warned: set[str] = set()
_needed: set[str] = set()


def need_packages(packages: Iterable[str]) -> None:
    """Records that the Spark sessions of this process need ``packages``.

    Definitions call this function while they load, which is before a session starts.
    """
    _needed.update(packages)


class SparkSessionResource(dg.ConfigurableResource):
    """A Spark session that starts at its first use.

    Use one resource per code location. A Python process has only one session, and the resource that starts first
    determines the settings of this session. Without settings, the session is local and uses all cores. The session
    listens on 127.0.0.1 only, uses UTC and has no web interface. It has the packages and settings that the sources and
    sinks of the loaded definitions need (``spark.packages``). The user's settings in ``conf`` override all of these
    settings.
    """

    conf: dict[str, str] = Field(
        default_factory=dict,
        description="Settings of Spark, such as spark.master. Write secrets as ${env:NAME}; the session looks them up.",
    )
    remote: str | None = Field(
        default=None,
        description="Address of a Spark Connect server (sc://host:port), instead of a session in this process.",
    )
    archives: list[str] = Field(
        default_factory=list,
        description="Packed environments that a Connect session ships to its executors: environment.tar.gz#environment",
    )
    stop_on_teardown: bool = Field(
        default=False,
        description="Stop the session at the end of the run. Leave it off if runs share the session.",
    )
    _session: Any = PrivateAttr(default=None)

    def __init__(self, **data: Any) -> None:
        """Creates the resource like ``dg.ConfigurableResource``. An ``EnvVar`` in ``conf`` becomes a reference such as
        ``${env:NAME}``, which is resolved when the session starts.

        Raises:
            ConfigError: SMT048, for each secret in ``conf``, because Dagster shows ``conf``.
        """
        if isinstance(data.get("conf"), Mapping):
            references = {}
            for key, value in data["conf"].items():
                references[key] = as_reference(value)
            data["conf"] = references
            _refuse_secrets(data["conf"])
        super().__init__(**data)

    @property
    def _settings(self) -> dict[str, str]:
        """Returns the settings in ``conf`` with resolved references, and hides secrets from Spark's own log."""
        conf = resolved(self.conf, "conf")
        return {**conf, OPTIONS_SETTING: redacting(conf, OPTIONS_SETTING)}

    @property
    def spark_session(self) -> Any:
        """The Spark session, which starts at the first use.

        Raises:
            UnsupportedError: SMT601 or SMT602, there is no Java that can run Spark; SMT612, ``conf`` contains a package
                for a different major version of Spark; SMT650, there is no PySpark.
        """
        if not self.remote:
            forget_dead_jvm()
        with needs_extras():
            import pyspark  # noqa: F401
        if self._session is None or not _usable(self._session):
            self._session = self._connect() if self.remote else self._start()
        return self._session

    def _connect(self) -> Any:
        from pyspark.sql import SparkSession

        session = (
            _configured(SparkSession.builder, {**SESSION_CONF, **self._settings}).remote(self.remote).getOrCreate()
        )
        if self.archives:
            session.addArtifacts(*self.archives, archive=True)
        return session

    def _start(self) -> Any:
        import pyspark

        # Spark reads this setting only when its context starts, so a session of Spark Connect cannot set it
        own = {**self._settings, SETTING: redacting(self.conf, SETTING)}
        conf = session_settings(_needed, {**SESSION_CONF, **CLASSIC_CONF, **own}, pyspark.__version__)
        if conf["spark.master"].startswith("local"):
            check_java()
            conf = {**LOCAL_CONF, **conf, **local_java_options(conf, os.environ)}
            # without the variable, PySpark starts its workers with the first ``python3`` of PATH, which may be another
            # environment
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        if "spark.pyspark.python" in own:  # in a running process, PySpark reads only the environment variable
            os.environ["PYSPARK_PYTHON"] = own["spark.pyspark.python"]
        from pyspark.sql import SparkSession

        # this is asked before getOrCreate, because afterwards there is always an active session
        _warn_if_ignored(SparkSession.getActiveSession(), resolved(self.conf, "conf"))
        with keep_sigint():
            return _configured(SparkSession.builder, with_fetched_jars(conf)).getOrCreate()

    def teardown_after_execution(self, context: dg.InitResourceContext) -> None:
        """Stops the session if ``stop_on_teardown`` is set."""
        if self.stop_on_teardown and self._session is not None:
            self._session.stop()
        self._session = None


def external_settings(
    conf: Mapping[str, str], spark_version: str, lane: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Returns the settings for a Spark session in another process. The result contains ``conf`` (the settings of the
    user) and the settings that the tables need.

    Args:
        conf: The user's settings, which take precedence.
        spark_version: The version of Spark in the other process.
        lane: See ``session_settings``.

    Raises:
        ConfigError: SMT048, ``conf`` contains a secret, which other users could see in the list of processes.
        UnsupportedError: SMT611, no package is known for this version of Spark; SMT612, ``conf`` contains a package
            for a different major version of Spark.
    """
    _refuse_secrets(conf)
    return session_settings(_needed, {**SESSION_CONF, **DRIVER_CONF, **conf}, spark_version, lane)


def submitted_session() -> Any:
    """Returns the session of a process that ``spark-submit`` has started. Settings of ``spark-submit`` take precedence
    over the settings of this package.
    """
    from pyspark.sql import SparkSession

    session = SparkSession.builder.getOrCreate()
    submitted = session.sparkContext.getConf()
    for key, value in SESSION_CONF.items():
        if not submitted.contains(key):
            session.conf.set(key, value)
    return session


def _refuse_secrets(conf: Mapping[str, Any]) -> None:
    hint = "put the secret into the environment and write ${env:NAME}: the session looks it up at its start"
    problems = []
    for key, value in conf.items():
        if isinstance(value, str) and setting_shows_secret(key, value):
            problems.append(Problem("SMT048", key, "the settings of Spark contain a secret", hint))
    if problems:
        raise ConfigError(problems)


def forget_dead_jvm() -> None:
    """If the JVM of this process has died, ensures that the next session starts a new JVM."""
    # without PySpark, this process has no JVM; definitions load without importing PySpark
    if "pyspark" not in sys.modules:
        return
    from pyspark import SparkContext
    from pyspark.sql import SparkSession, SQLContext

    process = getattr(SparkContext._gateway, "proc", None)
    # proc is None if spark-submit has started the JVM before this process; poll() is None while the JVM runs
    if process is None or process.poll() is None:
        return
    # PySpark keeps these objects for the life of the process and never checks that their JVM is alive. No public
    # function releases them: even stop() needs an answer from the JVM.
    SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = SparkSession._activeSession = SQLContext._instantiatedContext = None


def _usable(session: Any) -> bool:
    """Returns True if ``session`` can still be used: it has not been stopped, and its JVM is still the JVM of this
    process.
    """
    # the JVM of a Connect session is on the server, and its sparkContext raises an error
    if is_connect(session):
        return True
    from pyspark import SparkContext

    # stop() clears the active context, and a new JVM brings a new one
    return session.sparkContext is SparkContext._active_spark_context


def _configured(builder: Any, conf: Mapping[str, str]) -> Any:
    for key, value in conf.items():
        builder = builder.config(key, value)
    return builder


def _warn_if_ignored(running: Any, conf: Mapping[str, str]) -> None:
    """Warns about settings in ``conf`` that have no effect, because the session ``running`` has already started. Each
    process warns only once about a setting.
    """
    if running is None:
        return
    fixed = []
    for k in conf:
        # getOrCreate applies modifiable settings, such as spark.sql.ansi.enabled, to the running session
        if k not in _warned and not running.conf.isModifiable(k):
            fixed.append(k)
    different = []
    for k in fixed:
        if running.conf.get(k, None) != conf[k]:
            different.append(k)
    ignored = sorted(different)
    if ignored:
        _warned.update(ignored)
        dg.get_dagster_logger("dagster_smt").warning(
            f"a Spark session was running already and keeps its own {', '.join(ignored)}: "
            "use one Spark resource per code location, with all settings"
        )


def spark_session_of(resource: Any) -> Any:
    """Returns the Spark session of a resource.

    The resource may be a ``SparkSessionResource``, a resource from dagster-pyspark, or a session.

    Raises:
        ConfigError: SMT030, the resource is something else.
        UnsupportedError: There is no Java that can run Spark.
    """
    forget_dead_jvm()
    with keep_sigint():  # dagster-pyspark's lazy resource starts the session here
        session = getattr(resource, "spark_session", resource)
    # the sessions of Spark, Spark Connect and Databricks Connect are different classes, so their methods are checked
    if not (hasattr(session, "createDataFrame") and hasattr(session, "conf")):
        hint = "use dagster_smt's SparkSessionResource, PySparkResource, LazyPySparkResource, or a SparkSession"
        raise ConfigError(Problem("SMT030", type(resource).__name__, "the resource holds no Spark session", hint))
    return session
