"""Proposes topic tables: guesses formats and columns from the last records of topics. Needs no Spark session."""
