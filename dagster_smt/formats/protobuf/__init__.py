"""Protobuf, with and without a schema registry."""
