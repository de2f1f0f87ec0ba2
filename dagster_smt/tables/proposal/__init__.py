"""Proposals of topic tables: formats and columns, guessed from the last records of topics. Needs no Spark session."""
