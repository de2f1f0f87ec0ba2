"""Computes the offsets of time zones in seconds, as ``java.time.zone.ZoneRules`` does. It also reads and writes times
with an offset.

The rules come from the machine's tz database, or from the package ``tzdata`` if the machine has no such database.
"""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from zoneinfo import ZoneInfo, available_timezones

from dagster_smt.values.java.calendar import day_number

_NO_ZONES = frozenset({"EST", "Factory", "GMT+0", "GMT-0", "HST", "MST", "ROC", "localtime", "posixrules"})
"""Names in the tz database for which Java 17 has no ``ZoneId``."""
_ALWAYS_UTC = frozenset({"UTC", "GMT", "UCT", "Zulu", "Universal", "Greenwich", "GMT0"})
_OFFSET = re.compile(r"([+-])([0-9]{2}):([0-9]{2})(?::([0-9]{2}))?")
_MOST = 18 * 3600
_DAY = 86_400
_CYCLE = 146_097 * _DAY  # the calendar repeats after 400 years, and so do the rules of a zone
_EPOCH = datetime(1970, 1, 1)
_FIRST, _LAST = (int((d - _EPOCH).total_seconds()) for d in (datetime(1, 1, 3), datetime(9999, 12, 29)))
_DATE = r"(?P<year>-[0-9]{4,10}|[0-9]{4}|\+[0-9]{5,10})-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})"
_TIME = r"(?P<hour>[0-9]{2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2})(?:\.(?P<fraction>[0-9]{0,9}))?)?"
_EXACT = r"(?P<offset>[zZ]|[+-][0-9]{2}:[0-9]{2}(?::[0-9]{2})?)"
_SHORT = r"(?P<offset>[zZ]|[+-][0-9]{2}(?::[0-9]{2}(?::[0-9]{2})?)?)"
_DATE_TIME, _OF_DAY = re.compile(f"{_DATE}[tT]{_TIME}{_SHORT}"), re.compile(f"{_TIME}{_EXACT}")
_LARGEST_YEAR = 999_999_999
_LOWEST, _HIGHEST = (day_number(year, 1, 1, julian=False) * _DAY for year in (-_LARGEST_YEAR, _LARGEST_YEAR + 1))


def fixed_offset(text: str) -> int | None:
    """Parses ``text``, an offset such as ``+05:30`` or ``+05:30:00``, as ``ZoneOffset.of`` does. Returns the offset in
    seconds; None for other strings.
    """
    match = _OFFSET.fullmatch(text)
    if match is None:
        return None
    hours, minutes, seconds = (int(part or 0) for part in match.groups()[1:])
    total = hours * 3600 + minutes * 60 + seconds
    if minutes > 59 or seconds > 59 or total > _MOST:
        return None
    if match[1] == "-":
        return -total
    return total


def has_one_offset(text: str) -> bool:
    """Returns True if the time zone ``text`` has the same offset at all times. Examples are ``+05:30``, ``UTC`` and
    ``Etc/GMT+5``.
    """
    return fixed_offset(text) is not None or text.removeprefix("Etc/") in _ALWAYS_UTC or text.startswith("Etc/GMT")


def is_zone(text: str) -> bool:
    """Returns True if Java has a time zone or an offset called ``text``."""
    return fixed_offset(text) is not None or (text not in _NO_ZONES and text in available_timezones())


@lru_cache(maxsize=16)
def _zone(name: str) -> ZoneInfo | timezone:
    fixed = fixed_offset(name)
    if fixed is None:
        return ZoneInfo(name)
    return timezone(timedelta(seconds=fixed))


def offset_of_local(zone: str, seconds: int) -> int:
    """Returns the offset of ``zone`` at a local time. ``seconds`` is this local time in seconds since 1970.

    If the clock is being changed at this time, the result is the offset before the change.
    """
    return _seconds(_near(seconds).replace(tzinfo=_zone(zone)))


def offset_at(zone: str, seconds: int) -> int:
    """Returns the offset of ``zone`` at an instant. ``seconds`` is this instant in seconds since 1970."""
    return _seconds(_near(seconds).replace(tzinfo=timezone.utc).astimezone(_zone(zone)))


def _seconds(moment: datetime) -> int:
    offset = moment.utcoffset()
    assert offset is not None
    return offset // timedelta(seconds=1)


def _near(seconds: int) -> datetime:
    """Returns the time ``seconds`` as a ``datetime``. Python supports only the years 1 to 9999. If ``seconds`` is in
    another year, returns a time within these years at which each time zone has the same offset as at ``seconds``.
    """
    if seconds > _LAST:
        seconds -= -((_LAST - seconds) // _CYCLE) * _CYCLE
    return _EPOCH + timedelta(seconds=max(seconds, _FIRST))


@dataclass(frozen=True, slots=True)
class OffsetTime:
    """A time with an offset, such as ``12:00:00.5+01:00``.

    Attributes:
        local: The local time, in seconds since 1970 or since midnight.
        offset: The offset from UTC, in seconds.
        fraction: The digits after the seconds, without trailing zeros.
    """

    local: int
    offset: int
    fraction: str

    def at(self, offset: int) -> "OffsetTime | None":
        """Returns the same instant with the offset ``offset``. Returns None if the local time is then outside of Java's
        range of years.
        """
        local = self.local - self.offset + offset
        if _LOWEST <= local < _HIGHEST:
            return OffsetTime(local, offset, self.fraction)
        return None


def parse_date_time(text: str) -> OffsetTime | None:
    """Parses ``text``, a date and time, as ``OffsetDateTime.parse`` does with ``ISO_OFFSET_DATE_TIME``. Returns None
    for other strings.
    """
    match = _DATE_TIME.fullmatch(text)
    if match is None:
        return None
    year, month, day = int(match["year"]), int(match["month"]), int(match["day"])
    known = abs(year) <= _LARGEST_YEAR and 1 <= month <= 12 and 1 <= day <= _length(year, month)
    # as in ``ISO_LOCAL_DATE``, a year with a plus sign has more than four digits, and the year 0 has no sign
    if not known or (match["year"][0] == "-" and year == 0) or (match["year"][0] == "+" and year < 10_000):
        return None
    return _with_time(match, day_number(year, month, day, julian=False))


def parse_time(text: str) -> OffsetTime | None:
    """Parses ``text``, a time of day, as ``OffsetTime.parse`` does with ``ISO_OFFSET_TIME``. Returns None for other
    strings.
    """
    match = _OF_DAY.fullmatch(text)
    if match is None:
        return None
    return _with_time(match, 0)


def _with_time(match: re.Match[str], day: int) -> OffsetTime | None:
    hour, minute, second = (int(match[name] or 0) for name in ("hour", "minute", "second"))
    text = match["offset"]
    offset: int | None = 0
    if text not in "zZ":
        # ``ISO_OFFSET_DATE_TIME`` also accepts an offset without minutes: ``+05``
        offset = fixed_offset(text if ":" in text else f"{text}:00")
    if hour > 23 or minute > 59 or second > 59 or offset is None:
        return None
    seconds = day * _DAY + hour * 3600 + minute * 60 + second
    return OffsetTime(seconds, offset, (match["fraction"] or "").rstrip("0"))


def _length(year: int, month: int) -> int:
    later = (year + 1, 1) if month == 12 else (year, month + 1)
    return day_number(*later, 1, julian=False) - day_number(year, month, 1, julian=False)


def date_time_text(time: OffsetTime) -> str:
    """Returns ``time``, a date and time, as ``ISO_OFFSET_DATE_TIME`` writes it."""
    day = time.local // _DAY
    cycle = (day + 719_468) // 146_097
    date = _EPOCH + timedelta(days=day - (cycle - 4) * 146_097)  # the same date, moved by multiples of 400 years
    year = date.year + (cycle - 4) * 400
    if year < 0:
        digits = f"-{-year:04}"
    elif year > 9999:
        digits = f"+{year}"
    else:
        digits = f"{year:04}"
    return f"{digits}-{date.month:02}-{date.day:02}T{time_text(time)}"


def time_text(time: OffsetTime) -> str:
    """Returns ``time``, a time of day, as ``ISO_OFFSET_TIME`` writes it."""
    minutes, second = divmod(time.local % _DAY, 60)
    fraction = f".{time.fraction}" if time.fraction else ""
    return f"{minutes // 60:02}:{minutes % 60:02}:{second:02}{fraction}{_offset_text(time.offset)}"


def _offset_text(offset: int) -> str:
    if offset == 0:
        return "Z"
    minutes, second = divmod(abs(offset), 60)
    seconds = f":{second:02}" if second else ""
    return f"{'-' if offset < 0 else '+'}{minutes // 60:02}:{minutes % 60:02}{seconds}"
