"""Reads and writes the values of headers, including Connect's header literals."""
