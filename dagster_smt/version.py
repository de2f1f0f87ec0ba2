"""The version of this package, the only place that has it; the build reads it from here."""

__version__ = "0.1.0"
