"""Erases the data of people on request. This package finds the records and rows of a person, and adds the person to the
register of erased people. At the end, it scans all files, to show that no file contains a value of the person.
"""
