"""Implements ``java.util.GregorianCalendar`` in UTC. The calendar is lenient, and has the week rules of the locale
``en``.

Days before 15 October 1582 are counted in the Julian calendar. Weeks start on Sunday, and the week of 1 January is the
first of its year. Days are numbered from 1970-01-01. Years are astronomical (year 0 is 1 BC), and have no limits.
"""

from collections.abc import Mapping
from functools import lru_cache

from dagster_smt.values.numbers import wrap

DAY = 86_400_000
CUTOVER = -141_427  # 15 October 1582
CUTOVER_YEAR = 1582
SUNDAY = 1
_MONTH_LENGTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def day_number(year: int, month: int, day: int, *, julian: bool) -> int:
    """Returns the number of days from 1970-01-01 to a date. If ``julian`` is true, the date is in the Julian calendar,
    else in the Gregorian calendar.
    """
    shifted = year - (month <= 2)  # years end with February here, so that the leap day is the last day of a year
    # From March on, each five months have 153 days. The months begin 0, 31, 61, 92, … days after 1 March.
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    # the constants are the days from 1 March of the year 0 to 1970-01-01
    if julian:
        return 365 * shifted + shifted // 4 + of_year - 719_470
    return 365 * shifted + shifted // 4 - shifted // 100 + shifted // 400 + of_year - 719_468


@lru_cache(maxsize=4096)
def civil(day: int) -> tuple[int, int, int]:
    """Returns the year, the month and the day of the month for ``day``, a number of days since 1970-01-01. Before 15
    October 1582, the date is in the Julian calendar.
    """
    if day >= CUTOVER:
        return gregorian(day)
    # 1,461 days are four years of the Julian calendar
    cycle, rest = divmod(day + 719_470, 1461)
    years = (rest - rest // 1460) // 365
    return _year_month_day(4 * cycle + years, rest - 365 * years)


def gregorian(day: int) -> tuple[int, int, int]:
    """Returns the year, the month and the day of the month for ``day``, a number of days since 1970-01-01. The date is
    in the Gregorian calendar at all times.
    """
    # 146,097 days are 400 years of the Gregorian calendar
    cycle, rest = divmod(day + 719_468, 146_097)
    years = (rest - rest // 1460 + rest // 36_524 - rest // 146_096) // 365
    return _year_month_day(400 * cycle + years, rest - (365 * years + years // 4 - years // 100))


def _year_month_day(year: int, of_year: int) -> tuple[int, int, int]:
    """Returns the year, the month and the day of the month for ``of_year``, a number of days since 1 March of
    ``year``.
    """
    shifted = (5 * of_year + 2) // 153
    month = (shifted + 2) % 12 + 1
    return year + (month <= 2), month, of_year - (153 * shifted + 2) // 5 + 1


def _year_start(year: int) -> int:
    return day_number(year, 1, 1, julian=year <= CUTOVER_YEAR)


def _on_or_before(day: int, weekday: int) -> int:
    """Returns the last day that falls on ``weekday`` (1 is Sunday) and is not after ``day``. Both days are numbers of
    days since 1970-01-01.
    """
    # 1970-01-01 was a Thursday, which has the number 5
    return day - (day + 5 - weekday) % 7


def _week_start(first: int) -> int:
    """Returns the Sunday on which the first week of a month or year begins. ``first`` is the first day of the month or
    year. Both days are numbers of days since 1970-01-01.
    """
    return _on_or_before(first, SUNDAY)


def _month_length(year: int, month: int) -> int:
    leap = year % 4 == 0 and (year <= CUTOVER_YEAR or year % 100 != 0 or year % 400 == 0)
    return _MONTH_LENGTHS[month - 1] + (month == 2 and leap)


class Moment:
    """The calendar fields of an instant.

    Attributes:
        year: The astronomical year.
        month: The month, 1 to 12.
        day: The day of the month.
        weekday: The day of the week, 1 (Sunday) to 7.
        of_day: The time of day, in milliseconds since midnight.
    """

    __slots__ = ("_day", "day", "month", "of_day", "weekday", "year")

    def __init__(self, milliseconds: int):
        self._day, self.of_day = divmod(milliseconds, DAY)
        self.year, self.month, self.day = civil(self._day)
        self.weekday = (self._day + 4) % 7 + 1

    @property
    def day_of_year(self) -> int:
        return self._day - _year_start(self.year) + 1

    @property
    def week_of_year(self) -> int:
        following = _week_start(_year_start(self.year + 1))
        if self._day >= following:
            return 1
        return (self._day - _week_start(_year_start(self.year))) // 7 + 1

    @property
    def week_year(self) -> int:
        # the last days of December may belong to the first week of the next year
        return self.year + (self.month > 1 and self.week_of_year == 1)

    @property
    def _month_start(self) -> int:
        # the days 5 to 14 of this month do not exist
        if (self.year, self.month) == (CUTOVER_YEAR, 10):
            return day_number(CUTOVER_YEAR, 10, 1, julian=True)
        return self._day - self.day + 1

    @property
    def week_of_month(self) -> int:
        return (self._day - _week_start(self._month_start)) // 7 + 1

    @property
    def weekday_in_month(self) -> int:
        """The number of this weekday in its month: 2 for the second Sunday."""
        return (self._day - self._month_start) // 7 + 1


class Fields:
    """Calendar fields that a parser sets one after the other. Together they determine an instant.

    The name of a field is its letter in SimpleDateFormat, such as ``y`` or ``d``. The values are those of Java's
    ``Calendar``: ``M`` is 0 for January, ``E`` is 1 for Sunday, ``G`` is 0 for BC. If fields contradict each other, the
    fields that were set last win, as documented for ``Calendar``.
    """

    __slots__ = ("_count", "_order", "_values", "offset")

    def __init__(self) -> None:
        self._values: dict[str, int] = {}
        self._order: dict[str, int] = {}
        self._count = 0
        self.offset = 0
        """The number of milliseconds by which the local time is ahead of UTC."""

    def set(self, field: str, value: int) -> None:
        """Sets ``field`` to ``value``. After that, ``field`` counts as the field that was set last."""
        self._values[field] = value
        self._count += 1
        self._order[field] = self._count

    def add_years(self, years: int) -> None:
        """Adds ``years`` to the calendar year and to the week year, if these are set."""
        for field in self._values.keys() & {"y", "Y"}:
            self._values[field] += years

    def milliseconds(self) -> int:
        """Returns the instant that the fields determine, in milliseconds since 1970-01-01T00:00Z. The number is
        truncated to 64 bits.
        """
        days, of_day = divmod(self._time(), DAY)
        return wrap(self._date(days) * DAY + of_day - self.offset, 64)

    def _time(self) -> int:
        values, order = self._values.get, self._order.get
        if "h" in self._order and "a" in self._order:
            twelve = max(order("h", 0), order("a", 0))
        else:
            twelve = 0
        if "H" in self._order and order("H", 0) > twelve:
            hours = values("H", 0)
        else:
            hours = values("h", 0) + 12 * values("a", 0)
        return ((hours * 60 + values("m", 0)) * 60 + values("s", 0)) * 1000 + values("S", 0)

    def _date(self, extra: int) -> int:
        """Returns the day that is ``extra`` days after the date of the fields, as a number of days since 1970-01-01. A
        day before 15 October 1582 is counted in the Julian calendar.
        """
        year = self._values.get("y", 1970)
        if self._values.get("G") == 0:
            year = 1 - year
        if self._order.get("Y", 0) <= self._order.get("y", 0):
            return _resolved(year, self._values, self._kind(), extra)
        era = civil(_resolved(year, self._values, self._kind(), extra))[0] > 0
        week_year = self._values["Y"] if era else 1 - self._values["Y"]
        week, weekday = _valid_weekday(self._values.get("w", 1), self._values.get("E", SUNDAY))
        first = _resolved(week_year, {"w": 1, "E": SUNDAY}, "w", 0)
        year, month, day = civil(first + weekday - SUNDAY + 7 * (week - 1))
        return _resolved(year, {"M": month - 1, "d": day}, "d", extra)

    def _kind(self) -> str:
        """Returns the letter of the field that determines the day: ``d`` (day of the month), ``D`` (day of the year),
        ``w`` (week of the year), ``W`` (week of the month) or ``F`` (weekday in the month).

        If several of these fields are set, the field that was set last wins. A week (``w``, ``W`` or ``F``) is ignored
        if the weekday ``E`` is not set, unless no other field determines the day. If both are set, the week counts as
        set at the later of the two times. The rules are those of ``Calendar.selectFields``.
        """
        if self._order.keys().isdisjoint("DwWFE"):
            return "d"
        at = {field: self._order.get(field, 0) for field in "MdDwWFE"}
        whole = {}
        for field in "WFw":
            whole[field] = max(at[field], at["E"]) if at[field] and at["E"] else 0
        best = max(at["d"], at["D"], *whole.values())
        if not best:
            # no week was set together with a day; Java then uses the week without a day
            whole = {"W": at["W"], "F": max(at["F"], at["E"]), "w": at["w"]}
            best = max(whole.values())
            if not best:
                return "d"
        if best == at["d"]:
            return "d"
        if (best == whole["W"] and at["W"] >= at["w"]) or (best == whole["F"] and at["F"] >= at["w"]):
            if whole["W"] == whole["F"]:
                by_week = at["W"] >= at["F"]
            else:
                by_week = best == whole["W"]
            if by_week:
                return "W"
            return "F"
        if best == at["D"]:
            return "D"
        return "w"


def _valid_weekday(week: int, weekday: int) -> tuple[int, int]:
    """Returns ``week`` and ``weekday`` unchanged if the weekday is 1 (Sunday) to 7 (Saturday). For other weekdays, 1 is
    Monday, as in Java's ``CalendarBuilder``. Numbers above 7 lead into later weeks, and numbers below 1 into earlier
    weeks. For example, the weekday 8 in week 3 is the Monday of week 4: the result is ``(4, 2)``.
    """
    if 1 <= weekday <= 7:
        return week, weekday
    weeks, iso = divmod(weekday - 1, 7)
    return week + weeks, (iso + 1) % 7 + 1


def _resolved(year: int, values: Mapping[str, int], kind: str, extra: int) -> int:
    """Returns a date as a number of days since 1970-01-01. The parts of the date are ``year`` and the other fields in
    ``values``, such as the month; ``extra`` days are added. ``kind`` is the letter of the field that determines the
    day, such as ``d``. A date before 15 October 1582 belongs to the Julian calendar.
    """
    # the year 1582 began in the Julian calendar, so days and weeks of this year are counted in the Julian calendar
    if year > CUTOVER_YEAR or (year == CUTOVER_YEAR and kind not in ("D", "w")):
        day = extra + _day_in(year, values, kind, julian=False)
        if day >= CUTOVER:
            return day
    return extra + _day_in(year, values, kind, julian=True)


def _day_in(year: int, values: Mapping[str, int], kind: str, *, julian: bool) -> int:
    if kind not in ("d", "W", "F"):
        first = day_number(year, 1, 1, julian=julian)
        if kind == "D":
            return first + values["D"] - 1
        return _in_week(first, values.get("E", SUNDAY), values["w"])
    years, month = divmod(values.get("M", 0), 12)
    first = day_number(year + years, month + 1, 1, julian=julian)
    if kind == "d":
        return first + values.get("d", 1) - 1
    if kind == "W":
        return _in_week(first, values.get("E", SUNDAY), values["W"])
    weekday, number = values.get("E", SUNDAY), values.get("F", 1)
    if number < 0:
        first += _month_length(year + years, month + 1) + 7  # counted from the end of the month
    return _on_or_before(first + 7 * number - 1, weekday)


def _in_week(first: int, weekday: int, week: int) -> int:
    """Returns the day that falls on ``weekday`` in the week ``week`` of a month or year. ``first`` is the first day of
    the month or year. Both days are numbers of days since 1970-01-01.
    """
    return _on_or_before(_week_start(first) + 6, weekday) + 7 * (week - 1)
