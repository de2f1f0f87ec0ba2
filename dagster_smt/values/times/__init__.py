"""Timestamps, dates and time zones: values and their spelling."""
