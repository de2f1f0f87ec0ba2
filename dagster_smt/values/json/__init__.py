"""JSON texts: lazy decoding, and search by JSONPath."""
