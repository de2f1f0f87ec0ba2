"""The version of this package. The build and the package both read the version from this module."""

__version__ = "0.1.0"
