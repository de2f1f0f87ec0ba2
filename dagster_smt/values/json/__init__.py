"""Decodes JSON lazily, and evaluates JSONPath."""
