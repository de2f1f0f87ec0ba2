"""One Spark session for all tests that ask for it; such tests carry the marker ``spark``."""

import os
import sys
import time

import pytest
from hypothesis import settings

# a loaded machine is no failure; more examples than in the quick loop: HYPOTHESIS_EXAMPLES=1000
# The same examples every time: a test that fails by chance helps nobody. HYPOTHESIS_SEARCH=1 looks for new ones.
settings.register_profile(
    "tests",
    deadline=None,
    max_examples=int(os.environ.get("HYPOTHESIS_EXAMPLES", "40")),
    derandomize=not os.environ.get("HYPOTHESIS_SEARCH"),
)
settings.load_profile("tests")

os.environ["TZ"] = "UTC"  # PySpark shows timestamps in the zone of the process
time.tzset()


def pytest_configure(config):
    config.addinivalue_line("markers", "spark: needs a Spark session (`-m 'not spark'` is the quick loop)")


def pytest_collection_modifyitems(items):
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker("spark")


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    """A local Spark session: two cores, small shuffles, UTC."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    folder = tmp_path_factory.mktemp("spark")
    session = (
        SparkSession.builder.master("local[2]")
        .appName("dagster_smt tests")
        .config("spark.driver.memory", "2g")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.local.dir", str(folder))
        .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", "1000")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
