"""Erases people. This package finds the records and rows of a person, and remembers the erased people. At the end, it
scans all files, to show that no file contains a value of the person.
"""
