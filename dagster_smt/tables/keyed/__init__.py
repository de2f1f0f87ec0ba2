"""Turns the records of a window into changes of the rows in a table with keys."""
