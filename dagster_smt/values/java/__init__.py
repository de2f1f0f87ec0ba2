"""Implements Java's calendar, date formats and regular expressions."""
