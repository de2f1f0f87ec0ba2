"""Metadata of materializations and of definitions."""
