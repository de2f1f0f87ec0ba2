"""The problems of ``SetTimestamp`` with a field that is not a time, for records with and without a schema."""

from dagster_smt.values.needs import Needed

TIMES = ("int64", "Timestamp", "Date", "Time")
"""The kinds of fields that can be a timestamp."""


def needed_time(name: str) -> Needed:
    """Returns the rule that rejects a field that is null or missing."""
    hint = "guard the stage with a predicate, or fill the field first"
    return Needed("SMT451", f"the field '{name}' is null", hint)


def no_time(name: str, kind: str) -> tuple[str, str, str]:
    """Returns the problem of a field of a different type."""
    statement = f"only int64 or a date can be a timestamp, but the field '{name}' is {kind}"
    return "SMT452", statement, "convert it with TimestampConverter or Cast first"
