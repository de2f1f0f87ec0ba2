"""Implements takeovers: runs of this package continue the table of a connector. Later, the connector can continue where
the runs ended.
"""
