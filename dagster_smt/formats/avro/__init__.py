"""Reads and writes Avro, with and without a schema registry."""
