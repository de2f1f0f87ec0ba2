"""JSON: lazy decoding, and search by JSONPath."""
