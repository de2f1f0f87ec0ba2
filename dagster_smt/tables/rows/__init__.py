"""Handles rows of topic tables, which are declared in a statement, read from records, and written back to records."""
