"""Reads and writes dates and times as strings in UTC, in the forms that people and databases use."""

import re
from datetime import date

from dagster_smt.values.java.calendar import DAY

_EPOCH = date(1970, 1, 1).toordinal()
_CYCLE, _CYCLE_DAYS = 400, 146_097
"""The number of years after which the calendar repeats, and the number of days in these years. Both numbers are needed
because Python supports only the years 1 to 9999. Connect's values may be far outside of these years.
"""
_DATE = r"([+-]?\d{4,9})-(\d\d)-(\d\d)"
_DAYS = re.compile(_DATE, re.ASCII)
_CLOCK = re.compile(r"(\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?", re.ASCII)
_MOMENT = re.compile(
    _DATE + r"(?:[ Tt](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?\s*(?:([Zz])|([+-])(\d\d)(?::?(\d\d))?)?)?", re.ASCII
)


def days_of(text: str) -> int | None:
    """Returns the number of days between 1970-01-01 and the day ``text``, such as ``2020-01-31``. Returns None if
    ``text`` is not a day.
    """
    parts = _DAYS.fullmatch(text)
    if parts is None:
        return None
    return _day_number(*parts.groups())


def millis_of(text: str) -> int | None:
    """Returns the milliseconds since 1970 of the time ``text``, such as ``2020-01-01 12:00:00.123``. A time without a
    zone is in UTC. The time of day may be missing.

    Returns None for other strings, and for times with digits beyond milliseconds: a column cannot store such digits,
    and they must not be lost silently.
    """
    parts = _MOMENT.fullmatch(text)
    if parts is None:
        return None
    year, month, day, hour, minute, second, fraction, _, sign, ahead, more = parts.groups()
    if (fraction or "")[3:].strip("0"):
        return None
    days = _day_number(year, month, day)
    clock = int(hour or 0), int(minute or 0), int(second or 0)
    if days is None or clock > (23, 59, 59) or clock[1] > 59 or clock[2] > 59:
        return None
    millis = ((clock[0] * 60 + clock[1]) * 60 + clock[2]) * 1000 + int((fraction or "").ljust(3, "0")[:3])
    offset = (int(ahead or 0) * 60 + int(more or 0)) * 60_000
    return days * DAY + millis - (-offset if sign == "-" else offset)


def names_zone(text: str) -> bool:
    """Returns True if the time ``text`` has a zone, such as ``Z`` or ``+01:00``."""
    parts = _MOMENT.fullmatch(text)
    return parts is not None and bool(parts[8] or parts[9])


def clock_of(text: str) -> int | None:
    """Returns the milliseconds since midnight of the time of day ``text``, such as ``12:00:00.123``. Returns None for
    other strings, and for times with digits beyond milliseconds.
    """
    parts = _CLOCK.fullmatch(text)
    if parts is None or (parts[4] or "")[3:].strip("0"):
        return None
    hour, minute, second = int(parts[1]), int(parts[2]), int(parts[3] or 0)
    if hour > 23 or minute > 59 or second > 59:
        return None
    return ((hour * 60 + minute) * 60 + second) * 1000 + int((parts[4] or "").ljust(3, "0")[:3])


def _day_number(year: str, month: str, day: str) -> int | None:
    # the same date in the years 2000 to 2399, which Python supports
    cycles, within = divmod(int(year) - 2000, _CYCLE)
    try:
        same_day = date(2000 + within, int(month), int(day))
    except ValueError:
        return None
    return same_day.toordinal() - _EPOCH + cycles * _CYCLE_DAYS


def moment_text(millis: int, *, day: bool, between: str = " ", zoned: bool = False) -> str:
    """Returns the instant ``millis`` as a string such as ``2020-01-01 12:00:00.123``, in UTC. With ``day``, the string
    contains only the day. A year outside 0 to 9999 has a sign, as in Java.

    With ``zoned``, the string ends in ``Z``, which Flink writes and requires for types with a time zone.
    """
    days, within = divmod(millis, DAY)
    # the same date in the 400 years from 1970 on
    cycles, rest = divmod(days, _CYCLE_DAYS)
    same_day = date.fromordinal(_EPOCH + rest)
    year = same_day.year + cycles * _CYCLE
    text = f"{_year(year)}-{same_day.month:02}-{same_day.day:02}"
    if day:
        return text
    return f"{text}{between}{clock_text(within)}{'Z' if zoned else ''}"


def clock_text(millis: int) -> str:
    """Returns a time of day as a string, such as ``12:00:00.123``. ``millis`` is the number of milliseconds since
    midnight. Whole seconds are written without a fraction: ``12:00:00``.
    """
    seconds, fraction = divmod(millis, 1000)
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    if fraction:
        return f"{clock}.{fraction:03}"
    return clock


def _year(year: int) -> str:
    if 0 <= year <= 9999:
        return f"{year:04}"
    return f"{year:+05}"
