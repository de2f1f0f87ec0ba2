"""One Spark session for all tests that ask for it; such tests carry the marker ``spark``."""

import os
import sys
import time

import pytest
from hypothesis import settings

from dagster_smt.errors import UnsupportedError
from dagster_smt.interpret.examples import set_example_key

# a loaded machine is no failure; more examples than in the quick loop: HYPOTHESIS_EXAMPLES=1000
# The same examples every time: a test that fails by chance helps nobody. HYPOTHESIS_SEARCH=1 looks for new ones.
settings.register_profile(
    "tests",
    deadline=None,
    max_examples=int(os.environ.get("HYPOTHESIS_EXAMPLES", "40")),
    derandomize=not os.environ.get("HYPOTHESIS_SEARCH"),
)
settings.load_profile("tests")
# a failing case shows what it got beside what it expected
pytest.register_assert_rewrite("tests.transforms.helpers")

# Most of a test's JVM work is done once: what optimizes code that runs often takes a third of all the time of a CI run.
# The code of all tests does not fit into what Java then has for it: looking for what may go would take a quarter.
os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=256m")
set_example_key()  # before Java starts: its processes look up keys in their own environment
os.environ["TZ"] = "UTC"  # PySpark shows timestamps in the zone of the process
time.tzset()


def pytest_configure(config):
    config.addinivalue_line("markers", "spark: needs a Spark session (`-m 'not spark'` is the quick loop)")


def pytest_collection_modifyitems(items):
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker("spark")


@pytest.fixture(autouse=True)
def dagster_forgets_instances_that_are_gone():
    """A context that a test built and did not close leaves its instance's storage to all later tests of the process.

    Dagster notes that storage in a variable of the process, and loading definitions then asks an instance that is gone.
    """
    yield
    module = sys.modules.get("dagster._core.storage.defs_state.base")
    storage = module._current_storage.get() if module is not None else None
    instance = getattr(storage, "_instance_weakref", None)
    if instance is not None and instance() is None:
        module._current_storage.set(None)


ICEBERG = {
    "spark.sql.catalog.ice": "org.apache.iceberg.spark.SparkCatalog",
    "spark.sql.catalog.ice.type": "hadoop",
}
"""A catalog for tests, beside the session's own."""


FORGOTTEN = {
    "spark.sql.ui.retainedExecutions": "10",
    "spark.ui.retainedJobs": "20",
    "spark.ui.retainedStages": "20",
    "spark.ui.retainedTasks": "100",
}
"""What Spark keeps for an interface that is not there, and each collection of garbage looks at."""


def remember_java_classes(jvm):
    """Keeps the Java classes that PySpark looks up by name for each column: 3 % of the time of the tests with Spark."""
    view, java_class = type(jvm), type(jvm.PythonUtils)
    look_up = view.__getattr__

    def remember(self, name):
        answer = look_up(self, name)
        if isinstance(answer, java_class):
            self.__dict__[name] = answer  # Python asks ``__getattr__`` only for a name that is not there
        return answer

    view.__getattr__ = remember


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    """A local Spark session: two cores, small shuffles, UTC, Delta, and an Iceberg catalog ``ice``."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    import pyspark
    from pyspark.sql import SparkSession

    from dagster_smt.spark.packages import session_settings, with_fetched_jars

    folder = tmp_path_factory.mktemp("spark")
    builder = SparkSession.builder.master("local[2]").appName("dagster_smt tests")
    conf = session_settings(["avro", "delta", "iceberg", "kafka"], ICEBERG, pyspark.__version__)
    for key, value in with_fetched_jars(conf).items():
        builder = builder.config(key, value)
    session = (
        builder.config("spark.sql.catalog.ice.warehouse", str(folder / "ice"))
        .config("spark.driver.memory", "2g")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.local.dir", str(folder))
        .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.python.sql.dataFrameDebugging.enabled", "false")
        .config("spark.python.daemon.module", "tests.python_daemon")
        .config("spark.sql.sources.parallelPartitionDiscovery.parallelism", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.ui.explainMode", "simple")
        .config("spark.databricks.delta.snapshotPartitions", "1")
        .config(map=FORGOTTEN)
        # room for new objects, which is small in a heap that has just begun: fewer collections of garbage
        .config("spark.driver.extraJavaOptions", f"{conf.get('spark.driver.extraJavaOptions', '')} -Xmn512m")
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", "500")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    remember_java_classes(session._jvm)
    yield session
    session.stop()


@pytest.fixture(scope="session")
def broker(tmp_path_factory):
    """One Kafka broker for all tests that ask for it."""
    from dagster_smt.testing.broker import KafkaBroker, fetch_jars

    try:
        fetch_jars()
    except UnsupportedError as error:
        pytest.skip(f"no Kafka: {error}")
    settings = {
        "message.max.bytes": str(16 * 2**20),
        "auto.create.topics.enable": "false",  # else a writer that is still alive makes a removed topic anew
    }
    with KafkaBroker(tmp_path_factory.mktemp("kafka"), settings) as running:
        yield running


@pytest.fixture(autouse=True)
def planning(request):
    """Compiling and adapting each plan takes half of the time of a small run; tests of evaluators have it as it is."""
    if "spark" in request.fixturenames:
        folder = request.path.relative_to(request.config.rootpath).parts[1]
        small = folder in ("run", "tables", "orchestration", "histories")
        conf = request.getfixturevalue("spark").conf
        conf.set("spark.sql.codegen.wholeStage", str(not small).lower())
        conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN" if small else "FALLBACK")
        conf.set("spark.sql.adaptive.enabled", str(not small).lower())
        conf.set("spark.sql.shuffle.partitions", "1" if small else "2")


@pytest.fixture(scope="session")
def apicurio(tmp_path_factory):
    """The address of one schema registry for all tests that ask for it."""
    from dagster_smt.testing.broker import cache_folder
    from tests.apicurio import RegistryError, fetch, registry

    try:
        fetch(cache_folder())
    except RegistryError as error:
        pytest.skip(f"no schema registry: {error}")
    with registry(cache_folder(), tmp_path_factory.mktemp("registry")) as url:
        yield url
