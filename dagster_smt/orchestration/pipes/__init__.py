"""Runs whose Spark work is done by another process, which a client of Dagster Pipes starts."""
