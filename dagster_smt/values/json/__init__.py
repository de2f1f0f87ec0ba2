"""Decodes JSON lazily, and searches JSON by JSONPath."""
