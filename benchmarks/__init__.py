"""Measures chains of ``dagster_smt``, and compares them with Spark alone on the same records (``make bench``)."""
