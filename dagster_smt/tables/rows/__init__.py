"""Rows of topic tables. A statement declares them, a first stage creates them from records, and a last stage converts
them into records again.
"""
