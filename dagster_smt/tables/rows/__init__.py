"""Converts records into rows of a topic table, and rows into records.

A ``CREATE TABLE`` statement declares the columns. The first stage of a chain creates rows, and a last stage creates
records again.
"""
