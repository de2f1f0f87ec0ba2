"""Proposes topic tables. The formats and columns are guessed from the last records of topics, without a Spark
session.
"""
