"""Converts the records of a window into changes to the rows of a table with keys."""
