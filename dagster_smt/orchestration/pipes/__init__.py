"""Executes the Spark work of runs in another process, which a Dagster Pipes client starts."""
