"""Rows of topic tables. A statement declares the columns, a first stage creates rows from records, and a last stage
converts rows into records again.
"""
