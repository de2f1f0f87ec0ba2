"""Erasure of persons: whose a record or a row is, what is remembered, and what must not be left in any file."""
