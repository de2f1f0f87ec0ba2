"""Transforms, a folder for each vendor."""
