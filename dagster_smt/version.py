"""Contains the version of this package. Both the build and the package read the version from this module."""

__version__ = "0.1.0"
