"""Implements the takeover: runs of this package continue a connector's table, and later the connector can continue
after the runs.
"""
