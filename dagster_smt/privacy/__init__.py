"""Protects personal data: tags of fields (such as ``PII.email``), policies (which choose an action for each tag), and
the search for personal fields.
"""
