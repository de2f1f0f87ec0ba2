"""Paths to fields: of Connect, extended, and JSONPath."""
