"""Protobuf, with a schema registry and without."""
