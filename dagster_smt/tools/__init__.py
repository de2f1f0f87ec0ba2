"""Contains the tools of the project: the comparison with Kafka Connect, and the generators of the reference pages, the
gallery and the list of problem codes.
"""
