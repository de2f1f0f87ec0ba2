"""Converts failures in Spark, the JVM and the file system into problems with a code.

The original messages may quote the value of a field. So a problem contains only names, such as Spark's error condition
and Java's classes.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.errors import PySparkException

from dagster_smt.errors import EngineError, Problem, SmtError, TableError
from dagster_smt.model.reports.causes import SWITCH, log_causes
from dagster_smt.spark.executors import SHIPPING
from dagster_smt.spark.versions import condition_of
from dagster_smt.spark.workers import problems_of_worker
from dagster_smt.visible import without_partitions

# the class of a Java exception, where a stack trace begins or names a cause; the message after it is left out
_JAVA = re.compile(r"(?:^|Caused by: |: )((?:[a-z][\w$]*\.)+[A-Z][\w$]*(?:Exception|Error))", re.MULTILINE)
_FULL = re.compile(r"No space left on device|Disk quota exceeded", re.IGNORECASE)
_DENIED = re.compile(r"Permission denied|AccessControlException|AccessDenied|Read-only file system", re.IGNORECASE)
_MODULE = re.compile(r"ModuleNotFoundError: No module named '([\w.]+)'")
_KNOWN = {
    r"KAFKA_DATA_LOSS|OffsetOutOfRangeException": (
        *("SMT634", "records or their topic were deleted while the run read them"),
        "run again: the next run reports the lost records",
    ),
    r"RecordTooLargeException|MESSAGE_TOO_LARGE": (
        *("SMT635", "a record is longer than its topic permits"),
        "raise max.message.bytes of the topic; or grant DescribeConfigs on topics and cluster: it then fails alone",
    ),
    r"org\.apache\.kafka\S*InvalidRecordException": (
        *("SMT641", "a topic refuses a record"),
        "a compacted topic (cleanup.policy) rejects records without a key: create keys in the chain (ValueToKey), or "
        "grant DescribeConfigs on topics and cluster, so that such a record fails alone",
    ),
    r"SaslAuthenticationException": (
        *("SMT626", "the brokers refuse the login"),
        "check kafka.sasl.mechanism, kafka.sasl.jaas.config and the variables that it refers to",
    ),
    r"SslAuthenticationException|SSLHandshakeException": (
        *("SMT627", "the TLS connection fails"),
        "check kafka.security.protocol, the certificates and the host names in them",
    ),
    r"(?:Topic|Group|Cluster|TransactionalId)AuthorizationException": (
        *("SMT628", "the brokers deny access"),
        "grant Read and Describe on the topics, Write and Create where the run writes",
    ),
    r"org\.apache\.kafka\S*(?:Timeout|Disconnect|Network|UnknownTopicOrPartition)Exception": (
        *("SMT625", "a broker no longer responds"),
        "run again when the brokers answer",
    ),
    r"fs\.s3a\.S3AFileSystem not found|No FileSystem for scheme \"s3": (
        *("SMT661", "the Spark session has no file system for S3"),
        "write the path as s3a://, and let SparkSessionResource make the session; or add hadoop-aws to "
        "spark.jars.packages, in the version of the session's Hadoop",
    ),
    "JDBC catalog is initialized without view support": (
        *("SMT662", "Spark looks for views, and the JDBC catalog of Iceberg has none"),
        "set jdbc.schema-version to V1 in the settings of the catalog, or of the REST server over it",
    ),
    "does not support truncate in batch mode": (
        *("SMT666", "Delta before 3.3.3 cannot replace these rows on Spark 3.5.6 or newer"),
        "add Delta 3.3.3 to spark.jars.packages of the session, instead of the older jars of Delta",
    ),
    "NoSuchNamespaceException": (
        *("SMT663", "the catalog has no such namespace as that of the table"),
        "create the namespace: CREATE NAMESPACE, with the names of catalog and namespace",
    ),
    "OversizedAllocationException": (
        *("SMT638", "a batch of records for Python has more than 2 GB"),
        "set spark.sql.execution.arrow.maxBytesPerBatch to 256m in the conf of the Spark session",
    ),
}
_LOG = "read the log of the Spark application. Unless this run reported a commit, nothing was committed: run again"


@contextmanager
def coded_failures(place: str) -> Iterator[None]:
    """Converts every foreign exception inside the block into an ``EngineError``.

    Args:
        place: The name of the asset or step that was running.

    Raises:
        EngineError: SMT620 Spark failed, SMT621 the JVM or the Connect server is gone, SMT622 the file system denied an
            operation, SMT623 the disk is full, SMT624 executors lack a Python module, SMT625 to SMT628, SMT634, SMT635
            and SMT641 Kafka failed, SMT638 a batch of records is too large for Arrow, SMT661 to SMT663 an object store
            or a catalog failed, SMT666 Delta is too old for this Spark; SMT591, an unforeseen failure.
    """
    try:
        yield
    except SmtError as error:
        log_causes(error)
        raise
    except Exception as error:  # noqa: BLE001 - its message may quote a value, so none may pass
        coded = EngineError(_problem(error, place)).with_traceback(error.__traceback__)
        # Python sets the context only in the raise statement below, and log_causes needs it before
        coded.__context__ = error
        log_causes(coded)
        raise coded from None


def _problem(error: Exception, place: str) -> Problem:
    module = type(error).__module__
    if isinstance(error, OSError):
        # py4j talks to the JVM over a socket
        if module.startswith("py4j") or isinstance(error, ConnectionError):
            return _gone(place)
        return _file_system(error, place)
    if type(error).__name__ in ("Py4JNetworkError", "Py4JError"):
        return _gone(place)
    if isinstance(error, PySparkException) or module.startswith("py4j"):
        return _of_spark(error, place)
    hint = f"run again with {SWITCH}=1 in the environment: standard error then has its message, values included"
    return Problem("SMT591", place, f"a {type(error).__name__} that was not foreseen", hint)


def _gone(place: str) -> Problem:
    hint = "look whether it ran out of memory (spark.driver.memory); run again: a new session is made"
    return Problem("SMT621", place, "the JVM of the Spark session is gone", hint)


def _file_system(error: OSError, place: str) -> Problem:
    where = without_partitions(str(error.filename)) if error.filename else place
    code, hint = "SMT622", "check that the place exists and that this process may read and write it; run again"
    if error.errno is not None and _FULL.search(error.strerror or ""):
        code, hint = "SMT623", "free space, then run again"
    return Problem(code, where, f"the file system refused: {error.strerror or type(error).__name__}", hint)


def _of_spark(error: Exception, place: str) -> Problem:
    text = str(error)
    if match := _MODULE.search(text):
        statement = f"the executors have no Python module '{match[1]}'"
        return Problem("SMT624", place, statement, SHIPPING)
    # an error of this package in a Python worker arrives as a text inside Spark's exception
    if problems := problems_of_worker(text):
        return problems[0]
    for pattern, (code, statement, hint) in _KNOWN.items():
        if re.search(pattern, text):
            return Problem(code, place, statement, hint)
    if _FULL.search(text):
        return Problem("SMT623", place, "a disk that Spark writes to is full", "free space, then run again")
    if _DENIED.search(text):
        hint = "check the rights of Spark's user on the topics, the table and spark.local.dir; run again"
        return Problem("SMT622", place, "the file system refused access", hint)
    names = list(dict.fromkeys(_JAVA.findall(text)))[:3]
    if isinstance(error, PySparkException):
        condition = condition_of(error)
    else:
        condition = None
    if condition == "RETRIES_EXCEEDED":
        hint = "look whether it runs and can be reached, then run again"
        return Problem("SMT621", place, "the Spark Connect server no longer responds", hint)
    what = ", ".join([*([condition] if condition else []), *names]) or type(error).__name__
    return Problem("SMT620", place, f"Spark failed: {what}", _LOG)


def after_commit(place: str, error: Exception) -> Problem:
    """Returns the problem of a step that failed after the commit. The problem contains only the class of ``error``."""
    statement = f"the table could not be checked after the run: {type(error).__name__}"
    return Problem("SMT595", place, statement, "the run is committed; read its log")


def problems_after_commit(place: str, error: Exception) -> list[Problem]:
    """Returns the problems of a commit whose last steps failed.

    If another writer changed the table at the moment of the commit, the problem is SMT708.
    """
    if isinstance(error, TableError) and {problem.code for problem in error.problems} == {"SMT708"}:
        return list(error.problems)
    return [after_commit(place, error)]
