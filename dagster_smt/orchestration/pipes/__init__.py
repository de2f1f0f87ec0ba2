"""Runs whose Spark work takes place in another process, which a client of Dagster Pipes starts."""
