"""Proposes a topic table: it guesses formats and columns from the last records of topics, without a Spark session."""
