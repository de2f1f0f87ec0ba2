"""The version of this package. This is the only definition of it; the build reads it from here."""

__version__ = "0.1.0"
