"""Spark sessions as resources, and whether this machine can start Spark."""

import os
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import dagster as dg
import pyspark
import pytest

from dagster_smt.errors import ConfigError, EngineError, UnsupportedError
from dagster_smt.orchestration import SparkSessionResource, spark_session_of
from dagster_smt.run.spark_failures import coded_failures
from dagster_smt.spark import packages
from dagster_smt.spark.avro_limits import JAVA_OPTIONS
from dagster_smt.spark.environment import check_java, is_connect, local_java_options
from dagster_smt.spark.packages import JARS, JVM_OPTIONS, PACKAGES, session_settings, with_fetched_jars
from dagster_smt.spark.versions import minor_of, supported_java


def java(folder, text, code=0):
    path = folder / "bin" / "java"
    path.parent.mkdir(parents=True)
    path.write_text(f"#!/bin/sh\necho '{text}' >&2\nexit {code}\n")
    path.chmod(0o755)
    return folder


OLDER, NEWER = supported_java()  # by the installed version of Spark
TOO_NEW = f"SMT602 JAVA_HOME: Spark needs Java {OLDER} or {NEWER}, and the one"
JAVAS = [
    ("the older", f'openjdk version "{OLDER}.0.15" 2025-04-15', OLDER),
    ("the newer", f'openjdk version "{NEWER}" 2023-09-19', NEWER),
    ("the newest", 'openjdk version "25" 2025-09-16', TOO_NEW),
    ("8", 'java version "1.8.0_402"', "in JAVA_HOME is 8"),
    ("no version", "hello", "is of an unknown version"),
]


@pytest.mark.parametrize(("name", "text", "expected"), JAVAS, ids=[j[0] for j in JAVAS])
def test_java_is_recognised(tmp_path, monkeypatch, name, text, expected):
    monkeypatch.setenv("JAVA_HOME", str(java(tmp_path / "jdk", text)))
    if isinstance(expected, int):
        assert check_java() == expected
        return
    with pytest.raises(UnsupportedError) as caught:
        check_java()
    assert expected in str(caught.value) and "hint: install" in str(caught.value)


def test_a_java_that_does_not_start(tmp_path, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", str(java(tmp_path / "jdk", "no runtime", 1)))
    with pytest.raises(UnsupportedError, match=r"SMT601 .* does not start"):
        check_java()


@pytest.mark.parametrize("variable", ["JAVA_HOME", "PATH"])
def test_no_java(tmp_path, monkeypatch, variable):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv(variable, str(tmp_path))
    with pytest.raises(UnsupportedError, match=f"SMT601 {variable}: .* there is no Java in {variable}"):
        check_java()


def test_the_resource_says_in_one_sentence_that_java_is_missing(tmp_path, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(UnsupportedError, match=f"Spark needs Java {OLDER} or {NEWER}"):
        _ = SparkSessionResource().spark_session


def test_a_resource_without_a_session_is_refused():
    with pytest.raises(ConfigError, match="SMT030 str: the resource holds no Spark session"):
        spark_session_of("spark")


def test_sessions_of_all_kinds_of_resources(spark):
    from dagster_pyspark import LazyPySparkResource, PySparkResource

    assert spark_session_of(spark) is spark
    ours = SparkSessionResource(conf={"spark.sql.shuffle.partitions": "2"})
    assert spark_session_of(ours).sparkContext is spark.sparkContext
    lazy = LazyPySparkResource(spark_config={})
    assert spark_session_of(lazy).sparkContext is spark.sparkContext

    @dg.op(required_resource_keys={"spark"})
    def look(context):
        return spark_session_of(context.resources.spark).range(3).count()

    @dg.job(resource_defs={"spark": PySparkResource(spark_config={"spark.sql.shuffle.partitions": "2"})})
    def job():
        look()

    assert job.execute_in_process().output_for_node("look") == 3
    assert not is_connect(spark)


def test_settings_that_a_running_session_ignores_are_named_once(spark, caplog):
    master = spark.conf.get("spark.master")
    conf = {"spark.master": master, "spark.executor.cores": "7", "spark.sql.ansi.enabled": "true"}
    for _ in range(2):
        assert SparkSessionResource(conf=conf).spark_session.sparkContext is spark.sparkContext
    (result,) = [r.getMessage() for r in caplog.records if "keeps its own" in r.getMessage()]
    assert "keeps its own spark.executor.cores: use one Spark resource" in result


@pytest.mark.parametrize(
    ("conf", "environ", "added"),
    [
        ({}, {}, "-XX:+UseParallelGC"),
        ({"spark.driver.defaultJavaOptions": "-Xss4m"}, {"PATH": "/bin"}, "-Xss4m -XX:+UseParallelGC"),
        ({"spark.driver.extraJavaOptions": "-Dx=1 -XX:+UseG1GC"}, {}, None),
        ({"spark.driver.extraJavaOptions": "-XX:+UseStringDeduplication"}, {}, "-XX:+UseParallelGC"),
        ({"spark.driver.defaultJavaOptions": "-XX:+UseZGC"}, {}, None),
        ({}, {"JDK_JAVA_OPTIONS": "-XX:+UseSerialGC"}, None),
        ({}, {"JAVA_TOOL_OPTIONS": "-XX:+UseShenandoahGC"}, None),
        ({}, {"SPARK_SUBMIT_OPTS": "-XX:+UseEpsilonGC"}, None),
        ({}, {"SPARK_CONF_DIR": "/etc/spark"}, None),
        ({}, {"SPARK_HOME": "/opt/spark"}, None),
    ],
)
def test_local_sessions_get_a_collector_if_nobody_has_chosen_one(conf, environ, added):
    result = local_java_options(conf, environ)
    assert result == ({} if added is None else {"spark.driver.defaultJavaOptions": added})


@pytest.mark.parametrize("own", ["", "-Xss4m"])
def test_java_options_of_packages_join_those_of_the_session(own):
    source = {"spark.driver.defaultJavaOptions": own} if own else {}
    result = session_settings(["avro"], {**JVM_OPTIONS, **source}, "4.0.1")
    assert result["spark.driver.defaultJavaOptions"] == f"{own or '-XX:-DontCompileHugeMethods'} {JAVA_OPTIONS}"
    assert result["spark.executor.defaultJavaOptions"] == f"-XX:-DontCompileHugeMethods {JAVA_OPTIONS}"


def test_a_batch_too_large_for_arrow_says_which_setting_helps():
    from pyspark.errors import PySparkException

    thrown = PySparkException("Job aborted: org.apache.arrow.vector.util.OversizedAllocationException: 2147483648")
    with pytest.raises(EngineError) as caught, coded_failures("run"):
        raise thrown
    (problem,) = caught.value.problems
    assert problem.code == "SMT638" and "maxBytesPerBatch to 256m" in problem.hint


@pytest.mark.spark
def test_a_new_session_is_local_quiet_in_utc_and_leaves_sigint_alone():
    code = """
import os, signal
from dagster_smt.orchestration import SparkSessionResource
from dagster_smt.orchestration.resources import need_packages
need_packages(["delta", "kafka"])
before = signal.getsignal(signal.SIGINT)
resource = SparkSessionResource(conf={"spark.master": "local[1]", "spark.log.level": "ERROR"})
conf = resource.spark_session.conf
print(signal.getsignal(signal.SIGINT) is before, conf.get("spark.sql.session.timeZone"), conf.get("spark.ui.enabled"))
print(conf.get("spark.driver.host"), conf.get("spark.sql.execution.arrow.maxRecordsPerBatch"))
print(bool(os.environ["PYSPARK_PYTHON"]), int(conf.get("spark.sql.shuffle.partitions")) == 2 * os.cpu_count())
java = resource.spark_session._jvm.java.lang.management.ManagementFactory.getRuntimeMXBean().getInputArguments()
print("-XX:-DontCompileHugeMethods" in list(java), "-XX:+UseParallelGC" in list(java))
resource.spark_session.stop()
"""
    ours = ("PYSPARK_PYTHON", "SPARK_HOME", "SPARK_CONF_DIR", "JDK_JAVA_OPTIONS")
    env = {k: v for k, v in os.environ.items() if k not in ours}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, timeout=120)
    assert done.stdout.splitlines() == ["True UTC false", "127.0.0.1 500", "True True", "True True"], done.stderr
    # what setup has fetched is not looked up again: Ivy says that in fifty lines
    assert len(done.stderr.splitlines()) < 8 and "ivy" not in done.stderr.lower(), done.stderr


def archive(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as jar:
        jar.writestr("META-INF/MANIFEST.MF", "")


DELTA, KAFKA = PACKAGES["4.0"]["delta"], PACKAGES["4.0"]["kafka"]


@pytest.mark.parametrize(
    ("conf", "known"),
    [
        ({"spark.jars.packages": DELTA}, True),
        ({"spark.jars.packages": f"{DELTA},{KAFKA}", "spark.jars": "file:///own.jar"}, True),
        ({"spark.jars.packages": f"{DELTA},org.example:own:1"}, False),
        ({"spark.jars.packages": DELTA, "spark.jars.ivySettings": "own.xml"}, False),
        ({"spark.jars.packages": DELTA, "spark.jars.repositories": "https://example.org"}, False),
        ({"spark.jars": "file:///own.jar"}, False),
        ({}, False),
    ],
)
def test_jars_that_were_fetched_are_not_looked_up(conf, known, tmp_path, monkeypatch):
    """Unless the session brings what only Ivy knows, or one of them is not there, or not whole."""
    monkeypatch.setattr(packages, "_ivy_home", lambda folder: tmp_path)
    jars = [tmp_path / "jars" / f"{name}.jar" for name in f"{JARS[DELTA]} {JARS[KAFKA]}".split()]
    for jar in jars:
        archive(jar)
    result = with_fetched_jars(conf)
    if not known:
        assert result == conf
        return
    expected = jars if KAFKA in conf["spark.jars.packages"] else jars[: len(JARS[DELTA].split())]
    own = [conf["spark.jars"]] if "spark.jars" in conf else []
    assert result == {"spark.jars": ",".join([*own, *(jar.as_uri() for jar in expected)])}
    for spoil in (lambda: jars[0].write_bytes(jars[0].read_bytes()[:-5]), jars[0].unlink):
        spoil()
        assert with_fetched_jars(conf) == conf


@pytest.mark.spark
@pytest.mark.long
@pytest.mark.parametrize("package", sorted(PACKAGES[minor_of(pyspark.__version__)].values()))
def test_jars_of_a_package_are_those_that_ivy_has_for_it(package):
    code = f"""
from pyspark.sql import SparkSession
conf = {{"spark.ui.enabled": "false", "spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}}
conf["spark.jars.packages"] = "{package}"
session = SparkSession.builder.master("local[1]").config(map=conf).getOrCreate()
print(session.conf.get("spark.jars"))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    names = [Path(jar).stem for jar in done.stdout.strip().split(",")]
    assert sorted(names) == sorted(JARS[package].split()), done.stderr


@pytest.mark.spark
@pytest.mark.long
def test_after_the_jvm_died_the_next_use_makes_a_new_session():
    code = """
import os, signal
from pyspark import SparkContext
from dagster_smt.errors import EngineError
from dagster_smt.orchestration import SparkSessionResource, spark_session_of
from dagster_smt.run.spark_failures import coded_failures

conf = {"spark.master": "local[1]", "spark.log.level": "ERROR", "spark.driver.memory": "512m"}
first, second = SparkSessionResource(conf=conf), SparkSessionResource(conf=conf)
for resource in (first, second):
    session = spark_session_of(resource)
    print(session.range(3).count(), flush=True)
    process = SparkContext._gateway.proc
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    try:
        with coded_failures("orders"):
            session.range(3).count()
    except EngineError as error:
        print(error.problems[0].code)
assert first.spark_session is not session and second.spark_session.sparkContext is first.spark_session.sparkContext
print(second.spark_session.range(5).count(), flush=True)
first.spark_session.stop()
print(second.spark_session.range(7).count())
second.spark_session.stop()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.stdout.split() == ["3", "SMT621", "3", "SMT621", "5", "7"], done.stderr


def test_stopping_on_teardown_is_opt_in():
    class Session:
        stopped = 0

        def stop(self):
            self.stopped += 1

    for opted in (False, True):
        resource, session = SparkSessionResource(stop_on_teardown=opted), Session()
        resource._session = session
        resource.teardown_after_execution(dg.build_init_resource_context())
        assert session.stopped == opted


def test_pysparks_sigint_handler_is_replaced_while_waiting():
    from dagster_smt.orchestration.runs.guard import foreign_sigint_replaced

    def handler(number, frame):
        raise AssertionError("PySpark's handler was called")

    handler.__module__ = "pyspark.core.context"
    before = signal.signal(signal.SIGINT, handler)
    try:
        with foreign_sigint_replaced():
            assert signal.getsignal(signal.SIGINT) is not handler
        assert signal.getsignal(signal.SIGINT) is handler
    finally:
        signal.signal(signal.SIGINT, before)
