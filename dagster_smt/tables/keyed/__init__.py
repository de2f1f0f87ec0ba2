"""Converts the records that a run reads into changes to the rows of a table with keys (one row or version per key)."""
