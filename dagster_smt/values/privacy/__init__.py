"""Rules that hide, shorten, replace or encrypt values, for privacy."""
