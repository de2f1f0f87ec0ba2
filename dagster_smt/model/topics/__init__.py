"""Describes topics and tables: formats, columns, names, and the state of a table."""
