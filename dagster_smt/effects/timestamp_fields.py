"""The problems that ``SetTimestamp`` reports for a field that contains no time. Records with and without a schema have
the same problems.
"""

from dagster_smt.values.needs import Needed

TIMES = ("int64", "Timestamp", "Date", "Time")
"""The kinds of values that ``SetTimestamp`` accepts as a timestamp."""


def needed_time(name: str) -> Needed:
    """Returns a rule that rejects a record if its field ``name`` is null or missing."""
    hint = "guard the stage with a predicate, or fill the field first"
    return Needed("SMT451", f"the field '{name}' is null", hint)


def no_time(name: str, kind: str) -> tuple[str, str, str]:
    """Returns three strings about the problem of the field ``name``, whose values are not times: a code, a statement
    and a hint. ``kind`` is the kind of the field's values, such as ``map``.
    """
    statement = f"only int64 or a date can be a timestamp, but the field '{name}' is {kind}"
    return "SMT452", statement, "convert it with TimestampConverter or Cast first"
