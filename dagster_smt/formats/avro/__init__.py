"""Avro, with a schema registry and without."""
