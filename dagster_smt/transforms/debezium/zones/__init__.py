"""Parses and applies the rules of TimezoneConverter."""
