"""The settings of a chain's foreign stages: stages whose classes run from jars."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from dagster_smt.authoring.options import split_list
from dagster_smt.errors import CONFIG_EXCEPTION, Problem
from dagster_smt.model.java_text import trim

CONNECT_VERSION = "4.3.1"
"""The version of Kafka Connect for stages whose classes run from jars, unless a chain names a different version."""
Engine = Literal["dagster_smt", "connect"]
_NUMBERS = {
    "stage.timeout.ms": "stage_timeout_ms",
    "errors.retry.timeout": "retry_timeout_ms",
    "errors.retry.delay.max.ms": "retry_delay_max_ms",
}


@dataclass(frozen=True)
class ForeignSettings:
    """The settings of a chain for classes from jars.

    Attributes:
        jars: ``smt_jars``: files, folders as in ``plugin.path``, and Maven coordinates.
        connect_version: The version of Kafka Connect's own jars.
        engine: With ``connect``, Kafka's and the jars' own classes run even if this package has a class of the same
            name.
        stage_timeout_ms: The maximum time that one stage may take for one record, in milliseconds; 0: no limit.
        retry_timeout_ms: Connect's ``errors.retry.timeout``: how long a stage that throws RetriableException is
            retried; 0: no retry, -1: no limit.
        retry_delay_max_ms: Connect's ``errors.retry.delay.max.ms``.
        in_spark: True if the classes may run in Spark's JVM. Runs are then faster, but nothing can stop a class that
            hangs.
        messages: True if problems contain the messages of exceptions. Messages may quote records, so only a certificate
            sets this attribute: a certificate compares the messages and shows none of them.
    """

    jars: tuple[str, ...] = ()
    connect_version: str = CONNECT_VERSION
    engine: Engine = "dagster_smt"
    stage_timeout_ms: int = 60_000
    retry_timeout_ms: int = 0
    retry_delay_max_ms: int = 60_000
    in_spark: bool = False
    messages: bool = False

    def with_jars(self, jars: Sequence[Any], connect_version: str = "") -> "ForeignSettings":
        """Returns a copy of the settings with more jars. ``connect_version`` replaces the version in the settings; if
        ``connect_version`` is empty, the version stays.
        """
        added = tuple(dict.fromkeys((*self.jars, *map(str, jars))))
        return replace(self, jars=added, connect_version=connect_version or self.connect_version)


def settings_of(source: Any) -> tuple[ForeignSettings, list[Problem]]:
    """Reads the settings for classes from jars in ``source``, the source of a chain. Returns the settings, and their
    problems (SMT026).

    Properties may contain ``smt.jars``, ``connect.version``, ``engine``, ``stage.process``, ``stage.timeout.ms`` and
    Connect's ``errors.retry.*``. YAML has the same keys next to ``stages``; ``smt_jars`` may be a list.
    """
    if not isinstance(source, Mapping):
        return ForeignSettings(), []
    settings, problems = ForeignSettings(), []
    jars = source.get("smt.jars", source.get("smt_jars", ()))
    listed = split_list(jars) if isinstance(jars, str) else list(jars or ())
    version = trim(str(source.get("connect.version", source.get("connect_version", ""))))
    settings = settings.with_jars(listed, version)
    engine = trim(str(source.get("engine", "dagster_smt")))
    if engine == "connect":
        settings = replace(settings, engine="connect")
    elif engine != "dagster_smt":
        problems.append(_problem("engine", "is neither 'connect' nor 'dagster_smt'", "remove it, or write connect"))
    process = trim(str(source.get("stage.process", "own")))
    if process == "spark":
        settings = replace(settings, in_spark=True)
    elif process != "own":
        problems.append(_problem("stage.process", "is neither 'own' nor 'spark'", "remove it, or write spark"))
    numbers: dict[str, Any] = {}
    for key, attribute in _NUMBERS.items():
        if key not in source:
            continue
        try:
            numbers[attribute] = int(trim(str(source[key])))
        except ValueError:
            problems.append(_problem(key, "is not a whole number of milliseconds", "write digits"))
    return replace(settings, **numbers), problems


def _problem(key: str, statement: str, hint: str) -> Problem:
    return Problem("SMT026", key, statement, hint, CONFIG_EXCEPTION)
