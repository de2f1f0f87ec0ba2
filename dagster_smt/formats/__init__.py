"""Formats of records. A format reads bytes as values with a schema, and writes values as bytes."""
