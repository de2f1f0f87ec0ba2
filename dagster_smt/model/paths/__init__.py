"""Paths to fields: Connect's, the extended syntax, and JSONPath."""
