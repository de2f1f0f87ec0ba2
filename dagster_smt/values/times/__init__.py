"""Timestamps, dates and time zones: values and texts."""
