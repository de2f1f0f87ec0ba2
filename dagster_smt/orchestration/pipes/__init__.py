"""Executes runs whose Spark work takes place in another process, which a Dagster Pipes client starts."""
