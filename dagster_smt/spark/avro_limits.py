"""Checks whether the JVMs of a session have been started with limits for Java's Avro reader. Without limits, this
reader allocates as much memory as a record claims to need, before it checks the claim.

A record of six bytes that claims a billion items would take all memory of an executor and end the run. So Spark reads
Avro only if its JVMs have been started with limits. Otherwise Python reads Avro. Python allocates memory only for bytes
that it has read.
"""

import logging
import re
from functools import cache
from typing import Any

from dagster_smt.model.schema_size import MAX_BYTES, MAX_ITEMS
from dagster_smt.spark.environment import is_connect
from dagster_smt.spark.java_classes import java_class

_PREFIX = "org.apache.avro.limits."
LIMITS = {
    f"{_PREFIX}collectionItems.maxLength": MAX_ITEMS,
    f"{_PREFIX}string.maxLength": MAX_BYTES,
    f"{_PREFIX}bytes.maxLength": MAX_BYTES,
}
"""JVM properties that limit Java's Avro reader. Lower limits would reject records that Python can read."""
JAVA_OPTIONS = " ".join(f"-D{name}={limit}" for name, limit in LIMITS.items())
_log = logging.getLogger(__name__)


def has_limits(session: Any) -> bool:
    """Returns True if all JVMs of ``session`` have been started with Avro's limits."""
    if is_connect(session):
        driver = _in_options(session, "driver")
    else:
        driver = _in_this_jvm(session)
    # in a local session, the executors are threads of the driver's JVM
    local = str(session.conf.get("spark.master", "")).startswith("local")
    limited = driver and (local or _in_options(session, "executor"))
    if not limited:
        _tell()
    return limited


@cache
def _tell() -> None:
    """Logs, once per process, that Avro is read more slowly because the session has no Avro limits."""
    _log.warning(
        "Python reads Avro here, which is slower: the session's Java has no limits for the claims of records. "
        "Let SparkSessionResource create the session, or start it with spark.driver.defaultJavaOptions and "
        "spark.executor.defaultJavaOptions: %s",
        JAVA_OPTIONS,
    )


def _in_this_jvm(session: Any) -> bool:
    """Returns True if the JVM of the driver of ``session`` has Avro's limits.

    A session can be created in a JVM that was already running, so the session's settings do not prove that its JVM has
    the limits.
    """
    try:
        system = java_class(session, "java.lang.System")
        properties = [system.getProperty(name) for name in LIMITS]
    except Exception:  # noqa: BLE001 a platform may block access to its JVM
        return False
    return properties == [str(limit) for limit in LIMITS.values()]


def _in_options(session: Any, where: str) -> bool:
    """Returns True if the Java options in the settings of ``session`` set Avro's limits. ``where`` is ``driver`` or
    ``executor``: the JVMs to which the options belong.

    If an option appears twice, the last one applies, as in Java.
    """
    options = []
    # in this order, because Spark puts the user's extra options after the default ones
    for kind in ("default", "extra"):
        options.append(session.conf.get(f"spark.{where}.{kind}JavaOptions", None) or "")
    properties = dict(re.findall(r"-D([\w.]+)=(\S+)", " ".join(options)))
    for name, limit in LIMITS.items():
        if properties.get(name) != str(limit):
            return False
    return True
