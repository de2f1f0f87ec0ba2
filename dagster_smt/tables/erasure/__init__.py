"""Erasure of people: finding the records and rows of a person, remembering who has been erased, and proving that no
file holds their values.
"""
