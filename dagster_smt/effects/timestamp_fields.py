"""Defines the problems that ``SetTimestamp`` reports for a field that is not a time. The problems are the same for
records with and without a schema.
"""

from dagster_smt.values.needs import Needed

TIMES = ("int64", "Timestamp", "Date", "Time")
"""The kinds of values that ``SetTimestamp`` accepts as a timestamp."""


def needed_time(name: str) -> Needed:
    """Returns a rule that rejects the field ``name`` if it is null or missing."""
    hint = "guard the stage with a predicate, or fill the field first"
    return Needed("SMT451", f"the field '{name}' is null", hint)


def no_time(name: str, kind: str) -> tuple[str, str, str]:
    """Returns the problem of the field ``name``, whose kind ``kind`` is not a time."""
    statement = f"only int64 or a date can be a timestamp, but the field '{name}' is {kind}"
    return "SMT452", statement, "convert it with TimestampConverter or Cast first"
