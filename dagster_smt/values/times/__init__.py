"""Handles timestamps, dates and time zones: their values and their spelling."""
