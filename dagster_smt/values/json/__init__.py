"""JSON texts: read lazily, and searched by JSONPath."""
