"""Forks Spark's Python workers, with what they import in memory already: a worker starts at once."""

import pandas  # noqa: F401
import pyspark.worker  # noqa: F401
from pyspark.daemon import manager

import dagster_smt.spark.evaluate
import dagster_smt.tables.sources.chunks
import dagster_smt.tables.sources.frame_writer  # noqa: F401

if __name__ == "__main__":
    manager()
