"""The rules of TimezoneConverter."""
