"""The error of sources without consumer groups. Only Kafka topics have consumer groups."""

from dagster_smt.errors import Problem, UnsupportedError


def no_groups(place: str) -> UnsupportedError:
    """Returns the error SMT585 for a source that has no consumer groups. ``place`` is the source's name in messages."""
    hint = "start with earliest, latest or a moment; only Kafka has consumer groups that others commit to"
    return UnsupportedError(Problem("SMT585", place, "the source has no consumer groups", hint))
