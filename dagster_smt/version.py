"""The version of this package. The build reads it from this module."""

__version__ = "0.1.0"
