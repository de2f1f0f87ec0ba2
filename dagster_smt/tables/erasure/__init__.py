"""Erases people. This package finds the records and rows of a person, remembers the erased people, and scans all files
to show that none of them contains a value of the person.
"""
