"""Spark's daemon of Python workers, with the packages loaded that a worker needs.

The workers are forks of the daemon, and Spark ends a worker that has been idle for a minute. So the tests start a
hundred of them, and loading the packages takes more than a second each time.
"""

import pandas  # noqa: F401
import pyarrow  # noqa: F401
from pyspark.daemon import manager

import dagster_smt.spark.records.arrow_map  # noqa: F401

if __name__ == "__main__":
    manager()
