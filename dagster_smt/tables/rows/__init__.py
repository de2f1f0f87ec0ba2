"""Rows of topic tables: declared in a statement, read from records, and written back to records."""
