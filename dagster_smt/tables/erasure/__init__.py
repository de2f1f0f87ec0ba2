"""Erases people: finds the records and rows of a person, remembers the erased people, and proves that no file contains
their values.
"""
