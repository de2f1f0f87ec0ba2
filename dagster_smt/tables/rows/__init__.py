"""Rows of topic tables: declared in a statement, read from records, written back to them."""
