"""Lineage: where a column comes from, what the stages did on the way, and which columns hold tagged values."""
