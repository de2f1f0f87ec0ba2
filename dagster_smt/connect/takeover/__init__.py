"""Implements takeovers. Runs of this package continue the table of a connector, and later the connector can continue
after the runs.
"""
