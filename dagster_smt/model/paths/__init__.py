"""Reads paths to fields, in Connect's syntax, in the extended syntax, and in JSONPath."""
