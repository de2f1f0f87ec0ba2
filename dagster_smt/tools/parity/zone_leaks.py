"""Explains results with a wrong time zone (the intended difference D2). Kafka's date format keeps the time zone of the
last string that it parsed, and prints later timestamps in this zone.
"""

import re
from typing import Any

from dagster_smt.authoring.stage import Chain
from dagster_smt.tools.parity.compare import alike, canonical_record
from dagster_smt.transforms.kafka.timestamp_converter import TimestampConverter
from dagster_smt.values.cast import DAY
from dagster_smt.values.java.dates import date_format
from dagster_smt.values.times.timestamps import PRECISIONS

# the offsets of time zones are multiples of 15 minutes, from UTC-12 to UTC+14
_QUARTER, _MOST = 900_000, 26 * 3_600_000
# the letters of Java's SimpleDateFormat with their milliseconds, smallest first
_UNITS = (
    *((letter, 1000) for letter in "Ss"),
    ("m", 60_000),
    *((letter, 3_600_000) for letter in "HkKh"),
    *((letter, DAY) for letter in "dDEuFa"),
    *((letter, 7 * DAY) for letter in "wW"),
    *((letter, 31 * DAY) for letter in "ML"),
)
# ``GMT+02:00``, ``CET`` or ``+0200``
_ZONE = re.compile(r"GMT[+-]\d\d:\d\d|\b[A-Z]{3,4}\b|[+-]\d\d:?\d\d\b")
# letters in quotes are text of a date format, as in ``yyyy-MM-dd'T'HH``; the last quote may be missing
_QUOTED = re.compile(r"'[^']*'?")


def zone_leak(case: dict[str, Any], chain: Chain, number: int, want: dict[str, Any], got: dict[str, Any]) -> bool:
    """Returns True if Kafka's result ``want`` and our result ``got`` differ only in timestamps that a
    TimestampConverter printed in different time zones.

    Three conditions must be true:

    - The date format reads zones.
    - An earlier string, or the string of the record itself, has a zone.
    - The timestamps differ by as much as two time zones can: by quarters of an hour, and by at most 26 hours.
    """
    if "record" not in want or "record" not in got:
        return False
    stages = []
    for s in chain.stages:
        if isinstance(s.transform, TimestampConverter):
            stages.append(s.transform)
    zoned = []
    for t in stages:
        # the three letters of a time zone in SimpleDateFormat
        if set(_QUOTED.sub("", t.format)) & set("zZX"):
            zoned.append(t)
    text_of_records = str(case["records"][: number + 1])
    # a zone in a record, such as ``CET``, ``+0200`` or ``Central European Time``
    if not zoned or not re.search(r"[A-Z]{3,4}|[+-]\d\d:?\d\d|[a-z] Time", text_of_records):
        return False
    a, b = canonical_record(want["record"]), canonical_record(got["record"])
    # alike calls the function at once, before ``t`` changes
    return any(alike(a, b, lambda w, g: _apart(t, w, g)) for t in zoned)  # noqa: B023


def _apart(transform: TimestampConverter, want: Any, got: Any) -> bool:
    instants = _instant(transform, want), _instant(transform, got)
    if instants[0] is None or instants[1] is None:
        return False
    apart, unit = abs(instants[0] - instants[1]), _unit(transform)
    # a date format without minutes cuts off the quarters of an hour
    return apart <= _MOST + unit and (unit > _QUARTER or apart % _QUARTER == 0)


def _unit(transform: TimestampConverter) -> int:
    """Returns the smallest unit of the date format of ``transform``, in milliseconds. For ``yyyy-MM-dd HH:mm:ss``,
    returns 1000.
    """
    if transform.target_type == "string":
        letters = set(_QUOTED.sub("", transform.format))
    else:
        letters = {"S"}
    return next((unit for letter, unit in _UNITS if letter in letters), 366 * DAY)


def _instant(transform: TimestampConverter, value: Any) -> int | None:
    """Returns the timestamp ``value``, as ``transform`` writes it, in milliseconds. ``value`` is a string or a number,
    depending on the transform's ``target.type``. The time zone in a string is ignored. Returns None if ``value`` is not
    such a string or number.
    """
    if transform.target_type == "string":
        text = _ZONE.sub("UTC", value, count=1) if isinstance(value, str) else ""
        if text:
            return date_format(transform.format).parse(text)
        return None
    if not isinstance(value, tuple) or value[0] != "int":
        return None
    multiply, divide = PRECISIONS[transform.unix_precision] if transform.target_type == "unix" else (1, 1)
    return int(value[1]) * multiply // divide
