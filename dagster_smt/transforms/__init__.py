"""Transforms, with a folder for each vendor."""
