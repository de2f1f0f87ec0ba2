"""Timestamps, dates and time zones, as values and as texts."""
