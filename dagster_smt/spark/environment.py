"""Checks whether this machine can start Spark. Without this check, PySpark would print pages of stack traces."""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dagster_smt.errors import Problem, UnsupportedError
from dagster_smt.spark.versions import is_connect as is_connect
from dagster_smt.spark.versions import missing, supported_java

_JAVA_VARIABLES = ("JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS", "SPARK_SUBMIT_OPTS", "_JAVA_OPTIONS")
_COLLECTOR = re.compile(r"-XX:\+Use\w*GC\b")
_DEFAULTS = "spark.driver.defaultJavaOptions"
# Java 8 calls itself 1.8.0, all later versions begin with their major version: 17.0.2.
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')

_ANCIENT = "one date before 1582 or timestamp before 1900 would end every run"
_REBASE = ("spark.sql.parquet.datetimeRebaseModeInWrite", "spark.sql.parquet.int96RebaseModeInWrite")
_SETTINGS = {
    "spark.sql.retainGroupColumns": ("false", "counts by topic would lose their topics"),
    "spark.sql.parser.quotedRegexColumnNames": ("true", "the names of columns would be regular expressions"),
    "spark.sql.ansi.enforceReservedKeywords": ("true", "Delta cannot read statistics of columns named as keywords"),
    **dict.fromkeys(_REBASE, ("exception", _ANCIENT)),
}
"""Maps a session setting to two strings: the value that this package rejects, and the harm that this value would do. No
version of Spark 4 has such a value by default.
"""


def check_java() -> int:
    """Returns the major version of the Java that Spark starts. Spark starts the Java in ``JAVA_HOME``, or else the
    first ``java`` on ``PATH``.

    Spark 4 needs Java 17 or 21. Spark 3.5 needs Java 11 or 17.

    Returns:
        The major version of Java.

    Raises:
        UnsupportedError: SMT601 if there is no Java, or if Java does not start; SMT602 if its version is unsupported.
    """
    supported = supported_java()
    needed = f"Spark needs Java {' or '.join(map(str, supported))}"
    home = os.environ.get("JAVA_HOME", "")
    where = "JAVA_HOME" if home else "PATH"
    java = shutil.which("java", path=str(Path(home) / "bin") if home else None)
    if java is None:
        raise _unsupported("SMT601", where, f"{needed}, and there is no Java in {where}", home)
    try:
        done = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        raise _unsupported("SMT601", where, f"{needed}, and the one in {where} does not start", home) from None
    # Java prints its version to standard error
    match = _VERSION.search(done.stderr + done.stdout)
    if match is None or int(match[1]) not in supported:
        version = match[1] if match else "of an unknown version"
        raise _unsupported("SMT602", where, f"{needed}, and the one in {where} is {version}", home)
    return int(match[1])


def local_java_options(conf: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    """Returns options that select Java's throughput collector for a local session, unless the user has chosen a
    collector.

    Rows produce so much garbage that Java's default collector takes up a tenth of a run's time. If the user has chosen
    a collector, the function must not add another one, because Java does not start with two.

    Args:
        conf: The session's settings.
        environ: The environment variables of the session. If ``SPARK_HOME`` or ``SPARK_CONF_DIR`` is set, the function
            returns no options, because a file of settings in one of these folders may choose a collector.
    """
    options = []
    for k, v in {**conf, **environ}.items():
        if k.endswith(("JavaOptions", *_JAVA_VARIABLES)):
            options.append(v)
    chosen = " ".join(options)
    if _COLLECTOR.search(chosen) or any(map(environ.get, ("SPARK_HOME", "SPARK_CONF_DIR"))):
        return {}
    return {_DEFAULTS: f"{conf.get(_DEFAULTS, '')} -XX:+UseParallelGC".strip()}


def check_settings(session: Any) -> None:
    """Raises an error if a setting of ``session`` changes the meaning of this package's SQL.

    With Spark 3.5, the function first changes the settings in ``_REBASE``. Their defaults would make Spark fail when it
    writes a date before 1582 to Parquet. The function keeps a value that the user has set. With Spark Connect, it
    overwrites such a value, because Spark Connect does not show whether a value is the default.

    Raises:
        UnsupportedError: SMT639 if a setting of the session changes the meaning of this package's SQL.
    """
    if "ancient moments in Parquet" in missing():
        for name in _REBASE:
            # a client of Spark Connect cannot distinguish a setting from a default
            if is_connect(session) or session.conf.get(name, None) is None:
                session.conf.set(name, "CORRECTED")
    for name, (value, statement) in _SETTINGS.items():
        if str(session.conf.get(name, None)).lower() == value:
            hint = "unset it, or use a separate session for runs"
            raise UnsupportedError(Problem("SMT639", name, f"the session has {value}: {statement}", hint))


def _unsupported(code: str, where: str, statement: str, home: str) -> UnsupportedError:
    if home:
        remedy = "point JAVA_HOME to it, or unset JAVA_HOME"
    else:
        remedy = "put it on PATH, or point JAVA_HOME to it"
    return UnsupportedError(Problem(code, where, statement, f"install Eclipse Temurin 17 for example, and {remedy}"))
