"""Definitions: tables, assets, ops, partitions, and the translator of asset specs."""
