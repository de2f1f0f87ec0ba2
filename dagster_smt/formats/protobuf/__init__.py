"""Reads and writes Protobuf, with and without a schema registry."""
