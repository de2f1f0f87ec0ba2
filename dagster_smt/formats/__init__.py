"""Formats of records: each reads bytes into values with a schema, and writes such values."""
