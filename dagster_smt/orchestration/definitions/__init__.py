"""Definitions: assets, ops, partitions, and the translator that names them."""
