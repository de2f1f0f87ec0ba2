"""Formats of records: each format reads bytes as values with a schema, and writes values as bytes."""
