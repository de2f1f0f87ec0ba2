"""Contains the error of sources that do not support consumer groups. Only Kafka supports them."""

from dagster_smt.errors import Problem, UnsupportedError


def no_groups(place: str) -> UnsupportedError:
    """Returns the error for a source ``place`` without consumer groups."""
    hint = "start with earliest, latest or a moment; only Kafka has consumer groups that others commit to"
    return UnsupportedError(Problem("SMT585", place, "the source has no consumer groups", hint))
