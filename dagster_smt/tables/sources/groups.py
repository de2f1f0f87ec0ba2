"""Handles consumer groups for sources that do not support them. Only Kafka does."""

from dagster_smt.errors import Problem, UnsupportedError


def no_groups(place: str) -> UnsupportedError:
    """Returns the error for a source ``place`` without consumer groups."""
    hint = "start with earliest, latest or a moment; only Kafka has consumer groups that others commit to"
    return UnsupportedError(Problem("SMT585", place, "the source has no consumer groups", hint))
