"""Benchmarks: chains of ``dagster_smt`` next to the same records through bare Spark (``make bench``)."""
